package segment

import (
	"testing"

	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestNewestBesideAppend: a reader that looks the newest timestamp up in the index of a
// segment that was just opened must not undo what is appended meanwhile.
func TestNewestBesideAppend(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	if err := fs.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	s := New(NewPool(fs, 10, 10), NewDir("/d"), 0, 1, epoch)
	if err := s.Make(0); err != nil {
		t.Fatal(err)
	}
	for base := range int64(3) {
		if err := s.Append(data(2*base, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	s = Open(NewPool(fs, 10, 10), NewDir("/d"), 0, 1, s.Files(), epoch)

	b := batch.NewBuilder(batch.Plain(6, 0))
	want := epoch.UnixMilli() + 1000
	b.Append(want, nil, nil)
	appended := false
	fs.Hook(func(e vfs.Event) {
		if e.Op != vfs.OpRead || appended {
			return
		}
		appended = true
		if err := s.Append(b.Build()); err != nil {
			t.Error(err)
		}
	})
	for i := range 2 {
		if ts, offset, err := s.Newest(); err != nil || ts != want || offset != 6 {
			t.Errorf("look-up %d: newest timestamp %d at offset %d, %v; want %d at 6", i, ts, offset, err, want)
		}
	}
	if !appended {
		t.Error("the index was not read")
	}
}
