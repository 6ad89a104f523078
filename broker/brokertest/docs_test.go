package brokertest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every piece of Go in docs/brokertest.md stands in a test, line by line, so what
// the page shows runs.
func TestDocumentedCodeRuns(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/brokertest.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "../../integration/kafka-go/*_test.go"} {
		names, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			code, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tests.WriteString(squeeze(string(code)))
		}
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d pieces of Go in the page", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(tests.String(), squeeze(b[1])) {
			t.Errorf("no test has this piece of the page:\n%s", b[1])
		}
	}
}

// squeeze takes the indentation and the empty lines out of code.
func squeeze(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
