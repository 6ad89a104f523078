package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// site is one place in a file that can be changed into a fault.
type site struct {
	path       string // From the root of the tree.
	line       int
	start, end int    // Of the text that is replaced, in bytes.
	old, text  string // What is there, and what comes instead.
	kind       string
}

func (s site) String() string {
	return fmt.Sprintf("%s:%d %s: %s -> %s", s.path, s.line, s.kind, short(s.old), short(s.text))
}

// short is a text on one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "(nothing)"
	}
	if len(text) > 60 {
		text = text[:57] + "..."
	}
	return text
}

// folderSites returns the sites of all files of a folder and those beneath it that
// are built on this system and are no tests.
func folderSites(root, folder string) ([]site, error) {
	var sites []site
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && name == "testdata" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasSuffix(name, "_windows.go") || strings.HasSuffix(name, "_darwin.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found, err := fileSites(relative, source)
		sites = append(sites, found...)
		return err
	})
	return sites, err
}

// opposite has for each comparison the one that differs least, but is wrong.
var opposite = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// fileSites returns the sites of one file.
func fileSites(path string, source []byte) ([]site, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var sites []site
	add := func(kind string, from, to token.Pos, text string) {
		start, end := fset.Position(from), fset.Position(to)
		sites = append(sites, site{path, start.Line, start.Offset, end.Offset, string(source[start.Offset:end.Offset]), text, kind})
	}
	codes := errorCodes(file)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if op, ok := opposite[n.Op]; ok && !isNil(n.Y) {
				add("comparison", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op.String())
			}
			if one, ok := n.Y.(*ast.BasicLit); ok && one.Value == "1" && (n.Op == token.ADD || n.Op == token.SUB) {
				add("off by one", n.X.End(), n.Y.End(), "")
			}
		case *ast.BlockStmt:
			for _, s := range n.List {
				dropped(s, add)
			}
		case *ast.CaseClause:
			for _, s := range n.Body {
				dropped(s, add)
			}
		case *ast.SelectorExpr:
			if name := n.Sel.Name; isCode(n) && len(codes) > 1 {
				other := codes[(slices.Index(codes, name)+1)%len(codes)]
				add("code", n.Sel.Pos(), n.Sel.End(), other)
			}
		}
		return true
	})
	return sites, nil
}

// dropped adds the sites of statements that can be left out: an assignment to a
// field, and a call whose results nobody looks at.
func dropped(s ast.Stmt, add func(kind string, from, to token.Pos, text string)) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.ASSIGN || len(s.Lhs) != 1 {
			return
		}
		if _, ok := s.Lhs[0].(*ast.SelectorExpr); ok {
			add("dropped field", s.Lhs[0].Pos(), s.Lhs[0].End(), "_")
		}
	case *ast.ExprStmt:
		if _, ok := s.X.(*ast.CallExpr); ok {
			add("dropped call", s.Pos(), s.End(), "")
		}
	}
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}

// isCode reports whether an expression names an error of Kafka's: kerr.X.
func isCode(n *ast.SelectorExpr) bool {
	id, ok := n.X.(*ast.Ident)
	return ok && id.Name == "kerr" && n.Sel.Name != "ErrorForCode" && n.Sel.Name != "Error" && n.Sel.Name != "TypedErrorForCode"
}

// errorCodes returns the errors of Kafka's that a file names, in their first order.
func errorCodes(file *ast.File) []string {
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isCode(sel) && !slices.Contains(codes, sel.Sel.Name) {
			codes = append(codes, sel.Sel.Name)
		}
		return true
	})
	return codes
}
