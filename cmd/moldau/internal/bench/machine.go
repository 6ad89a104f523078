package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where a comparison ran.
type machine struct {
	model, kernel        string
	cores                int
	memoryBytes          int64
	loadBefore           string
	loadAfter            string
	when                 time.Time
	goVersion, goos, gar string
}

func thisMachine() machine {
	m := machine{
		model: "unknown processor", cores: runtime.NumCPU(), loadBefore: loadAverage(), when: time.Now().UTC(),
		goVersion: runtime.Version(), goos: runtime.GOOS, gar: runtime.GOARCH,
	}
	if name, ok := lookUp("/proc/cpuinfo", "model name"); ok {
		m.model = name
	}
	if total, ok := lookUp("/proc/meminfo", "MemTotal"); ok {
		var kib int64
		if _, err := fmt.Sscan(total, &kib); err == nil {
			m.memoryBytes = kib << 10
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.kernel = strings.TrimSpace(string(release))
	}
	return m
}

// lookUp returns what a file of "name: value" lines says of a name.
func lookUp(path, name string) (string, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// loadAverage is how many threads wanted to run in the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
