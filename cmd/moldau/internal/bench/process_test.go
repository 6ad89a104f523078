package bench

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	const after = " S 1 2 3 0 -1 4194560 9 8 7 6 250 150 0 0 20 0 9 0 55 1 2"
	for name, tc := range map[string]struct {
		stat string
		want time.Duration
		ok   bool
	}{
		"user and system are added":      {"42 (moldau)" + after, 4 * time.Second, true},
		"a name with blanks and a brace": {"42 (a ) S 9 (b)" + after, 4 * time.Second, true},
		"cut short":                      {"42 (moldau) S 1 2 3", 0, false},
		"no number":                      {"42 (x) S 1 2 3 0 -1 4 9 8 7 6 a 150", 0, false},
		"empty":                          {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseCPU(tc.stat)
			if got != tc.want || (err == nil) != tc.ok {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func TestParseMemory(t *testing.T) {
	got, err := parseMemory("Name:\tx\nRssAnon:\t    2048 kB\nRssFile:\t 3 kB\nRssShmem:\t 9 kB\n")
	if want := (memory{2 << 20, 3 << 10}); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "RssAnon: 1 kB\n", "RssAnon: x kB\nRssFile: 1 kB\n"} {
		if got, err := parseMemory(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

// TestMeterSeesThisProcess burns CPU and memory and wants them noticed.
func TestMeterSeesThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc/PID/status")
	}
	m, err := watch(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const held = 64 << 20
	hold := make([]byte, held)
	for start := m.before; ; {
		for i := range hold {
			hold[i]++
		}
		if now, err := readCPU(os.Getpid()); err != nil || now > start {
			break
		}
	}
	use, err := m.done()
	runtime.KeepAlive(hold)
	if err != nil || use.CPU <= 0 || use.AnonPeakBytes < held || use.FilePeakBytes <= 0 {
		t.Errorf("%+v, %v", use, err)
	}
	if _, err := watch(1 << 30); err == nil || !strings.Contains(err.Error(), "--pid") {
		t.Errorf("a process that is not there: %v", err)
	}
}
