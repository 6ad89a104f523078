package main

import (
	"strings"
	"testing"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

func column(kind string, results ...[]script.Result) Column {
	return Column{Name: "c", Version: "1", Kind: kind, Results: results}
}

// TestRed counts what is wrong with the first broker alone.
func TestRed(t *testing.T) {
	ok := []script.Result{{Script: "s", OK: true}}
	failed := []script.Result{{Script: "s", Error: "e"}}
	left := []script.Result{{Script: "s", NotApplicable: "n"}}
	for name, tc := range map[string]struct {
		results [][]script.Result
		want    int
	}{
		"both pass":                      {[][]script.Result{ok, ok}, 0},
		"the first fails":                {[][]script.Result{failed, ok}, 1},
		"the last fails":                 {[][]script.Result{ok, failed}, 0},
		"both fail":                      {[][]script.Result{failed, failed}, 0},
		"neither applies":                {[][]script.Result{left, left}, 0},
		"the first did not run":          {[][]script.Result{nil, ok}, 1},
		"one broker, which fails":        {[][]script.Result{failed}, 1},
		"one broker, which passes":       {[][]script.Result{ok}, 0},
		"the first fails, other left it": {[][]script.Result{failed, left}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := Report{Brokers: make([]Broker, len(tc.results)), Clients: []Column{column(general, tc.results...)}}
			if got := r.Red(); got != tc.want {
				t.Errorf("%d are red, want %d", got, tc.want)
			}
		})
	}
}

// TestMarkdown holds the page to all that is in the report.
func TestMarkdown(t *testing.T) {
	r := Report{
		Brokers: []Broker{{"A", "1", 2}, {"B", "2", 3}},
		Clients: []Column{
			column(general,
				[]script.Result{{Script: "s", OK: true, Without: []string{"zstd"}}, {Script: "t", Error: "why\nso"}},
				[]script.Result{{Script: "s", OK: true}, {Script: "t", OK: true}}),
			{Name: "d", Version: "2", Kind: general, NotHad: "no reason"},
		},
	}
	page := r.Markdown()
	for _, want := range []string{
		"with A 1 / B 2", "| client | version | s | t |", "| c | 1 | ok / ok | **failed** / ok |",
		"| d | 2 | not had | not had |", "- c, t, with A: why so", "- d: no reason", "- c, s, without: zstd", "- B: 3 s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestRead takes lines of results and nothing else.
func TestRead(t *testing.T) {
	got, err := read(strings.NewReader(`{"script":"s","ok":true,"seconds":1}` + "\n\n" + `{"script":"t","error":"e"}`))
	if err != nil || len(got) != 2 || !got[0].OK || got[1].Error != "e" {
		t.Errorf("read %v, %v", got, err)
	}
	for _, line := range []string{"panic: x", "{}"} {
		if _, err := read(strings.NewReader(line)); err == nil {
			t.Errorf("%q was taken for a result", line)
		}
	}
}
