package logstore

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// sized makes segments of ten records each with the given bytes; the last is active.
func sized(bytes ...int64) []retained {
	list := make([]retained, len(bytes))
	for i, n := range bytes {
		list[i] = retained{end: int64(i+1) * 10, bytes: n, active: i == len(bytes)-1}
	}
	return list
}

// aged is sized, of 100 bytes each, with the newest record so many hours before t0.
func aged(hours ...int) []retained {
	list := sized(make([]int64, len(hours))...)
	for i, h := range hours {
		list[i].bytes, list[i].newest = 100, t0.Add(-time.Duration(h)*time.Hour)
	}
	return list
}

func TestRetentionRules(t *testing.T) {
	size := func(limit int64) func([]retained) int {
		return func(s []retained) int { return aboveSize(s, limit) }
	}
	age := func(s []retained) int { return pastAge(s, 5*time.Hour, t0) }
	for name, tc := range map[string]struct {
		segments []retained
		rule     func([]retained) int
		want     int
	}{
		"size: what remains would be below the limit":   {sized(1000, 1000, 1000), size(2500), 0},
		"size: what remains is exactly the limit":       {sized(1000, 1000, 1000), size(2000), 1},
		"size: several go":                              {sized(1000, 1000, 1000, 10), size(1005), 2},
		"size: nothing is kept":                         {sized(1000, 1000), size(0), 2},
		"size: a large one shields the small behind it": {sized(5000, 1, 1), size(1000), 0},
		"age: exactly at the limit":                     {aged(5, 1), age, 0},
		"age: old prefix goes":                          {aged(9, 8, 1), age, 2},
		"age: young one shields an old":                 {aged(9, 1, 9, 0), age, 1},
		"age: a record from the future pins":            {aged(-1, 9), age, 0},
		"age: the active one too":                       {aged(9), age, 1},
		"start: inside the second":                      {sized(1, 1, 1), func(s []retained) int { return belowStart(s, 15) }, 1},
		"start: at the beginning of the third":          {sized(1, 1, 1), func(s []retained) int { return belowStart(s, 20) }, 2},
		"start: the active one stays":                   {sized(1, 1, 1), func(s []retained) int { return belowStart(s, 30) }, 2},
		"committed: up to the high watermark":           {sized(1, 1, 1), func(s []retained) int { return committed(s, 25) }, 2},
		"committed: an empty active one stays":          {sized(1, 1, 0), func(s []retained) int { return committed(s, 30) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.rule(tc.segments); got != tc.want {
				t.Errorf("%d segments go, want %d", got, tc.want)
			}
		})
	}
}

func TestRetainKeepsWhatIsNotCommitted(t *testing.T) {
	_, l := openLog(t, vfs.NewMem(), Config{SegmentBytes: 200, Delete: true, RetentionBytes: 1, RetentionAge: -1})
	for range 10 {
		mustAppend(t, l, records(2, t0, "x"))
	}
	if n, err := l.Retain(t0); n != 0 || err != nil {
		t.Errorf("removed %d, %v: nothing was committed", n, err)
	}
	l.SetHighWatermark(11)
	n, err := l.Retain(t0)
	if err != nil || n == 0 || l.Start() > 11 {
		t.Errorf("removed %d, %v, start %d", n, err, l.Start())
	}
}

// TestRetainWholeLog: the active segment goes too, after a new one was begun, and the
// log goes on where it was.
func TestRetainWholeLog(t *testing.T) {
	fs := vfs.NewMem()
	cfg := Config{SegmentBytes: 200, Delete: true, RetentionAge: time.Hour}
	s, l := openLog(t, fs, cfg)
	for range 10 {
		mustAppend(t, l, records(2, t0, "x"))
	}
	l.SetHighWatermark(20)
	n, err := l.Retain(t0.Add(time.Hour + time.Millisecond))
	if err != nil || n < 4 || l.Start() != 20 || l.Size() != 0 || l.Segments() != 1 {
		t.Fatalf("removed %d, %v; start %d, %d bytes in %d segments", n, err, l.Start(), l.Size(), l.Segments())
	}
	if n, err := l.Retain(t0.Add(100 * time.Hour)); n != 0 || err != nil {
		t.Errorf("empty log: removed %d, %v", n, err)
	}
	if err := s.Maintain(s.now()); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	_, l = openLog(t, fs, cfg)
	if a := mustAppend(t, l, records(1, t0, "x")); a.Base != 20 || l.Start() != 20 {
		t.Errorf("append after retention and restart at %d, start %d", a.Base, l.Start())
	}
}

// TestDeleteAllRecords is the case of a produce after DeleteRecords of everything.
func TestDeleteAllRecords(t *testing.T) {
	fs := vfs.NewMem()
	s, l := openLog(t, fs, Config{})
	mustAppend(t, l, produced(5, 0, 0, 10, false, t0))
	l.SetHighWatermark(10)
	if err := l.AdvanceStart(11); err == nil {
		t.Error("start moved above the high watermark")
	}
	if err := l.AdvanceStart(10); err != nil {
		t.Fatal(err)
	}
	if a := mustAppend(t, l, records(1, t0, "x")); a.Base != 10 {
		t.Errorf("base offset %d", a.Base)
	}
	closeStore(t, s)
	_, l = openLog(t, fs, Config{ProducerIDExpiry: 1 << 62})
	if l.Start() != 10 || l.End().Offset != 11 || len(l.Producers()) != 1 {
		t.Errorf("start %d, end %d, producers %v", l.Start(), l.End().Offset, l.Producers())
	}
}

// TestFirstRetention: what is old as it comes can be read for a while after a start.
func TestFirstRetention(t *testing.T) {
	s, err := Open(Options{Dir: "/data", FS: vfs.NewMem(), RetentionInterval: 5 * time.Minute, FirstRetention: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Abandon() })
	if err := s.Format(Meta{ClusterID: "c", NodeID: 1}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Create("t", 0, [16]byte{1}, Config{Delete: true, RetentionAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	start := t0.Add(100 * time.Hour)
	mustAppend(t, l, records(2, t0, "x"))
	l.SetHighWatermark(2)
	for _, step := range []struct {
		after time.Duration
		want  int64
	}{{0, 0}, {time.Second, 0}, {29 * time.Second, 0}, {30 * time.Second, 2}} {
		if err := s.Maintain(start.Add(step.after)); err != nil {
			t.Fatal(err)
		}
		if got := l.Start(); got != step.want {
			t.Errorf("%v after the first Maintain the log begins at %d, want %d", step.after, got, step.want)
		}
	}
}

// TestMetadataRetentionLeavesNoHole: the metadata log has no checkpoint of its start, so
// a power cut that brings back some of the segments that retention took must not bring
// back one from before a gap: the start would cut the log there.
func TestMetadataRetentionLeavesNoHole(t *testing.T) {
	disk := vfs.NewMem()
	fs := vfs.NewFault(disk)
	open := func(fs vfs.FS) (*Store, *Log) {
		t.Helper()
		s := openStore(t, fs, Config{})
		l, err := s.OpenMetadataLog(Config{SegmentBytes: 300})
		if err != nil {
			t.Fatal(err)
		}
		return s, l
	}
	s, l := open(fs)
	for l.Segments() < 6 {
		b := records(1, t0, "value")
		b.SetBaseOffset(l.End().Offset)
		if err := l.AppendMetadata(t0, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	end := l.End().Offset
	l.SetHighWatermark(end)
	if err := l.AdvanceStart(l.state.Load().active().Base()); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Retain(t0); err != nil || n != 5 {
		t.Fatalf("%d segments went: %v", n, err)
	}
	cut := func(vfs.Event) {
		for seed := range uint64(20) {
			for _, mode := range vfs.CrashModes() {
				_, after := open(disk.Crash(rand.New(rand.NewPCG(seed, 0)), mode))
				if got := after.End().Offset; got != end {
					t.Fatalf("seed %d, %v: the log ends at %d, was flushed up to %d", seed, mode, got, end)
				}
			}
		}
	}
	fs.BeforeSync(cut)
	if err := s.Maintain(t0); err != nil {
		t.Fatal(err)
	}
	cut(vfs.Event{})
	fs.Hook(nil)
	closeStore(t, s)
}
