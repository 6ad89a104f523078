package vfs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// modelFile and modelFS are the naive model: what is seen and what is synced.
type modelFile struct{ visible, synced string }

type modelFS struct {
	m               *Mem
	visible, synced map[string]*modelFile
}

// open opens a file in the file system and in the model, and makes it if needed.
func (w *modelFS) open(t *rapid.T, name string) (File, *modelFile) {
	f, err := w.m.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	check(t, err)
	if w.visible[name] == nil {
		w.visible[name] = &modelFile{}
	}
	return f, w.visible[name]
}

func check(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// now and durable are what keeping and losing all must leave.
func (w *modelFS) now() map[string]string {
	all := map[string]string{}
	for name, f := range w.visible {
		all[name] = f.visible
	}
	return all
}

func (w *modelFS) durable() map[string]string {
	all := map[string]string{}
	for name, f := range w.synced {
		all[name] = f.synced
	}
	return all
}

func (w *modelFS) crash(t *rapid.T, seed uint64, mode CrashMode) map[string]string {
	return contents(t, w.m.Crash(rand.New(rand.NewPCG(seed, 0)), mode))
}

func same(t *rapid.T, what string, want, got map[string]string) {
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestCrashAgainstModel runs random operations beside the model. Losing all and
// keeping all must give just what the model has; once all is synced, every mode must.
func TestCrashAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &modelFS{m: NewMem(), visible: map[string]*modelFile{}, synced: map[string]*modelFile{}}
		t.Repeat(map[string]func(*rapid.T){
			"write": w.write, "truncate": w.truncate, "sync": w.sync, "rename": w.rename,
			"remove": w.remove, "sync names": w.syncNames, "quiet": w.quiet, "": w.compare,
		})
	})
}

var modelName = rapid.SampledFrom([]string{"/a", "/b", "/c"})

func (w *modelFS) write(t *rapid.T) {
	f, mf := w.open(t, modelName.Draw(t, "file"))
	off := rapid.IntRange(0, 1500).Draw(t, "off")
	data := bytes.Repeat([]byte{byte('a' + off%26)}, rapid.IntRange(1, 1500).Draw(t, "len"))
	_, err := f.WriteAt(data, int64(off))
	check(t, err)
	padded := mf.visible + strings.Repeat("\x00", max(0, off+len(data)-len(mf.visible)))
	mf.visible = padded[:off] + string(data) + padded[off+len(data):]
}

func (w *modelFS) truncate(t *rapid.T) {
	f, mf := w.open(t, modelName.Draw(t, "file"))
	size := rapid.IntRange(0, 2000).Draw(t, "size")
	check(t, f.Truncate(int64(size)))
	mf.visible = (mf.visible + strings.Repeat("\x00", 2000))[:size]
}

func (w *modelFS) sync(t *rapid.T) {
	f, mf := w.open(t, modelName.Draw(t, "file"))
	check(t, f.Sync())
	mf.synced = mf.visible
}

func (w *modelFS) rename(t *rapid.T) {
	from, to := modelName.Draw(t, "from"), modelName.Draw(t, "to")
	_, mf := w.open(t, from)
	check(t, w.m.Rename(from, to))
	delete(w.visible, from)
	w.visible[to] = mf
}

func (w *modelFS) remove(t *rapid.T) {
	name := modelName.Draw(t, "file")
	check(t, w.m.RemoveAll(name))
	delete(w.visible, name)
}

func (w *modelFS) syncNames(t *rapid.T) {
	check(t, w.m.SyncDir("/"))
	w.synced = maps.Clone(w.visible)
}

func (w *modelFS) quiet(t *rapid.T) {
	for name := range w.visible {
		f, mf := w.open(t, name)
		check(t, f.Sync())
		mf.synced = mf.visible
	}
	w.syncNames(t)
	for _, mode := range CrashModes() {
		same(t, mode.String(), w.now(), w.crash(t, rapid.Uint64().Draw(t, "seed"), mode))
	}
}

func (w *modelFS) compare(t *rapid.T) {
	same(t, "visible", w.now(), contents(t, w.m))
	same(t, "keep all", w.now(), w.crash(t, 0, CrashKeepAll))
	same(t, "lose all", w.durable(), w.crash(t, 0, CrashLoseAll))
	seed := rapid.Uint64().Draw(t, "seed")
	for _, mode := range CrashModes() {
		same(t, "one seed, twice: "+mode.String(), w.crash(t, seed, mode), w.crash(t, seed, mode))
	}
}

func contents(t *rapid.T, m *Mem) map[string]string {
	entries, err := m.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		b, err := ReadFile(m, path.Join("/", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got["/"+e.Name()] = string(b)
	}
	return got
}
