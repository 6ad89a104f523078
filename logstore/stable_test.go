package logstore

import (
	"fmt"
	"testing"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestStableAfterReopen: an open transaction holds the last stable offset where it
// was, also its place in the file, whether the log was closed or not.
func TestStableAfterReopen(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%v", clean), func(t *testing.T) {
			fs := vfs.NewMem()
			s, l := openLog(t, fs, Config{})
			mustAppend(t, l, produced(7, 0, 0, 1, true, t0))
			mustAppend(t, l, marker(7, 0, true, t0))
			mustAppend(t, l, produced(7, 1, 0, 1, true, t0))
			l.SetHighWatermark(3)
			want := l.Stable()
			if want.Offset != 2 || want.Position == 0 {
				t.Fatalf("stable is %+v", want)
			}
			if clean {
				closeStore(t, s)
			} else if err := s.Abandon(); err != nil {
				t.Fatal(err)
			}
			s, l = openLog(t, fs, Config{})
			l.SetHighWatermark(3)
			if got := l.Stable(); got != want {
				t.Errorf("stable is %+v, was %+v", got, want)
			}
			closeStore(t, s)
		})
	}
}
