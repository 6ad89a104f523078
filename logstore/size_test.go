package logstore

import (
	"runtime"
	"testing"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestIdleLogIsSmall: there may be a hundred thousand logs that nobody uses.
func TestIdleLogIsSmall(t *testing.T) {
	const logs, limitBytes = 2000, 2048
	s := openStore(t, vfs.NewMem(), Config{})
	allocated := func() uint64 { // What is garbage afterwards counts too: little is.
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	before := allocated()
	for i := range int32(logs) {
		if _, err := s.Create("topic", i, testID, Config{}); err != nil {
			t.Fatal(err)
		}
	}
	if each := (allocated() - before) / logs; each > limitBytes {
		t.Errorf("%d bytes for an idle log, want at most %d", each, limitBytes)
	} else {
		t.Logf("%d bytes for an idle log", each)
	}
	runtime.KeepAlive(s)
}
