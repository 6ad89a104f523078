package segment

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/moldau-broker/moldau/logstore/internal/mmap"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Pool bounds the descriptors and mappings of all segments of a store. A file that
// is not in use may lose its descriptor at any time and gets a new one when it is
// used again, so a partition without traffic costs neither.
//
// The bound on files is soft: files in use are never closed, whatever their number.
// The bound on mappings is hard: above it a reader is told to read without.
type Pool struct {
	fs                vfs.FS
	maxFiles, maxMaps int

	mu struct {
		sync.Mutex // Held for field access only; never waits for a File's lock.

		open []*File // In no order; a clock hand goes around.
		hand int
		maps int
	}
}

// NewPool returns a pool that opens files of fs, at most maxFiles of them and
// maxMaps mappings.
func NewPool(fs vfs.FS, maxFiles, maxMaps int) *Pool {
	return &Pool{fs: fs, maxFiles: maxFiles, maxMaps: maxMaps}
}

// Open returns how many files and how many mappings the pool holds.
func (p *Pool) Open() (files, maps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.open), p.mu.maps
}

// Sweep closes the files that were not used since the last Sweep.
func (p *Pool) Sweep() {
	p.mu.Lock()
	var closing []*Handle
	for i := 0; i < len(p.mu.open); {
		if h := p.tryEvictLocked(i); h != nil {
			closing = append(closing, h)
			continue // Another file is at i now.
		}
		i++
	}
	p.mu.Unlock()
	closeAll(closing)
}

// admit registers a file that was just opened, and closes others when there are too
// many. The caller holds f's lock.
func (p *Pool) admit(f *File) {
	p.mu.Lock()
	f.slot = len(p.mu.open)
	p.mu.open = append(p.mu.open, f)
	closing := p.evictLocked(func() bool { return len(p.mu.open) <= p.maxFiles })
	p.mu.Unlock()
	closeAll(closing)
}

// reserveMap counts a mapping, after another one has gone if there are too many.
func (p *Pool) reserveMap() bool {
	p.mu.Lock()
	closing := p.evictLocked(func() bool { return p.mu.maps < p.maxMaps })
	ok := p.mu.maps < p.maxMaps
	if ok {
		p.mu.maps++
	}
	p.mu.Unlock()
	closeAll(closing)
	return ok
}

func (p *Pool) returnMap() {
	p.mu.Lock()
	p.mu.maps--
	p.mu.Unlock()
}

// evictLocked closes files until enough is true or none can be closed. Two rounds of
// the clock: the first takes the mark of recent use from all, the second finds some.
func (p *Pool) evictLocked(enough func() bool) (closing []*Handle) {
	for range 2 * len(p.mu.open) {
		if enough() {
			break
		}
		if p.mu.hand >= len(p.mu.open) {
			p.mu.hand = 0
		}
		if h := p.tryEvictLocked(p.mu.hand); h != nil {
			closing = append(closing, h)
		} else {
			p.mu.hand++
		}
	}
	return closing
}

// tryEvictLocked takes the i-th open file away, unless it is in use or was used since
// this was last asked. Its lock is only tried: the order of locks is File, then Pool,
// and here it is the other way round.
func (p *Pool) tryEvictLocked(i int) *Handle {
	f := p.mu.open[i]
	if f.used.Swap(false) || !f.mu.TryLock() {
		return nil
	}
	defer f.mu.Unlock()
	if f.h.pins > 0 {
		return nil
	}
	return p.detachLocked(f)
}

// detachLocked takes f out of the pool; the locks of both are held. The handle lives
// on while it is pinned.
func (p *Pool) detachLocked(f *File) *Handle {
	last := len(p.mu.open) - 1
	moved := p.mu.open[last]
	p.mu.open[f.slot], moved.slot = moved, f.slot
	p.mu.open[last] = nil
	p.mu.open = p.mu.open[:last]
	h := f.h
	if h.m != nil {
		p.mu.maps--
	}
	f.h, h.detached = nil, true
	return h
}

func closeAll(hs []*Handle) {
	for _, h := range hs {
		h.close()
	}
}

// File is a file of a segment, open only while it is used. The zero value with seg and
// kind set is ready. There are four for every segment of every idle log: it is small.
type File struct {
	seg  *Segment
	kind string      // Its suffix. The path is made at each opening, because files are renamed.
	used atomic.Bool // Since the pool last looked.

	mu   sync.Mutex // Held over opening and mapping: whoever waits needs their result.
	h    *Handle    // Nil while the file is closed. Guarded by mu.
	slot int        // In pool.mu.open. Guarded by the pool's lock.
}

// Handle is one opening of a File. It stays usable, whatever becomes of the name,
// from Pin to Unpin.
type Handle struct {
	vfs.File

	owner *File
	// Guarded by owner.mu.
	pins     int
	detached bool // No longer owner.h: closed at the last Unpin.
	m        *mmap.Map
	mapped   int64 // Size of m.
}

// Pin opens the file if it is not, and keeps it open until Unpin. With create a
// missing file is made.
func (f *File) Pin(create bool) (*Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.h == nil {
		flag := os.O_RDWR
		if create {
			flag |= os.O_CREATE
		}
		file, err := f.seg.pool.fs.OpenFile(f.path(), flag, 0o644)
		if err != nil {
			return nil, err
		}
		f.h = &Handle{File: file, owner: f}
		f.seg.pool.admit(f)
	}
	f.h.pins++
	if !f.used.Load() { // Test first: many readers share the cache line.
		f.used.Store(true)
	}
	return f.h, nil
}

func (f *File) path() string { return f.seg.path(f.kind) }

// Unpin ends the use that a Pin began.
func (h *Handle) Unpin() {
	h.owner.mu.Lock()
	h.pins--
	last := h.detached && h.pins == 0
	h.owner.mu.Unlock()
	if last {
		h.close()
	}
}

// close gives back the mapping and the descriptor. An error has nobody to go to: what
// was written is in the page cache, and a failed write-back shows in the next sync.
func (h *Handle) close() {
	if h.m != nil {
		h.m.Close()
	}
	_ = h.File.Close()
}

// minMapBytes is the smallest mapping; larger ones double, so that a growing file is
// mapped again a few times only and a small one takes little address space.
const minMapBytes = 1 << 20

// Map returns a mapping of the file that covers end, pinned, and its bytes; false when
// there cannot be one: the system or the file system cannot map, or there are too
// many. The caller holds a pin and gives both back.
func (h *Handle) Map(end int64) (*mmap.Map, []byte, bool) {
	if !mmap.Supported {
		return nil, nil, false
	}
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	if h.m == nil || h.mapped < end {
		if h.detached || !h.mapLocked(end) {
			return nil, nil, false
		}
	}
	return h.m, h.m.Pin(), true
}

func (h *Handle) mapLocked(end int64) bool {
	if _, ok := h.Fd(); !ok || h.m == nil && !h.owner.seg.pool.reserveMap() {
		return false
	}
	size := int64(minMapBytes)
	for size < end {
		size *= 2
	}
	m, err := mmap.Open(h.File, size)
	if err != nil {
		if h.m == nil {
			h.owner.seg.pool.returnMap()
		}
		return false
	}
	if h.m != nil {
		h.m.Close() // Unmapped when its last reader unpins.
	}
	h.m, h.mapped = m, size
	return true
}

// Close gives up the descriptor and the mapping; a handle that is pinned keeps them
// until it is not. The next Pin opens whatever then has the name.
func (f *File) Close() {
	f.mu.Lock()
	h := f.h
	if h == nil {
		f.mu.Unlock()
		return
	}
	f.seg.pool.mu.Lock()
	f.seg.pool.detachLocked(f)
	f.seg.pool.mu.Unlock()
	idle := h.pins == 0
	f.mu.Unlock()
	if idle {
		h.close()
	}
}

// remove deletes the file, open or not. A missing one is no error.
func (f *File) remove() error {
	f.Close()
	if err := f.seg.pool.fs.Remove(f.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
