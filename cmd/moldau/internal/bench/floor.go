package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Floor is a probe, not a broker: it does what a broker cannot leave out, and
// nothing else, so that its cost is the least that the protocol, the kernel and
// the client allow. It
//
//   - reads frames, and a Produce request batch by batch, so that CRC and write
//     find the bytes in the processor's cache;
//   - checks each batch's length and CRC-32C, stamps its offset, and writes it
//     into one file per partition (followed by fdatasync where the topic has
//     flush.messages=1);
//   - answers a Fetch with spans of those files by sendfile, small ones by pread
//     and one write, and lets one that finds nothing wait.
//
// It does not look at records, producer ids, sequences, epochs, sessions, quotas
// or access; it has no index, no segments, no retention, no recovery and no
// replication. It forgets everything at its end. Do not keep data in it.
type Floor struct {
	dir      string
	listener net.Listener
	host     string
	port     int32
	log      *slog.Logger

	mu struct {
		sync.Mutex

		topics     map[string]*floorTopic
		producerID int64
	}
	appended signal
}

// NewFloor binds addr. Its files go into dir, which must exist.
func NewFloor(addr, dir string, log *slog.Logger) (*Floor, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, err
	}
	f := &Floor{dir: dir, listener: l, host: host, port: int32(n), log: log}
	f.mu.topics = map[string]*floorTopic{}
	f.appended.mu.ch = make(chan struct{})
	return f, nil
}

// Addr is where it listens.
func (f *Floor) Addr() net.Addr { return f.listener.Addr() }

// Serve answers until ctx ends.
func (f *Floor) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = f.listener.Close() })()
	for {
		conn, err := f.listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			err := newFloorConn(f, conn.(*net.TCPConn)).serve(ctx)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && ctx.Err() == nil {
				f.log.Warn("connection ended", slog.Any("err", err))
			}
		}()
	}
}

// floorTopic is its partitions and what makes it differ from others.
type floorTopic struct {
	name       string
	flush      bool // flush.messages=1.
	partitions []*floorPartition
}

// topic returns a topic, or nil.
func (f *Floor) topic(name string) *floorTopic {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.topics[name]
}

// create makes a topic. One that exists stays.
func (f *Floor) create(name string, partitions int, flush bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.topics[name] != nil {
		return
	}
	t := &floorTopic{name: name, flush: flush}
	for n := range partitions {
		t.partitions = append(t.partitions, &floorPartition{
			path: filepath.Join(f.dir, fmt.Sprintf("%s-%d.log", name, n)), flush: flush,
		})
	}
	f.mu.topics[name] = t
}

// remove forgets a topic and its files.
func (f *Floor) remove(name string) {
	f.mu.Lock()
	t := f.mu.topics[name]
	delete(f.mu.topics, name)
	f.mu.Unlock()
	if t == nil {
		return
	}
	for _, p := range t.partitions {
		p.close()
		_ = os.Remove(p.path) // It may never have been written.
	}
}

// partition returns a partition, or nil.
func (f *Floor) partition(topic string, n int32) *floorPartition {
	t := f.topic(topic)
	if t == nil || n < 0 || int(n) >= len(t.partitions) {
		return nil
	}
	return t.partitions[n]
}

// nextProducerID allots an id.
func (f *Floor) nextProducerID() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.producerID++
	return f.mu.producerID
}

// signal tells all who wait that something was appended anywhere. A broker would
// tell those whom it concerns; the loads here have few consumers.
type signal struct {
	mu struct {
		sync.Mutex

		ch      chan struct{}
		waiting bool
	}
}

// wait returns a channel that is closed by the next raise.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting = true
	return s.mu.ch
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.waiting {
		close(s.mu.ch)
		s.mu.ch, s.mu.waiting = make(chan struct{}), false
	}
}
