// Package formattest reads the golden files of docs/format, so that each package that
// decodes one of them can hold the page to what it reads and writes.
package formattest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Field is a piece of a golden file and what its line says of it.
type Field struct {
	Bytes []byte
	Note  string // Its name and value; empty: the file says nothing.
}

// Golden is a golden file, in its order.
type Golden []Field

// Read reads docs/format/golden/name. Each line has hexadecimal digits and the note of the
// field that ends there, or is a comment behind a number sign.
func Read(t testing.TB, name string) (g Golden) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "format", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	var field []byte // Long ones take more than one line.
	for line := range strings.Lines(string(text)) {
		digits, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if digits == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		field = append(field, b...)
		if note = strings.TrimSpace(note); note != "" {
			g, field = append(g, Field{field, note}), nil
		}
	}
	if len(field) > 0 {
		g = append(g, Field{Bytes: field})
	}
	return g
}

// root is the module's directory; tests run in their package's.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in this directory or one above it")
		}
		dir = up
	}
}

// Bytes is the file's content.
func (g Golden) Bytes() (all []byte) {
	for _, f := range g {
		all = append(all, f.Bytes...)
	}
	return all
}

// Notes is what its lines say.
func (g Golden) Notes() (all Notes) {
	for _, f := range g {
		if f.Note != "" {
			all = append(all, f.Note)
		}
	}
	return all
}

// Notes collects what was decoded, in the words of a golden file.
type Notes []string

// Say adds a field.
func (n *Notes) Say(name string, value any) { *n = append(*n, fmt.Sprintf("%s %v", name, value)) }
