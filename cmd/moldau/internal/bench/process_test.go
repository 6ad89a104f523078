package bench

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

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
		t.Skip("only Linux tells what a process costs")
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
	for _, pid := range []int{1 << 30, 1 << 22, -1} {
		if _, err := watch(pid); err == nil || !strings.Contains(err.Error(), "--pid") {
			t.Errorf("process %d, which is not there: %v", pid, err)
		}
	}
}
