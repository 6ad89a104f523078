package integration

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestText holds the text to what its readers rely on: distinct, non-empty lines
// of UTF-8 without a carriage return.
func TestText(t *testing.T) {
	const n = 3000
	all, err := io.ReadAll(&text{n: n})
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(all) || bytes.ContainsAny(all, "\r\x00") {
		t.Error("the text is not plain UTF-8")
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(all)) {
		if seen[line] || line == "\n" {
			t.Errorf("line %q is empty or comes twice", line)
		}
		seen[line] = true
	}
	if len(seen) != n {
		t.Errorf("%d lines, want %d", len(seen), n)
	}
}

// TestTally holds the judge itself to account: each way in which a broker could be
// wrong is seen.
func TestTally(t *testing.T) {
	line := func(n int) string { return string(appendLine(nil, n)) }
	for name, tc := range map[string]struct {
		ordered bool
		lines   []string
		want    string // A piece of the error; empty: none.
	}{
		"all, in order":           {true, []string{line(0), line(1), line(2)}, ""},
		"all, in disorder":        {false, []string{line(2), line(0), line(1)}, ""},
		"disorder where it harms": {true, []string{line(1), line(0), line(2)}, "where line 0 belongs"},
		"one twice":               {false, []string{line(0), line(1), line(1), line(2)}, "twice"},
		"one lost":                {false, []string{line(0), line(2)}, "1 of 3 lines lost, the first of them [1]"},
		"one changed":             {false, []string{line(0), line(1) + "x", line(2)}, "went in as"},
		"one cut":                 {false, []string{line(0), line(1)[:9], line(2)}, "went in as"},
		"one invented":            {false, []string{line(0), line(1), line(3), line(2)}, "never went in"},
		"one empty":               {false, []string{line(0), "", line(1), line(2)}, "never went in"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTally(3, tc.ordered)
			w := &lineWriter{to: c}
			_, err := io.WriteString(w, strings.Join(tc.lines, "\n")+"\n")
			if err == nil {
				err = c.missing()
			}
			switch {
			case err == nil && tc.want != "":
				t.Errorf("passed, want an error with %q", tc.want)
			case err != nil && (tc.want == "" || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %q, want one with %q", err, tc.want)
			}
		})
	}
}
