package logstore

import (
	"bytes"
	"context"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/mmap"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// onDisk opens a store in a directory of the machine, with one empty log.
func onDisk(t testing.TB, o Options, cfg Config) (*Store, *Log) {
	t.Helper()
	o.Dir = t.TempDir()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Abandon() })
	if err := s.Load(context.Background(), func(string, int32, [16]byte) (Config, Keep) { return cfg, KeepLog }); err != nil {
		t.Fatal(err)
	}
	l, err := s.Create("t", 0, testID, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

// TestSpan reads one span in every way that there is.
func TestSpan(t *testing.T) {
	_, l := onDisk(t, Options{}, Config{})
	var want []byte
	for range 50 {
		b := records(2, t0, "value")
		mustAppend(t, l, b)
		want = append(want, b...)
	}
	span, err := l.Read(20, 1000, l.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	at := int(span.Mark().Position)
	if span.Mark().Offset != 20 || span.Len() != 1000 {
		t.Errorf("span of %d bytes at %+v", span.Len(), span.Mark())
	}
	want = want[at : at+1000]
	got := make([]byte, 1000)
	if err := span.Copy(got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("copy differs, %v", err)
	}
	if n, err := span.ReadAt(got, 900); n != 100 || err == nil || !bytes.Equal(got[:n], want[900:]) {
		t.Errorf("read at the end gave %d bytes, %v", n, err)
	}
	if fd, offset, ok := span.File(); !ok || fd == 0 || offset != int64(at) {
		t.Errorf("file %d at %d, %v", fd, offset, ok)
	}
	if mmap.Supported {
		head := net.Buffers{[]byte("head")}
		for range 2 {
			bufs, ok := span.Buffers(head)
			if !ok || len(bufs) != 2 {
				t.Fatalf("%d buffers, %v", len(bufs), ok)
			}
			if sent := throughPipe(t, bufs); !bytes.Equal(sent, append([]byte("head"), want...)) {
				t.Error("what was sent from the mapping differs")
			}
		}
	}
	span.Release()
	span.Release()
	if (Span{}).Len() != 0 {
		t.Error("an empty span has a length")
	}
	(Span{}).Release()
}

// throughPipe sends buffers by one writev.
func throughPipe(t *testing.T, bufs net.Buffers) []byte {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var got bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = got.ReadFrom(c)
	})
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufs.WriteTo(c); err != nil {
		t.Error(err)
	}
	c.Close()
	wg.Wait()
	return got.Bytes()
}

// TestSpanOutlivesItsSegment: a span may be sent after its segment was removed, its
// log truncated, and its descriptor wanted by others.
func TestSpanOutlivesItsSegment(t *testing.T) {
	s, l := onDisk(t, Options{MaxFiles: 2, MaxMaps: 1}, Config{SegmentBytes: 200, FileDeleteDelay: time.Nanosecond})
	b := records(2, t0, "first")
	mustAppend(t, l, b)
	span, err := l.Read(0, 1000, l.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	bufs, mapped := span.Buffers(nil)
	for range 20 {
		mustAppend(t, l, records(2, t0, "more"))
	}
	for i := range int64(20) { // Opens more files than are allowed.
		other, err := l.Read(i*2, 10, l.End(), true)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := other.Buffers(nil); ok && mapped {
			if files, maps := s.pool.Open(); maps > 1 || files > 4 {
				t.Fatalf("%d files and %d mappings are open", files, maps)
			}
		}
		other.Release()
	}
	if err := l.TruncateFully(500); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(s.now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.join("00000000000000000000.log.deleted")); !os.IsNotExist(err) {
		t.Errorf("the segment is still there: %v", err)
	}
	got := make([]byte, span.Len())
	if err := span.Copy(got); err != nil || !bytes.Equal(got, b) {
		t.Errorf("copy of a removed segment: %v", err)
	}
	if mapped {
		if sent := throughPipe(t, bufs); !bytes.Equal(sent, b) {
			t.Error("mapping of a removed segment differs")
		}
	}
	span.Release()
}

// TestIdleLogsHoldNothing: files that nobody uses are closed, and opened again.
func TestIdleLogsHoldNothing(t *testing.T) {
	s, l := onDisk(t, Options{IdleAfter: time.Second}, Config{})
	mustAppend(t, l, records(2, t0, "x"))
	drain(t, l, 0, 100)
	now := s.now()
	for i := range 3 {
		if err := s.Maintain(now.Add(time.Duration(i*2) * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if files, maps := s.pool.Open(); files+maps != 0 {
		t.Errorf("%d files and %d mappings are open", files, maps)
	}
	mustAppend(t, l, records(2, t0, "x"))
	if got := drain(t, l, 0, 100); len(got) == 0 {
		t.Error("nothing read")
	}
}

// TestManyAtOnce has an owner who appends, rolls, moves the high watermark and removes,
// and readers, flushers and the upkeep around it; the race detector watches.
func TestManyAtOnce(t *testing.T) {
	cfg := Config{SegmentBytes: 3000, IndexIntervalBytes: 100, Delete: true, RetentionBytes: 20000, RetentionAge: -1, FlushMessages: 1}
	s, l := onDisk(t, Options{MaxFiles: 4, MaxMaps: 2, RetentionInterval: 1, HighWatermarkInterval: 1, PointsInterval: 1, IdleAfter: 1}, cfg)
	done := make(chan struct{})
	var wg sync.WaitGroup
	around := func(f func() error) {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	around(func() error { return readSome(l) })
	around(func() error { return readSome(l) })
	around(l.Flush)
	around(func() error { return s.Maintain(s.now()) })
	around(func() error {
		_, _, err := l.OffsetByTime(t0.UnixMilli() + l.Start())
		return err
	})
	for i := range 1500 {
		a, err := l.Append(t0, records(1+i%3, t0.Add(time.Duration(i)*time.Millisecond), "some value"), int32(i/500), producer.Client)
		if err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(a.Last - 1)
		if i%400 == 399 {
			if err := l.Truncate(a.Last - 20); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	wg.Wait()
}

// readSome reads from the middle of the log. Offsets may be removed meanwhile.
func readSome(l *Log) error {
	from := (l.Start() + l.HighWatermark().Offset) / 2
	span, err := l.Read(from, 2000, l.HighWatermark(), true)
	if err != nil {
		if _, removed := err.(*OffsetError); removed { //nolint:errorlint // As Read returns it.
			return nil
		}
		return err
	}
	defer span.Release()
	buf := make([]byte, span.Len())
	if err := span.Copy(buf); err != nil || len(buf) == 0 {
		return nil //nolint:nilerr // Truncated under the reader: an error is right.
	}
	if b, _, err := batch.Next(buf); err == nil && b.NextOffset() <= from {
		return &OffsetError{Want: from, Start: b.BaseOffset(), End: b.NextOffset()}
	}
	_, _ = span.Buffers(nil)
	return nil
}
