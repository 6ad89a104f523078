package mmap

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

func open(t *testing.T, size int64) (vfs.File, *Map) {
	t.Helper()
	if !Supported {
		t.Skip("no mappings on this system")
	}
	f, err := vfs.OS.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	m, err := Open(f, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return f, m
}

func TestMapSeesLaterWrites(t *testing.T) {
	f, m := open(t, 1<<16)
	if _, err := f.WriteAt([]byte("hello"), 4094); err != nil {
		t.Fatal(err)
	}
	b := m.Pin()
	defer m.Unpin()
	if got := b[4094:4099]; !bytes.Equal(got, []byte("hello")) {
		t.Errorf("mapped bytes %q", got)
	}
	if m.Len() != 1<<16 || int64(len(b)) != m.Len() {
		t.Errorf("mapped %d bytes, pinned %d", m.Len(), len(b))
	}
}

func TestPinOutlivesCloseAndFile(t *testing.T) {
	f, m := open(t, 4096)
	if _, err := f.WriteAt([]byte("still here"), 0); err != nil {
		t.Fatal(err)
	}
	b := m.Pin()
	m.Close()
	m.Close()
	if m.Pin() != nil {
		t.Error("a closed map was pinned")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte("still here")) {
		t.Errorf("pinned bytes %q", b[:10])
	}
	m.Unpin()
	if !panics(m.Unpin) {
		t.Error("a pin was given back twice")
	}
}

func TestUnpinWithoutPin(t *testing.T) {
	_, m := open(t, 4096)
	if !panics(m.Unpin) {
		t.Error("no panic")
	}
	m.state.Store(0) // For the cleanup.
}

func TestDontNeedKeepsBytes(t *testing.T) {
	page := int64(os.Getpagesize())
	f, m := open(t, 4*page+100)
	if _, err := f.WriteAt(bytes.Repeat([]byte("x"), int(4*page+100)), 0); err != nil {
		t.Fatal(err)
	}
	b := m.Pin()
	defer m.Unpin()
	for _, r := range [][2]int64{{0, 0}, {0, 1}, {page - 1, 2}, {page, page}, {3 * page, page + 100}, {0, m.Len()}} {
		if err := m.DontNeed(r[0], r[1]); err != nil {
			t.Errorf("range %v: %v", r, err)
		}
		if n := bytes.Count(b, []byte("x")); int64(n) != m.Len() {
			t.Fatalf("range %v: %d bytes left of %d", r, n, m.Len())
		}
	}
	for _, r := range [][2]int64{{-1, 1}, {0, m.Len() + 1}, {m.Len(), 1}, {1, -1}} {
		if !panics(func() { _ = m.DontNeed(r[0], r[1]) }) {
			t.Errorf("range %v is outside and was taken", r)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	mem, err := vfs.NewMem().OpenFile("/f", os.O_CREATE|os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(mem, 10); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file in memory: %v", err)
	}
	f, _ := open(t, 1)
	for _, size := range []int64{0, -1} {
		if _, err := Open(f, size); err == nil {
			t.Errorf("mapped %d bytes", size)
		}
	}
}

// TestConcurrentPins closes a map while others pin it: under the race detector,
// and because a read of unmapped memory would kill the test.
func TestConcurrentPins(t *testing.T) {
	f, m := open(t, 4096)
	if _, err := f.WriteAt(bytes.Repeat([]byte("y"), 4096), 0); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				b := m.Pin()
				if b == nil {
					return
				}
				if b[4095] != 'y' {
					t.Error("wrong byte")
				}
				m.Unpin()
			}
		})
	}
	for range 1000 {
		if b := m.Pin(); b != nil {
			m.Unpin()
		}
	}
	m.Close()
	readers.Wait()
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestMemory(t *testing.T) {
	for _, size := range []int{24, 4096, 1 << 20} {
		b, free := Memory(size)
		if len(b) != size || !bytes.Equal(b, make([]byte, size)) {
			t.Errorf("%d bytes, not all zero, for %d", len(b), size)
		}
		for i := range b {
			b[i] = byte(i)
		}
		free()
	}
}
