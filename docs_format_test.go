package moldau

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFormatPagesShowTheGoldenFiles ties docs/format to its golden files: a page shows
// each file that it is about as it is, and tells what a crash leaves. What the lines of
// the files say is checked by the package that decodes them: see TestFormatPage there.
func TestFormatPagesShowTheGoldenFiles(t *testing.T) {
	pages, err := filepath.Glob("docs/format/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	golden, err := filepath.Glob("docs/format/golden/*.hex")
	if err != nil || len(golden) == 0 {
		t.Fatal("no golden files", err)
	}
	var shown []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n## After a crash\n") {
			t.Errorf("%s does not tell what a crash leaves", page)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(m[1], "golden/") {
				continue
			}
			name := filepath.Join("docs", "format", filepath.FromSlash(m[1]))
			bytes, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, name)
			if !strings.Contains(string(text), "\n```\n"+string(bytes)+"```\n") {
				t.Errorf("%s does not show %s as it is", page, name)
			}
		}
	}
	for _, name := range golden {
		if !slices.Contains(shown, name) {
			t.Errorf("%s is shown on no page", name)
		}
	}
}
