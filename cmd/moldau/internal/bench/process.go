package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process spent during a measurement.
type Usage struct {
	// CPU is user and system time of all its threads.
	CPU time.Duration `json:"cpu_ns"`
	// AnonPeakBytes is the most anonymous memory seen: heap and stacks, which
	// only the process itself can give back.
	AnonPeakBytes int64 `json:"anon_peak_bytes"`
	// FilePeakBytes is the most file-backed memory seen: the program's own text
	// and mapped files, which the kernel can drop at any time.
	FilePeakBytes int64 `json:"file_peak_bytes"`
}

// memory is one look at a process.
type memory struct{ anonBytes, fileBytes int64 }

// parseMemory reads the resident sizes from the text of /proc/PID/status.
func parseMemory(status string) (memory, error) {
	var m memory
	seen := 0
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		var to *int64
		switch name {
		case "RssAnon":
			to = &m.anonBytes
		case "RssFile":
			to = &m.fileBytes
		default:
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return m, fmt.Errorf("%s in /proc/PID/status: %w", name, err)
		}
		*to = kib << 10
		seen++
	}
	if seen != 2 {
		return m, errors.New("/proc/PID/status lacks RssAnon or RssFile (Linux 4.5 or later has them)")
	}
	return m, nil
}

func readMemory(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(string(text))
}

// sampleEvery is how often memory is looked at. A look costs some 50 us.
const sampleEvery = 50 * time.Millisecond

// meter watches a process until it is stopped.
type meter struct {
	pid    int
	before time.Duration
	stop   chan struct{}
	peak   chan memory
}

// watch begins to measure the process pid; 0 measures nothing.
func watch(pid int) (*meter, error) {
	m := &meter{pid: pid, stop: make(chan struct{}), peak: make(chan memory, 1)}
	if pid == 0 {
		return m, nil
	}
	var err error
	if m.before, err = readCPU(pid); err != nil {
		return nil, err
	}
	first, err := readMemory(pid)
	if err != nil {
		return nil, err
	}
	go m.sample(first)
	return m, nil
}

// sample looks at memory now and then, and hands over the peak when stopped.
func (m *meter) sample(peak memory) {
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case <-ticker.C:
		case <-m.stop:
			running = false // One last look.
		}
		if now, err := readMemory(m.pid); err == nil {
			peak.anonBytes = max(peak.anonBytes, now.anonBytes)
			peak.fileBytes = max(peak.fileBytes, now.fileBytes)
		}
	}
	m.peak <- peak
}

// done ends the measurement. It is nil if no process was watched, or if the
// process has gone.
func (m *meter) done() (*Usage, error) {
	if m.pid == 0 {
		return nil, nil //nolint:nilnil // No process, nothing spent, no fault.
	}
	close(m.stop)
	peak := <-m.peak
	after, err := readCPU(m.pid)
	if err != nil {
		return nil, err
	}
	return &Usage{CPU: after - m.before, AnonPeakBytes: peak.anonBytes, FilePeakBytes: peak.fileBytes}, nil
}
