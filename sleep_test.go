package moldau

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sleeps returns where a test file calls time.Sleep although it has no synctest
// bubble, in which alone a sleep is exact and free.
func sleeps(name string, source any) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err != nil || imported == "testing/synctest" {
			return nil, err
		}
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

// TestNoSleepOutsideBubble holds every test file of the tree to it.
func TestNoSleepOutsideBubble(t *testing.T) {
	files, err := scan(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.isTest() {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(f.path))
		if err != nil {
			t.Fatal(err)
		}
		found, err := sleeps(f.path, text)
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
	const call = "func f() { time.Sleep(1) }"
	for name, tc := range map[string]struct {
		imports string
		body    string
		want    int
	}{
		"a sleep":           {`"time"`, call, 1},
		"in a bubble":       {`"time"; "testing/synctest"`, call, 0},
		"another's Sleep":   {`"x"`, strings.ReplaceAll(call, "time.", "x."), 0},
		"mentioned, not so": {`"time"`, "// time.Sleep(1)\nvar _ = time.Now", 0},
		"passed on":         {`"time"`, "var nap = time.Sleep", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sleeps("x_test.go", "package x\nimport ("+tc.imports+")\n"+tc.body)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tc.want {
				t.Errorf("sleeps at %q, want %d", got, tc.want)
			}
		})
	}
}
