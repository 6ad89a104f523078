package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// manifestName is a file of our own beside Kafka's: what a clean stop knows of every
// log, so that the next start need not list and read each directory. Without it, or
// with a damaged or older one, a start takes longer and finds the same.
//
// It is believed only after a clean stop, and of a partition only as long as the
// directory's modification time is the one recorded. Whoever appends to a log leaves a
// producer snapshot of a new name at its stop, and so changes that time: another
// Kafka that used the directory meanwhile, too.
const manifestName = ".moldau_manifest"

// manifestVersion is written first. A file of another version is not read.
const manifestVersion = 1

// recorded is what the manifest tells of one log.
type recorded struct {
	modTimeNs int64
	topicID   [16]byte
	end       int64 // Offset after the last batch.
	producers bool  // There are some: the snapshot has to be read.
	epochs    checkpoint.Epochs
	snapshots []int64
	bases     []int64
	files     []segment.Files
}

// record describes a closed log. False if it is not in a state to be described.
func (l *Log) record() (recorded, bool) {
	info, err := l.fs.Stat(l.Dir())
	if err != nil {
		return recorded{}, false
	}
	l.writer.Lock()
	defer l.writer.Unlock()
	// Files that are no longer the log's, or a start above all batches: the next start is
	// to see for itself.
	if len(l.writer.leaving) > 0 || l.writer.tail < l.Start() {
		return recorded{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := recorded{
		modTimeNs: info.ModTime().UnixNano(), topicID: l.mu.topicID, end: l.writer.tail,
		producers: l.mu.producers.Len() > 0, epochs: l.mu.epochs.Clone(), snapshots: slices.Clone(l.writer.snapshots),
	}
	for _, s := range l.state.Load().segments {
		r.bases, r.files = append(r.bases, s.Base()), append(r.files, s.Files())
	}
	return r, true
}

// writeManifest writes what is known of all logs. They are closed.
func (s *Store) writeManifest() error {
	all := make(map[partitionKey]recorded)
	for _, l := range s.Logs() {
		if !l.onDisk.Load() {
			continue
		}
		if r, ok := l.record(); ok {
			all[partitionKey{l.topic, l.partition}] = r
		}
	}
	return vfs.WriteFileAtomic(s.fs, s.path(manifestName), encodeManifest(all))
}

// takeManifest reads the manifest and removes it: it tells of one stop only. The mark of
// the stop goes after it, and durably, so that no manifest is left without one.
func (s *Store) takeManifest() ([]byte, error) {
	path := s.path(manifestName)
	bytes, err := vfs.ReadFile(s.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return bytes, s.fs.Remove(path)
}

// readManifest reads what takeManifest gave, if the stop was a clean one.
func (s *Store) readManifest(bytes []byte) map[partitionKey]recorded {
	if !s.clean || bytes == nil {
		return nil
	}
	all, err := decodeManifest(bytes)
	if err != nil {
		s.logger.Warn("manifest not used, the directories are read", slog.String("path", s.path(manifestName)), slog.Any("err", err))
	}
	return all
}

// recorded returns what the manifest tells of a partition, if it is still true.
func (s *Store) recorded(key partitionKey, dir string) (recorded, bool) {
	r, ok := s.manifest[key]
	if !ok {
		return recorded{}, false
	}
	info, err := s.fs.Stat(dir)
	return r, err == nil && info.ModTime().UnixNano() == r.modTimeNs
}

// loadRecorded is load from what the manifest tells: nothing is read but the producers,
// if there are any.
func (l *Log) loadRecorded(now time.Time, r recorded, p points) error {
	l.mu.epochs, l.writer.snapshots, l.writer.tail = r.epochs, r.snapshots, r.end
	// The manifest also keeps a newest epoch without a batch, which the file need not have.
	if e, ok := l.mu.epochs.Latest(); ok {
		l.mu.epochWaits = e.Start >= r.end
	}
	l.onDisk.Store(true)
	segs := make([]*segment.Segment, len(r.bases))
	for i, base := range r.bases {
		segs[i] = segment.Open(l.pool, l.dir, base, l.config.Load().IndexIntervalBytes, r.files[i], now)
	}
	last := segs[len(segs)-1]
	st := &state{segments: segs, start: max(p.start, segs[0].Base()), end: Mark{r.end, last.Base(), last.Size()}}
	var err error
	if st.hw, err = l.locate(st, min(max(p.hw, st.start), r.end)); err != nil {
		return err
	}
	if r.producers {
		if err := l.loadProducers(st, r.end, now); err != nil {
			return err
		}
	} else {
		l.mu.producers.Reset(r.end)
	}
	l.sync.flushed.Store(r.end)
	l.publish(func(s *state) { *s = *st })
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeManifest writes the version and a CRC-32C of the rest, both in four bytes, and
// then varints: how many logs, and each.
func encodeManifest(all map[partitionKey]recorded) []byte {
	b := make([]byte, 8)
	binary.BigEndian.PutUint32(b, manifestVersion)
	b = binary.AppendVarint(b, int64(len(all)))
	for key, r := range all {
		b = binary.AppendVarint(b, int64(len(key.topic)))
		b = append(b, key.topic...)
		b = append(b, r.topicID[:]...)
		producers := int64(0)
		if r.producers {
			producers = 1
		}
		for _, v := range []int64{int64(key.partition), r.modTimeNs, r.end, producers, int64(len(r.epochs))} {
			b = binary.AppendVarint(b, v)
		}
		for _, e := range r.epochs {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(e.Epoch)), e.Start)
		}
		b = binary.AppendVarint(b, int64(len(r.snapshots)))
		for _, o := range r.snapshots {
			b = binary.AppendVarint(b, o)
		}
		b = binary.AppendVarint(b, int64(len(r.bases)))
		for i, f := range r.files {
			for _, v := range []int64{r.bases[i], f.Log, f.Index, f.TimeIndex, f.TxnIndex} {
				b = binary.AppendVarint(b, v)
			}
		}
	}
	sealManifest(b)
	return b
}

// sealManifest writes the checksum.
func sealManifest(b []byte) { binary.BigEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli)) }

var errManifest = errors.New("it is cut off or damaged")

func decodeManifest(b []byte) (map[partitionKey]recorded, error) {
	if len(b) < 8 {
		return nil, errManifest
	}
	if v := binary.BigEndian.Uint32(b); v != manifestVersion {
		return nil, fmt.Errorf("it has version %d, this release reads %d", v, manifestVersion)
	}
	if binary.BigEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return nil, errManifest
	}
	c := manifestReader{rest: b[8:]}
	all := make(map[partitionKey]recorded)
	for range c.count() {
		var r recorded
		topic := string(c.bytes(c.count()))
		copy(r.topicID[:], c.bytes(len(r.topicID)))
		key := partitionKey{topic, int32(c.int())}
		r.modTimeNs, r.end, r.producers = c.int(), c.int(), c.int() == 1
		for range c.count() {
			r.epochs = append(r.epochs, checkpoint.Epoch{Epoch: int32(c.int()), Start: c.int()})
		}
		for range c.count() {
			r.snapshots = append(r.snapshots, c.int())
		}
		for range c.count() {
			r.bases = append(r.bases, c.int())
			r.files = append(r.files, segment.Files{Log: c.int(), Index: c.int(), TimeIndex: c.int(), TxnIndex: c.int()})
		}
		if c.failed || len(r.bases) == 0 {
			return nil, errManifest
		}
		all[key] = r
	}
	if c.failed || len(c.rest) > 0 {
		return nil, errManifest
	}
	return all, nil
}

// manifestReader takes values off the front of a manifest. After a failure it gives
// zeros.
type manifestReader struct {
	rest   []byte
	failed bool
}

func (c *manifestReader) int() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.failed, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// count reads how many things follow: of each at least one byte.
func (c *manifestReader) count() int {
	v := c.int()
	if v < 0 || v > int64(len(c.rest)) || v > math.MaxInt32 {
		c.failed, c.rest = true, nil
		return 0
	}
	return int(v)
}

func (c *manifestReader) bytes(n int) []byte {
	if n > len(c.rest) {
		c.failed, c.rest = true, nil
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}
