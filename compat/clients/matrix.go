package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

// Report is what was seen.
type Report struct {
	Brokers []Broker `json:"brokers"`
	Clients []Column `json:"clients"`
	Corrupt bool     `json:"corrupt,omitempty"`
}

// Broker is a broker that all clients ran against.
type Broker struct {
	Name    string  `json:"name"`
	Version string  `json:"version,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Column is a client's part of the report.
type Column struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Kind    string            `json:"kind"`
	NotHad  string            `json:"not_had,omitempty"` // Why it could not be installed.
	Results [][]script.Result `json:"results,omitempty"` // For each broker.
}

// outcome is what a cell says of one broker.
func outcome(results []script.Result, name string) string {
	i := slices.IndexFunc(results, func(r script.Result) bool { return r.Script == name })
	switch {
	case i < 0:
		return "did not run"
	case results[i].OK:
		return "ok"
	case results[i].NotApplicable != "":
		return "–"
	}
	return "**failed**"
}

// cell is a script's outcome with each broker, as one word where they agree.
func (c Column) cell(name string) string {
	if c.NotHad != "" {
		return "not had"
	}
	var words []string
	for _, results := range c.Results {
		words = append(words, outcome(results, name))
	}
	if all := slices.Compact(slices.Clone(words)); len(all) == 1 && all[0] == "–" {
		return "–"
	}
	return strings.Join(words, " / ")
}

// scripts are the names of the scripts that clients of a kind ran, in order.
func (r Report) scripts(kind string) []string {
	var names []string
	for _, c := range r.Clients {
		for _, results := range c.Results {
			for _, result := range results {
				if c.Kind == kind && !slices.Contains(names, result.Script) {
					names = append(names, result.Script)
				}
			}
		}
	}
	return names
}

// Red counts the scripts that fail with the first broker and not with the last. With
// one broker, all that fail.
func (r Report) Red() int {
	red := 0
	for _, c := range r.Clients {
		if len(c.Results) == 0 {
			continue
		}
		for _, name := range r.scripts(c.Kind) {
			first, last := outcome(c.Results[0], name), outcome(c.Results[len(c.Results)-1], name)
			bad := first != "ok" && first != "–" && !(first == "did not run" && last == "did not run")
			if bad && (len(c.Results) == 1 || first != last) {
				red++
			}
		}
	}
	return red
}

// Markdown is the report as a page.
func (r Report) Markdown() string {
	var b strings.Builder
	var names []string
	for _, broker := range r.Brokers {
		names = append(names, strings.TrimSpace(broker.Name+" "+broker.Version))
	}
	fmt.Fprintf(&b, "# The clients' matrix\n\nMade by `make clients`; `compat/clients/README.md` tells what each script asserts. Each cell is the outcome\nwith %s.\nA dash: the client has not what the script is about.\n", strings.Join(names, " / "))
	if r.Corrupt {
		b.WriteString("\n**A corrupt run: every script compared with wrong values, so none may pass.**\n")
	}
	for _, kind := range []string{general, kafkaStreams, kafkaConnect} {
		r.table(&b, kind)
	}
	r.notes(&b)
	b.WriteString("\n## Time\n\n")
	for _, broker := range r.Brokers {
		fmt.Fprintf(&b, "- %s: %.0f s for all clients, one after the other\n", broker.Name, broker.Seconds)
	}
	return b.String()
}

func (r Report) table(b *strings.Builder, kind string) {
	names := r.scripts(kind)
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| client | version | %s |\n|---|---|%s\n", strings.ToUpper(kind[:1])+kind[1:], strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, c := range r.Clients {
		if c.Kind != kind {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |", c.Name, c.Version)
		for _, name := range names {
			fmt.Fprintf(b, " %s |", c.cell(name))
		}
		b.WriteString("\n")
	}
}

// notes tells what failed, what was left out, and what could not be had.
func (r Report) notes(b *strings.Builder) {
	var failed, left, missing []string
	for _, c := range r.Clients {
		if c.NotHad != "" {
			missing = append(missing, fmt.Sprintf("- %s: %s", c.Name, oneLine(c.NotHad)))
		}
		for i, results := range c.Results {
			for _, result := range results {
				if result.Error != "" {
					failed = append(failed, fmt.Sprintf("- %s, %s, with %s: %s", c.Name, result.Script, r.Brokers[i].Name, oneLine(result.Error)))
				}
				if i > 0 {
					continue // What a client has not it has with no broker.
				}
				if result.NotApplicable != "" {
					left = append(left, fmt.Sprintf("- %s, %s: %s", c.Name, result.Script, oneLine(result.NotApplicable)))
				}
				if len(result.Without) > 0 {
					left = append(left, fmt.Sprintf("- %s, %s, without: %s", c.Name, result.Script, strings.Join(result.Without, ", ")))
				}
			}
		}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Failed", failed}, {"Not had", missing}, {"What clients have not", left}} {
		if len(part.lines) > 0 {
			fmt.Fprintf(b, "\n## %s\n\n%s\n", part.title, strings.Join(part.lines, "\n"))
		}
	}
}

// oneLine makes a text fit a list.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if short := []rune(text); len(short) > 400 {
		text = string(short[:400]) + "..."
	}
	return text
}
