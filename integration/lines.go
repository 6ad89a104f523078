package integration

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// appendLine appends line n of the text to dst, without its newline. Lines differ
// in length, none is empty, and each begins with its number, so that a line that
// comes out can be told from every other. The text is UTF-8, since Apache's console
// tools decode it.
func appendLine(dst []byte, n int) []byte {
	const words = "the river Moldau springs in the Šumava, meets the Otava, passes under Prague's bridges\tand ends in the Elbe – "
	dst = fmt.Appendf(dst, "%07d ", n)
	x := uint64(n)*0x9e3779b97f4a7c15 + 1 // A cheap mix: neighbours look unalike.
	x ^= x >> 29
	from := int(x % 40)
	for from > 0 && words[from]&0xc0 == 0x80 {
		from-- // Not into the middle of a character.
	}
	for range (x >> 8) % 3 {
		dst = append(dst, words[from:]...)
	}
	return strconv.AppendUint(dst, x, 36)
}

// text reads the first n lines, each with its newline.
type text struct {
	n, next int
	rest    []byte

	// until, if not nil, holds back the lines from gate on until it is closed.
	gate  int
	until <-chan struct{}
}

// Read implements io.Reader.
func (r *text) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next == r.n {
			return 0, io.EOF
		}
		if r.until != nil && r.next == r.gate {
			<-r.until
		}
		r.rest = append(appendLine(r.rest[:0], r.next), '\n')
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// tally holds lines that came out against those that went in. Any goroutine may
// call its methods.
type tally struct {
	want    int
	ordered bool // Lines must come in their order, as out of one partition.

	mu struct {
		sync.Mutex
		seen    []bool
		count   int
		scratch []byte
	}
	full chan struct{} // Closed when every line was seen.
}

func newTally(want int, ordered bool) *tally {
	c := &tally{want: want, ordered: ordered, full: make(chan struct{})}
	c.mu.seen = make([]bool, want)
	return c
}

// add takes a line that came out, without its newline. It refuses one that never
// went in, that came before, or, when ordered, is not the next.
func (c *tally) add(line []byte) error {
	head, _, _ := bytes.Cut(line, []byte(" "))
	n, err := strconv.Atoi(string(head))
	if err != nil || n < 0 || n >= c.want {
		return fmt.Errorf("line %q never went in", line)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.scratch = appendLine(c.mu.scratch[:0], n)
	switch {
	case !bytes.Equal(line, c.mu.scratch):
		return fmt.Errorf("line %d came out as %q, went in as %q", n, line, c.mu.scratch)
	case c.mu.seen[n]:
		return fmt.Errorf("line %d came out twice", n)
	case c.ordered && n != c.mu.count:
		return fmt.Errorf("line %d came out where line %d belongs", n, c.mu.count)
	}
	c.mu.seen[n] = true
	c.mu.count++
	if c.mu.count == c.want {
		close(c.full)
	}
	return nil
}

// count returns how many lines have come out.
func (c *tally) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.count
}

// missing is an error that names the lines which did not come out.
func (c *tally) missing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.count == c.want {
		return nil
	}
	var first []int
	for n, seen := range c.mu.seen {
		if !seen && len(first) < 5 {
			first = append(first, n)
		}
	}
	return fmt.Errorf("%d of %d lines lost, the first of them %v", c.want-c.mu.count, c.want, first)
}

// lineWriter cuts what a program prints into lines for a tally. The first error
// stays.
type lineWriter struct {
	to   *tally
	rest []byte
	err  error
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for w.err == nil {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			break
		}
		w.err = w.to.add(line)
		w.rest = rest
	}
	return len(p), w.err
}
