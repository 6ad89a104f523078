package moldau

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sleeps returns where a test file calls time.Sleep although it has no synctest
// bubble, in which alone a sleep is exact and free. A file without tests of its own
// helps others: there it is enough that its package has bubbles.
func sleeps(name string, source any, bubbles bool) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == strconv.Quote(synctest) }) {
		return nil, nil
	}
	tests := slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && strings.HasPrefix(f.Name.Name, "Test")
	})
	if bubbles && !tests {
		return nil, nil
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				found = append(found, fset.Position(sel.Pos()).String())
			}
		}
		return true
	})
	return found, nil
}

const synctest = "testing/synctest"

// TestNoSleepOutsideBubble holds every test file of the tree to it.
func TestNoSleepOutsideBubble(t *testing.T) {
	files, err := scan(".")
	if err != nil {
		t.Fatal(err)
	}
	bubbles := map[string]bool{}
	for _, f := range files {
		bubbles[path.Dir(f.path)] = bubbles[path.Dir(f.path)] || slices.Contains(f.imports, synctest)
	}
	for _, f := range files {
		if !f.isTest() {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(f.path))
		if err != nil {
			t.Fatal(err)
		}
		found, err := sleeps(f.path, text, bubbles[path.Dir(f.path)])
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range found {
			t.Errorf("%s: time.Sleep outside a synctest bubble: wait for the thing itself", at)
		}
	}
}

// TestSleepsSeesPlantedSleep plants one.
func TestSleepsSeesPlantedSleep(t *testing.T) {
	const call = "func TestF() { time.Sleep(1) }"
	for name, tc := range map[string]struct {
		imports string
		body    string
		bubbles bool // In other files of the package.
		want    int
	}{
		"a sleep":                {`"time"`, call, false, 1},
		"in a bubble":            {`"time"; "testing/synctest"`, call, false, 0},
		"another's Sleep":        {`"x"`, strings.ReplaceAll(call, "time.", "x."), false, 0},
		"mentioned, not so":      {`"time"`, "// time.Sleep(1)\nvar _ = time.Now", false, 0},
		"passed on":              {`"time"`, "var nap = time.Sleep", false, 1},
		"a test among bubbles":   {`"time"`, call, true, 1},
		"a helper among bubbles": {`"time"`, "func f() { time.Sleep(1) }", true, 0},
		"a helper of none":       {`"time"`, "func f() { time.Sleep(1) }", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sleeps("x_test.go", "package x\nimport ("+tc.imports+")\n"+tc.body, tc.bubbles)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tc.want {
				t.Errorf("sleeps at %q, want %d", got, tc.want)
			}
		})
	}
}
