package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package x

func f(a, b int, r *response) {
	if a < b && r != nil {
		r.Count = a + 1
		notify()
	}
	switch {
	case a == b:
		r.Code = kerr.NotCoordinator.Code
	default:
		r.Code = kerr.InvalidRequest.Code
	}
}
`

// TestSites: every kind of fault is found where it can be, and nothing else is.
func TestSites(t *testing.T) {
	sites, err := fileSites("x.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sites {
		got = append(got, s.String())
		changed := source[:s.start] + s.text + source[s.end:]
		if !strings.HasPrefix(source[s.start:], s.old) || changed == source {
			t.Errorf("%s: changes nothing", s)
		}
	}
	slices.Sort(got)
	want := []string{
		"x.go:10 code: NotCoordinator -> InvalidRequest",
		"x.go:10 dropped field: r.Code -> _",
		"x.go:12 code: InvalidRequest -> NotCoordinator",
		"x.go:12 dropped field: r.Code -> _",
		"x.go:4 comparison: && -> ||",
		"x.go:4 comparison: < -> <=",
		"x.go:5 dropped field: r.Count -> _",
		"x.go:5 off by one: + 1 -> (nothing)",
		"x.go:6 dropped call: notify() -> (nothing)",
		"x.go:9 comparison: == -> !=",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCommands: each -- begins another command, and none is empty.
func TestCommands(t *testing.T) {
	for text, want := range map[string][][]string{
		"a b":         {{"a", "b"}},
		"a -- b -- c": {{"a"}, {"b"}, {"c"}},
		"":            nil,
		"a --":        nil,
		"-- a":        nil,
	} {
		got, err := split(strings.Fields(text))
		if (err != nil) != (want == nil) {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
