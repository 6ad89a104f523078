package compat

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// hostile is what a broker might say to whoever reads the report.
const hostile = `</pre></script><script>alert(1)</script>" onload='x' <!-- & {{.}}`

// pageOf renders a report and reads it as a browser would at its strictest: every
// element that is opened is closed.
func pageOf(t *testing.T, r, against *Report) (text string, ids []string, elements map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b, against); err != nil {
		t.Fatal(err)
	}
	text = b.String()
	d := xml.NewDecoder(strings.NewReader(markup(t, text)))
	d.Entity = xml.HTMLEntity
	elements = map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text, ids, elements
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
			for _, a := range e.Attr {
				if a.Name.Local == "id" {
					ids = append(ids, a.Value)
				}
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" {
					t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// markup is a page in XML's spelling: what script and style hold is taken out, and
// attributes without a value get one.
func markup(t *testing.T, text string) string {
	t.Helper()
	for _, name := range []string{"script", "style"} {
		_, rest, ok := strings.Cut(text, "<"+name+">")
		body, _, closed := strings.Cut(rest, "</"+name+">")
		if !ok || !closed {
			t.Fatalf("there is no <%s>", name)
		}
		text = strings.Replace(text, body, "", 1)
	}
	text = regexp.MustCompile(`<(details|div)([^>]*) (open|hidden)>`).ReplaceAllString(text, `<$1$2 $3="">`)
	return strings.Replace(text, "<!DOCTYPE html>", "", 1)
}

func TestPage(t *testing.T) {
	r := play(t, Runner{})
	text, ids, elements := pageOf(t, r, nil)
	for _, s := range made {
		if !slices.Contains(ids, s.ID) {
			t.Errorf("%s is not on the page", s.ID)
		}
	}
	if elements["details"] != len(made) || elements["script"] != 1 {
		t.Errorf("%d scenarios and %d scripts", elements["details"], elements["script"])
	}
	for _, want := range []string{
		`>50 %</b>`, // Three of six that apply did not fail.
		`<dt>at</dt><dd>topics</dd><dt>expected</dt><dd class="want">7</dd><dt>got</dt><dd class="got">0</dd>`,
		`<pre class="request">MetadataRequest v1 {Topics:[]}</pre>`,
		"<dt>not undone</dt><dd>a setting</dd>",
		"Kafka does so since 4.0.",
		`<dt>reason</dt><dd>Metadata 90 to 99 is not advertised</dd>`,
		`<span class="sound" title="advertised, answered, and exactly as the version says">1</span>`,
		`<span class="unasked" title="advertised; no answer was read">`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if m := regexp.MustCompile(`(?i)(https?:|//[a-z]|url\(|@import|<link|<img)`).FindString(text); m != "" {
		t.Errorf("the page needs something from outside: %q", m)
	}
}

// TestPageOfTwo: both brokers have their column, and what differs is marked.
func TestPageOfTwo(t *testing.T) {
	here := &Report{Bootstrap: "one:9092", Results: []Result{{ID: "a.x", Area: "a", Outcome: Passed}, {ID: "b.y", Area: "b", Outcome: Failed, Why: "p: got 1, want 2"}}}
	there := &Report{Bootstrap: "two:9092", Results: []Result{{ID: "a.x", Area: "a", Outcome: Passed}, {ID: "b.y", Area: "b", Outcome: Passed}, {ID: "b.z", Area: "b", Outcome: Deviates}}}
	there.APIs = []API{{Key: 3, Name: "Metadata", Max: 1, Versions: []scenario.Version{{Version: 0, Answered: true}, {Version: 1, Answered: true, Unsound: true}}}}
	text, ids, elements := pageOf(t, here, there)
	for _, want := range []string{
		`<strong>1</strong> of 3 scenarios end differently`, `id="b.y" data-is="failed passed different" open`, `id="a.x" data-is="passed passed">`,
		`<h4>two:9092</h4>`, `class="unsound"`, `<th scope="col">one:9092</th><th scope="col">two:9092</th>`, `>50 %</b>`, `>100 %</b>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if elements["section"] != 4 || !slices.Contains(ids, "b.z") {
		t.Errorf("%d sections, ids %v", elements["section"], ids)
	}
}

// TestPageOfAHostileBroker: what a broker says is text, wherever it stands.
func TestPageOfAHostileBroker(t *testing.T) {
	r := &Report{
		Bootstrap: hostile, APIs: []API{{Name: hostile, Versions: []scenario.Version{{}}}},
		Results: []Result{{
			ID: "a.b" + hostile, Area: "a" + hostile, Says: hostile, Refs: []string{hostile}, Since: hostile, Outcome: Failed,
			Why: "x: got " + hostile + ", want " + hostile, Left: []string{hostile}, Wire: []Wire{{hostile, hostile}},
		}, {ID: "b", Area: "b", Outcome: Failed, Why: hostile}},
	}
	text, _, elements := pageOf(t, r, r)
	if elements["script"] != 1 || strings.Contains(text, "<script>alert") || strings.Contains(text, "<!-- &") {
		t.Errorf("%d scripts; a broker's text became part of the page", elements["script"])
	}
	if !strings.Contains(text, "&lt;/script&gt;&lt;script&gt;alert(1)") {
		t.Error("the text itself is not told")
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("y", 70)
	for in, want := range map[string]string{
		"XRequest v1 {A:1 B:[1 2]}":                            "XRequest v1 {A:1 B:[1 2]}",
		`XRequest v1 {A:"` + long + `" B:[1 2]}`:               "XRequest v1 {\n  A:\"" + long + "\"\n  B:[1 2]\n}",
		`R v1 {A:"a } \" b" B:[{C:<` + long + `> D:1} {C:2}]}`: "R v1 {\n  A:\"a } \\\" b\"\n  B:[\n    {\n      C:<" + long + ">\n      D:1\n    }\n    {C:2}\n  ]\n}",
		"cut {A:[" + long + "…":                                "cut {\n  A:[\n    " + long + "…",
		"}]":                                                   "\n}\n]",
		`"`:                                                    `"`,
	} {
		if got := lines(in); got != want {
			t.Errorf("%s became\n%s", in, got)
		}
	}
}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{100: "100 %", 99.99: "99.9 %", 50: "50 %", 0: "0 %", 33.34: "33.3 %"} {
		if got := percent(p); got != want {
			t.Errorf("%v is told as %s, want %s", p, got, want)
		}
	}
}
