package brokertest

import (
	"bytes"
	"strings"
	"sync"
)

// tailLines is how many lines of the log are kept for a test that fails.
const tailLines = 400

// tail keeps the last lines of a log. Any goroutine may write.
type tail struct {
	mu struct {
		sync.Mutex

		lines   []string // A ring once it is full.
		next    int      // Where the next line goes.
		dropped int
	}
}

// Write takes one line, as slog's handlers give it.
func (l *tail) Write(p []byte) (int, error) {
	line := string(bytes.TrimRight(p, "\n"))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.lines) < tailLines {
		l.mu.lines = append(l.mu.lines, line)
		return len(p), nil
	}
	l.mu.lines[l.mu.next] = line
	l.mu.next = (l.mu.next + 1) % tailLines
	l.mu.dropped++
	return len(p), nil
}

// String is what was kept, oldest first.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	if l.mu.dropped > 0 {
		b.WriteString("(older lines are not kept)\n")
	}
	for i := range l.mu.lines {
		b.WriteString(l.mu.lines[(l.mu.next+i)%len(l.mu.lines)])
		b.WriteByte('\n')
	}
	return b.String()
}
