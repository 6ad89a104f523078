// Package moldau has no code of its own. The tests at the root of the tree hold
// what concerns all of it: who may import whom, and that the documents name
// files that exist.
package moldau

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/moldau-broker/moldau"

// rooms says which of our own folders the code of a folder may import. A folder
// stands for everything below it, and may always import itself. The longest name
// that fits decides; a folder that fits none is a violation, so that a new top
// folder is placed here on purpose.
var rooms = map[string][]string{
	".":                 {},
	"cmd/moldau":        {"broker", "logstore/vfs", "protocol"},
	"cmd/moldau-compat": {"compat"},
	"broker":            {"coordinator", "logstore", "protocol"},
	"coordinator":       {"protocol"},
	"logstore":          {"protocol"},
	"protocol":          {},
	"compat":            {"broker/brokertest"},
	"compat/scenario":   {},
	"compat/scenarios":  {"compat/scenario"},
	"integration":       {"broker/brokertest"},
}

// walls forbid single edges inside a room. The reason is printed.
var walls = []struct {
	from, to []string
	why      string
}{
	{
		[]string{"broker/internal/server"},
		[]string{"broker/internal/replica", "broker/internal/quorum", "logstore/internal"},
		"server hands requests to api and knows nothing below it",
	},
	{
		[]string{"broker/internal/replica", "broker/internal/quorum", "broker/internal/memnet"},
		[]string{"broker/internal/api", "broker/internal/server", "broker/internal/admin"},
		"calls go downwards: server, api, then replica and quorum",
	},
	{
		[]string{"broker/internal/replica"},
		[]string{"broker/internal/quorum"},
		"partitions and the metadata quorum are neighbours that meet in broker",
	},
	{
		[]string{"broker/internal/quorum"},
		[]string{"broker/internal/replica"},
		"partitions and the metadata quorum are neighbours that meet in broker",
	},
	{
		[]string{"logstore/compact", "logstore/producer", "logstore/vfs", "logstore/internal"},
		[]string{"logstore"},
		"the parts of the log store do not know the whole",
	},
	{
		[]string{"compat"},
		[]string{"broker/brokertest"},
		"scenarios are played against any broker: only tests start one of ours",
	},
}

// apart are the folders whose own folders do not know each other.
var apart = []string{"compat/scenarios"}

// homes gives each heavy dependency the only folders that may import it.
var homes = []struct {
	imports []string
	in      []string
	tests   bool // Tests anywhere may import it too.
}{
	{[]string{"go.etcd.io/raft/v3"}, []string{"broker/internal/quorum"}, false},
	{[]string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"}, []string{"protocol/codec"}, false},
	{[]string{"golang.org/x/sys"}, []string{"logstore/internal/mmap", "logstore/vfs", "cmd/moldau/internal/bench"}, false},
	{[]string{"unsafe"}, []string{"logstore/internal/mmap"}, true},
	{[]string{"github.com/testcontainers"}, []string{"integration"}, false},
	{[]string{"github.com/spf13/cobra", "github.com/spf13/pflag"}, []string{"cmd"}, false},
	{[]string{"github.com/magiconair/properties"}, []string{"protocol/config", "logstore/internal/checkpoint"}, false},
	{[]string{"github.com/tidwall/btree"}, []string{"coordinator"}, false},
	{
		[]string{"github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kadm"},
		[]string{"cmd", "compat", "integration", "broker/brokertest"},
		true,
	},
	{[]string{"github.com/IBM/sarama"}, []string{"compat", "integration"}, true},
	{
		[]string{"testing", "github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak"},
		[]string{"broker/brokertest", "coordinator/coordtest", "protocol/formattest", "compat", "integration"},
		true,
	},
}

// pure lists the packages whose code is stepped: what they decide depends on
// their arguments alone. Tests of them may do as they like.
var pure = []string{
	"coordinator/controller",
	"coordinator/group",
	"coordinator/txn",
	"broker/internal/replica/state", "broker/internal/session",
	"logstore/compact",
	"logstore/producer",
}

// impure is what a pure package cannot need, harmless what looks like it: chance
// that is handed in, and a logger, which changes nothing that is decided.
var (
	impure   = []string{"os", "net", "context", "sync", "io/fs", "log", "crypto/rand", "math/rand"}
	harmless = []string{"math/rand/v2", "log/slog"}
)

// clocks are the functions of package time that look at the clock or wait for it.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// seeded are the functions of math/rand/v2 whose chance is handed in; the others that
// are called draw from the process's.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf"}

// file is one Go file: where it lies, from the root of the module and with
// slashes, what it imports, and what in it a stepped package does not do. Only files
// of such packages are looked at for that.
type file struct {
	path    string
	imports []string
	unpure  []string
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// within says whether the package dir is one of the folders or lies below one.
func within(dir string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return dir == folder || strings.HasPrefix(dir, folder+"/")
	})
}

// violations holds the files against the tables above and returns a sentence for
// each import and each statement that breaks a rule, in the order of the files.
func violations(files []file) []string {
	var found []string
	for _, f := range files {
		for _, imported := range f.imports {
			for _, why := range slices.Concat(
				againstRooms(f, imported), againstWalls(f, imported),
				againstHomes(f, imported), againstPurity(f, imported),
			) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", f.path, imported, why))
			}
		}
		for _, what := range f.unpure {
			found = append(found, fmt.Sprintf("%s %s: a stepped package has no goroutine, channel or clock of its own", f.path, what))
		}
	}
	return found
}

// ours returns the folder of an imported package of this module.
func ours(imported string) (dir string, ok bool) {
	return strings.CutPrefix(imported, module+"/")
}

// room returns the longest key of rooms that holds dir.
func room(dir string) (name string, ok bool) {
	for folder := range rooms {
		if (dir == folder || folder != "." && within(dir, folder)) && len(folder) > len(name) {
			name, ok = folder, true
		}
	}
	return name, ok
}

func againstRooms(f file, imported string) []string {
	to, ok := ours(imported)
	if !ok {
		return nil
	}
	from, ok := room(path.Dir(f.path))
	if !ok {
		return []string{"its folder stands in no room of layering_test.go"}
	}
	if within(to, from) || within(to, rooms[from]...) {
		return nil
	}
	return []string{fmt.Sprintf("%s may import %v and itself", from, rooms[from])}
}

func againstWalls(f file, imported string) []string {
	to, ok := ours(imported)
	if !ok || f.isTest() {
		return nil
	}
	var found []string
	for _, w := range walls {
		from := path.Dir(f.path)
		if within(from, w.from...) && slices.ContainsFunc(w.to, func(t string) bool {
			// A wall before a whole folder does not stand inside of it: there it is
			// the folder's own package that may not be imported.
			return to == t || within(to, t) && !within(from, t)
		}) {
			found = append(found, w.why)
		}
	}
	for _, folder := range apart {
		from := path.Dir(f.path)
		if within(from, folder) && within(to, folder) && from != to {
			found = append(found, "what folders of "+folder+" share is not in one of them")
		}
	}
	return found
}

func againstHomes(f file, imported string) []string {
	var found []string
	for _, h := range homes {
		if !within(imported, h.imports...) || within(path.Dir(f.path), h.in...) || h.tests && f.isTest() {
			continue
		}
		// The root's own tests are tests of the whole tree.
		if f.isTest() && imported == "testing" {
			continue
		}
		found = append(found, fmt.Sprintf("its home is %v", h.in))
	}
	return found
}

// stepped says whether a file is code of a pure package.
func (f file) stepped() bool { return !f.isTest() && within(path.Dir(f.path), pure...) }

func againstPurity(f file, imported string) []string {
	if !f.stepped() || slices.Contains(harmless, imported) {
		return nil
	}
	if !within(imported, impure...) {
		return nil
	}
	return []string{"a stepped package does no I/O, takes no lock and knows no context"}
}

// unpure walks the code of a stepped package and says, with its line, what is not
// stepped in it.
func unpure(fset *token.FileSet, parsed *ast.File) []string {
	packages := map[string]string{} // By the name that they have in the file.
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // It would not have been parsed.
		}
		name := path.Base(imported)
		if imported == "math/rand/v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		packages[name] = imported
	}
	var found []string
	report := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("line %d %s", fset.Position(n.Pos()).Line, what))
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "starts a goroutine")
		case *ast.ChanType:
			report(n, "has a channel")
		case *ast.SendStmt, *ast.SelectStmt:
			report(n, "uses a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "uses a channel")
			}
		case *ast.SelectorExpr:
			if name, ok := n.X.(*ast.Ident); ok && packages[name.Name] == "time" && slices.Contains(clocks, n.Sel.Name) {
				report(n, "uses time."+n.Sel.Name)
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			if name, ok := f.X.(*ast.Ident); ok && packages[name.Name] == "math/rand/v2" && !slices.Contains(seeded, f.Sel.Name) {
				report(n, "draws from the process's chance by rand."+f.Sel.Name)
			}
		}
		return true
	})
	return found
}

// scan reads the imports of every Go file below root, and all of the stepped ones, of every build tag, and of
// modules nested in it. It does not ask go list: the go command would then serve
// the test from its cache and hide a new violation.
func scan(root string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
		if d.IsDir() {
			if name != root && (hidden || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if hidden || filepath.Ext(name) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(rel)}
		mode := parser.ImportsOnly
		if f.stepped() {
			mode = parser.SkipObjectResolution
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, nil, mode)
		if err != nil {
			return err
		}
		if f.stepped() {
			f.unpure = unpure(fset, parsed)
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// TestLayering holds the whole tree to the tables above.
func TestLayering(t *testing.T) {
	files, err := scan(".")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(files, func(f file) bool { return f.path == "layering_test.go" }) {
		t.Fatalf("scanned %d files and did not find this one", len(files))
	}
	for _, v := range violations(files) {
		t.Error(v)
	}
}

// TestGoroutinesAreNamed: a file that starts goroutines stands in ARCHITECTURE.md's
// table of them.
func TestGoroutinesAreNamed(t *testing.T) {
	text, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## Goroutines\n")
	table, _, ended := strings.Cut(table, "\n## ")
	if !ok || !ended {
		t.Fatal("docs/ARCHITECTURE.md has no section Goroutines")
	}
	files, err := scan(".")
	if err != nil {
		t.Fatal(err)
	}
	starting := 0
	for _, f := range files {
		if f.isTest() || !within(f.path, "broker", "coordinator", "logstore", "protocol") || within(f.path, "broker/brokertest") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(f.path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !starts(parsed) {
			continue
		}
		starting++
		if !strings.Contains(table, "`"+f.path+"`") {
			t.Errorf("%s starts goroutines that docs/ARCHITECTURE.md does not name", f.path)
		}
	}
	if starting == 0 {
		t.Error("no file starts a goroutine: the search is broken")
	}
}

// starts says whether a file has a go statement, or hands a function to a Go method.
func starts(parsed *ast.File) (found bool) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && f.Sel.Name == "Go" && len(n.Args) == 1
		}
		return !found
	})
	return found
}

// TestLayeringNamesFolders: a rule about a folder that is not there holds nothing.
func TestLayeringNamesFolders(t *testing.T) {
	named := slices.Concat(slices.Collect(maps.Keys(rooms)), pure)
	for _, may := range rooms {
		named = append(named, may...)
	}
	for _, w := range walls {
		named = append(slices.Concat(named, w.from), w.to...)
	}
	for _, h := range homes {
		named = append(named, h.in...)
	}
	for _, folder := range slices.Compact(slices.Sorted(slices.Values(named))) {
		if st, err := os.Stat(filepath.FromSlash(folder)); err != nil || !st.IsDir() {
			t.Errorf("a table of layering_test.go names %s, which is no folder; %v", folder, err)
		}
	}
}

// TestLayeringSeesUnsteppedCode plants one statement at a time in a stepped package.
func TestLayeringSeesUnsteppedCode(t *testing.T) {
	for name, tc := range map[string]struct{ path, code, want string }{
		"a goroutine":          {"coordinator/txn/x.go", "func f() { go f() }", "line 3 starts a goroutine"},
		"a channel":            {"coordinator/txn/x.go", "var c chan<- int", "has a channel"},
		"a send":               {"coordinator/txn/x.go", "func f() { c <- 1 }", "uses a channel"},
		"a receive":            {"coordinator/txn/x.go", "func f() { <-c }", "uses a channel"},
		"a wait":               {"coordinator/txn/x.go", "func f() { select {} }", "uses a channel"},
		"the clock":            {"logstore/producer/x.go", "import \"time\"\nvar t = time.Now()", "uses time.Now"},
		"the clock, by a name": {"logstore/producer/x.go", "import w \"time\"\nvar now = w.Now", "uses time.Now"},
		"a timer":              {"broker/internal/session/x.go", "import \"time\"\nvar t = time.NewTimer(1)", "uses time.NewTimer"},
		"sleep":                {"broker/internal/session/x.go", "import \"time\"\nfunc f() { time.Sleep(1) }", "uses time.Sleep"},
		"the process's chance": {"coordinator/group/x.go", "import \"math/rand/v2\"\nvar n = rand.IntN(2)", "rand.IntN"},
		"chance of a seed":     {"coordinator/group/x.go", "import \"math/rand/v2\"\nvar r *rand.Rand = rand.New(rand.NewPCG(1, 2))", ""},
		"a length of time":     {"coordinator/group/x.go", "import \"time\"\nvar t = time.Unix(1, 0).Add(time.Second)", ""},
		"another's Now":        {"coordinator/group/x.go", "var t = moment.Now", ""},
		"a shell":              {"coordinator/x.go", "func f() { go f() }", ""},
		"a test":               {"coordinator/txn/x_test.go", "func f() { go f() }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, tc.path, "package x\n\n"+tc.code+"\n")
			files, err := scan(root)
			if err != nil {
				t.Fatal(err)
			}
			got := violations(files)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("legal, but: %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("violations %q, want one with %q", got, tc.want)
			}
		})
	}
}

// TestLayeringSeesPlantedViolation plants one import at a time in a tree of its
// own, and wants exactly the violations named; legal imports that lie close to
// them want none.
func TestLayeringSeesPlantedViolation(t *testing.T) {
	const kgo = "github.com/twmb/franz-go/pkg/kgo"
	for name, tc := range map[string]struct {
		path, imported string
		want           string // A piece of the one violation; empty: none.
	}{
		"broker imports logstore":             {"broker/x.go", module + "/logstore", ""},
		"logstore imports coordinator":        {"logstore/x.go", module + "/coordinator", "logstore may import"},
		"coordinator imports logstore":        {"coordinator/x.go", module + "/logstore", "coordinator may import"},
		"in a test too":                       {"coordinator/x_test.go", module + "/logstore", "coordinator may import"},
		"in a file for another system":        {"logstore/x_windows.go", module + "/broker", "logstore may import"},
		"protocol imports upwards":            {"protocol/batch/x.go", module + "/logstore/vfs", "protocol may import"},
		"protocol imports a sibling":          {"protocol/batch/x.go", module + "/protocol/codec", ""},
		"the binary reaches past the library": {"cmd/moldau/x.go", module + "/logstore", "cmd/moldau may import"},
		"the binary imports the library":      {"cmd/moldau/x.go", module + "/broker", ""},
		"a name that only begins alike":       {"cmd/moldau/x.go", module + "/brokerage", "cmd/moldau may import"},
		"an unknown top folder":               {"util/x.go", module + "/protocol", "in no room"},
		"the suite imports a cluster":         {"compat/x.go", module + "/broker/brokertest", "only tests start"},
		"the suite's test starts a cluster":   {"compat/x_test.go", module + "/broker/brokertest", ""},
		"scenarios import what they are":      {"compat/scenarios/groups/x.go", module + "/compat/scenario", ""},
		"scenarios import who plays them":     {"compat/scenarios/groups/x.go", module + "/compat", "compat/scenarios may import"},
		"one area imports another":            {"compat/scenarios/groups/x.go", module + "/compat/scenarios/topics", "what folders of compat/scenarios share"},
		"a scenario's T knows the scenarios":  {"compat/scenario/x.go", module + "/compat/scenarios/groups", "compat/scenario may import"},
		"the suite imports the broker":        {"compat/x.go", module + "/broker", "compat may import"},

		"server reaches past api":           {"broker/internal/server/x.go", module + "/broker/internal/replica", "knows nothing below"},
		"server imports api":                {"broker/internal/server/x.go", module + "/broker/internal/api", ""},
		"replica calls upwards":             {"broker/internal/replica/x.go", module + "/broker/internal/api", "downwards"},
		"api calls downwards":               {"broker/internal/api/x.go", module + "/broker/internal/replica", ""},
		"quorum imports its neighbour":      {"broker/internal/quorum/x.go", module + "/broker/internal/replica", "neighbours"},
		"replica imports its own part":      {"broker/internal/replica/x.go", module + "/broker/internal/replica/state", ""},
		"a part imports the whole":          {"logstore/internal/segment/x.go", module + "/logstore", "do not know the whole"},
		"a part imports another part":       {"logstore/internal/segment/x.go", module + "/logstore/vfs", ""},
		"the whole imports a part":          {"logstore/x.go", module + "/logstore/internal/segment", ""},
		"a part's test may build the whole": {"logstore/producer/x_test.go", module + "/logstore", ""},

		"raft away from home":              {"coordinator/x.go", "go.etcd.io/raft/v3/raftpb", "home"},
		"raft at home":                     {"broker/internal/quorum/x.go", "go.etcd.io/raft/v3/raftpb", ""},
		"a codec away from home":           {"protocol/batch/x.go", "github.com/klauspost/compress/zstd", "home"},
		"in a test too, codecs stay home":  {"protocol/batch/x_test.go", "github.com/pierrec/lz4/v4", "home"},
		"unsafe away from home":            {"protocol/batch/x.go", "unsafe", "home"},
		"system calls away from home":      {"logstore/x.go", "golang.org/x/sys/unix", "home"},
		"a client in the broker":           {"broker/x.go", kgo, "home"},
		"a client in a test":               {"broker/x_test.go", kgo, ""},
		"wire types are no client":         {"broker/x.go", "github.com/twmb/franz-go/pkg/kmsg", ""},
		"a client in the tools":            {"cmd/moldau/x.go", kgo, ""},
		"package testing in production":    {"logstore/x.go", "testing", "home"},
		"package testing in a test helper": {"coordinator/coordtest/x.go", "testing", ""},
		"containers in the library":        {"broker/x_test.go", "github.com/testcontainers/testcontainers-go", "home"},

		"a stepped package does I/O":          {"coordinator/group/x.go", "os", "stepped"},
		"a stepped package knows a context":   {"broker/internal/replica/state/x.go", "context", "stepped"},
		"a stepped package prints":            {"coordinator/controller/x.go", "log", "stepped"},
		"a stepped package is handed a log":   {"coordinator/controller/x.go", "log/slog", ""},
		"a stepped package hides its chance":  {"coordinator/group/x.go", "math/rand", "stepped"},
		"a stepped package is handed chance":  {"coordinator/group/x.go", "math/rand/v2", ""},
		"a test of a stepped package does IO": {"coordinator/group/x_test.go", "os", ""},
		"a shell does I/O":                    {"coordinator/x.go", "context", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			plant(t, root, "protocol/clean.go", "fmt")
			plant(t, root, tc.path, tc.imported)
			// Neither of these belongs to the tree.
			plant(t, root, "logstore/testdata/x.go", module+"/broker")
			plant(t, root, ".apache/x.go", module+"/broker")

			files, err := scan(root)
			if err != nil {
				t.Fatal(err)
			}
			got := violations(files)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("legal, but: %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("violations %q, want one with %q", got, tc.want)
			}
		})
	}
}

// plant writes a Go file with one import.
func plant(t *testing.T, root, name, imported string) {
	t.Helper()
	write(t, root, name, fmt.Sprintf("package x\n\nimport _ %q\n", imported))
}

// write writes a file of a planted tree.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
