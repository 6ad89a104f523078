package moldau

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// quoted is a code span; link is the target of a Markdown link.
	quoted = regexp.MustCompile("`([^`\n]+)`")
	link   = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	// pathLike is a code span that can only be meant as a path of the tree.
	pathLike = regexp.MustCompile(`^(\.ci/|[a-z0-9_-]+/)*[A-Za-z0-9_.-]+(\.go|\.md|\.xml|\.yml)$|^(\.ci/)?[a-z0-9_-]+(/[a-z0-9_.-]+)+/?$`)
)

// missing returns what a document names and root does not hold: the targets of
// its relative links, and its code spans that look like paths, which are written
// from the root. dir is the document's folder.
func missing(root, dir, text string) []string {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
	var found []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if target := m[1]; !strings.Contains(target, "://") && !exists(path.Join(dir, target)) {
			found = append(found, target)
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if pathLike.MatchString(m[1]) && !foreign(m[1]) && !exists(m[1]) {
			found = append(found, m[1])
		}
	}
	return slices.Compact(found)
}

// foreign says whether a code span is the import path of somebody else's
// module or a package of the standard library, which only look like paths.
func foreign(span string) bool {
	first, _, nested := strings.Cut(span, "/")
	return nested && strings.Contains(first, ".") && first != ".ci" ||
		slices.Contains([]string{"testing", "net", "math", "log", "sync"}, first)
}

// documents are the pages held to it.
func documents(t *testing.T, root string) []string {
	t.Helper()
	names := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md", "docs/format/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(rel))
		}
	}
	return names
}

// TestDocumentsNameWhatExists keeps the documents from rotting: a file that is
// renamed is renamed in them too.
func TestDocumentsNameWhatExists(t *testing.T) {
	names := documents(t, ".")
	if !slices.Contains(names, "docs/ARCHITECTURE.md") {
		t.Fatalf("documents %q lack the architecture", names)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, gone := range missing(".", path.Dir(name), string(text)) {
			t.Errorf("%s names %s, which does not exist", name, gone)
		}
	}
}

// TestMissingSeesDeadPath plants documents in a tree that holds one file.
func TestMissingSeesDeadPath(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "broker/internal/api/table.go", "fmt")
	plant(t, root, "docs/there.go", "fmt")
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"a path that exists":       {"see `broker/internal/api/table.go`", nil},
		"a folder that exists":     {"see `broker/internal/api`", nil},
		"a path that does not":     {"see `broker/internal/api/gone.go`", []string{"broker/internal/api/gone.go"}},
		"a folder that does not":   {"see `broker/internal/gone`", []string{"broker/internal/gone"}},
		"a file at the root":       {"see `gone_test.go`", []string{"gone_test.go"}},
		"a link beside it":         {"[x](there.go#l3)", nil},
		"a dead link":              {"[x](gone.md)", []string{"gone.md"}},
		"a link into the web":      {"[x](https://kafka.apache.org/gone.md)", nil},
		"somebody else's module":   {"`go.etcd.io/raft/v3` and `testing/synctest`", nil},
		"a URL's path is no file":  {"`/metrics`", nil},
		"a configuration is none":  {"`flush.messages=1`, `segment.bytes`", nil},
		"a command with arguments": {"`go test ./gone/...`", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := missing(root, "docs", tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("missing %q, want %q", got, tc.want)
			}
		})
	}
}

// mostDeviations is how many deliberate differences there may be from Apache Kafka: who
// wants one more asks first which is not worth its row any longer.
const mostDeviations = 20

// deviations returns what differs, the first cell of each row of docs/deviations.md.
func deviations(page string) (rows []string) {
	_, table, _ := strings.Cut(page, "\n|---|---|---|---|\n")
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			rows = append(rows, strings.TrimSpace(cells[1]))
		}
	}
	return rows
}

func TestDeviationsAreFew(t *testing.T) {
	page, err := os.ReadFile("docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := deviations(string(page))
	if len(rows) == 0 || len(rows) > mostDeviations {
		t.Errorf("docs/deviations.md has %d rows, want 1 to %d:\n%s", len(rows), mostDeviations, strings.Join(rows, "\n"))
	}
	if got := deviations(string(page) + "| one more | a | b | c |\n"); len(got) != len(rows)+1 {
		t.Errorf("%d rows and one more are %d", len(rows), len(got))
	}
}
