package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var writePage = flag.Bool("write-page", false, "write docs/compat.md anew")

// advertised is one API as a broker advertises it.
type advertised struct {
	key      int16
	name     string
	min, max int16
}

// kafkasAPIs are what Apache Kafka 4.2.2 advertises, as it was read from one.
func kafkasAPIs(t *testing.T) []advertised {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "kafka-4.2-apis.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []advertised
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var a advertised
		if _, err := fmt.Sscan(line, &a.key, &a.name, &a.min, &a.max); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, a)
	}
	if len(all) < 60 {
		t.Fatalf("Kafka 4.2 advertises only %d APIs?", len(all))
	}
	return all
}

// suiteReport is what docs/compat.md tells of a report of moldau-compat.
type suiteReport struct {
	Name string `json:"name"`
	APIs []struct {
		Key      int16 `json:"key"`
		Versions []struct {
			Answered bool `json:"answered"`
			Unsound  bool `json:"unsound"`
		} `json:"versions"`
	} `json:"apis"`
	Results []suiteResult `json:"results"`
}

type suiteResult struct {
	ID      string `json:"id"`
	Area    string `json:"area"`
	Says    string `json:"says"`
	Outcome string `json:"outcome"`
	Why     string `json:"why"`
}

// suiteReports are the committed ones: of this broker, of Apache Kafka, of kfake.
func suiteReports(t *testing.T) []suiteReport {
	t.Helper()
	var all []suiteReport
	for _, broker := range []string{"moldau", "apache", "kfake"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reports", "0005-suite-"+broker+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var r suiteReport
		if err := json.Unmarshal(text, &r); err != nil || r.Name == "" || len(r.Results) == 0 {
			t.Fatalf("the report of %s has the name %q and %d results: %v", broker, r.Name, len(r.Results), err)
		}
		all = append(all, r)
	}
	return all
}

// share counts the results of an area (all: the empty one), as percent and as passed of
// those that apply.
func (r suiteReport) share(area string) string {
	good, apply := 0, 0
	for _, res := range r.Results {
		if area != "" && res.Area != area || res.Outcome == "not-applicable" {
			continue
		}
		apply++
		if res.Outcome != "failed" {
			good++
		}
	}
	if apply == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %% (%d of %d)", 100*good/apply, good, apply) // Rounded down: one failure is not 100 %.
}

// of are the results that ended in a way.
func (r suiteReport) of(outcome string) []suiteResult {
	return slices.DeleteFunc(slices.Clone(r.Results), func(res suiteResult) bool { return res.Outcome != outcome })
}

// played says how many versions of an API the suite has had answers of.
func (r suiteReport) played(key int16) string {
	answered, all := 0, 0
	for _, a := range r.APIs {
		for _, v := range a.Versions {
			if a.Key != key {
				continue
			}
			all++
			if v.Unsound {
				return "**unsound**"
			}
			if v.Answered {
				answered++
			}
		}
	}
	if answered == all {
		return "all"
	}
	return fmt.Sprintf("%d of %d", answered, all)
}

// behaviour is the part of the page that is made from the reports.
func behaviour(reports []suiteReport) string {
	var b strings.Builder
	row := func(first string, cell func(suiteReport) string) {
		fmt.Fprintf(&b, "| %s |", first)
		for _, r := range reports {
			fmt.Fprintf(&b, " %s |", cell(r))
		}
		b.WriteByte('\n')
	}
	row("area", func(r suiteReport) string { return r.Name })
	row("---", func(suiteReport) string { return "--:" })
	areas := make([]string, len(reports[0].Results))
	for i, res := range reports[0].Results {
		areas[i] = res.Area
	}
	slices.Sort(areas)
	for _, area := range slices.Compact(areas) {
		row(area, func(r suiteReport) string { return r.share(area) })
	}
	row("**all**", func(r suiteReport) string { return r.share("") })

	ours := reports[0]
	for _, l := range []struct{ outcome, head string }{
		{"failed", "These fail here:"},
		{"deviates", "These end otherwise than in Kafka, as [deviations.md](deviations.md) says; they count as passed:"},
		{"not-applicable", "These do not apply, because what they ask for is left out:"},
	} {
		if list := ours.of(l.outcome); len(list) > 0 {
			fmt.Fprintf(&b, "\n%s\n\n", l.head)
			for _, res := range list {
				why, _, _ := strings.Cut(res.Why, "\n")
				fmt.Fprintf(&b, "- `%s`: %s\n", res.ID, why)
			}
		}
	}
	return b.String()
}

// compatPage is docs/compat.md: the route table beside what Kafka advertises, and how
// the suite ended.
func compatPage(kafka []advertised, reports []suiteReport) []byte {
	var served, left bytes.Buffer
	serves := 0
	for _, k := range kafka {
		r, ok := routes[k.key]
		if !ok {
			fmt.Fprintf(&left, "| %d | %s | %d to %d | %s |\n", k.key, k.name, k.min, k.max, subject(k.name))
			continue
		}
		serves++
		fmt.Fprintf(&served, "| %d | %s | %d to %d | %d to %d | %s | %s |\n",
			k.key, k.name, k.min, k.max, r.advertisedMin, r.max, reports[0].played(k.key), remark(k, r))
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, `# What is served, and how Kafka-like

Made from the route table (`+"`broker/internal/api/table.go`"+`), from what Apache
Kafka 4.2.2 advertises on a client listener, and from the suite's reports of %s, %s
and %s ([reports](reports/0005-suite.md)). A test fails when it is stale; `+"`make suite-reports`"+`
plays the suite on the three and writes all of it anew. After a change of the route
table alone

    go test ./broker/internal/api -run TestCompatPage -write-page

## Behaviour: the scenarios of the compatibility suite

Each is one sentence about what Kafka does, and passes on Apache Kafka without allowance.

%s
## Served: %d of Kafka's %d APIs

Versions are those that are advertised. *Played* says of how many of them the suite has
read an answer here, which was exactly as the version says.

| key | API | Kafka 4.2 | Moldau | played | remark |
|--:|---|---|---|---|---|
%s
## Left out

| key | API | Kafka 4.2 | belongs to |
|--:|---|---|---|
%s`, reports[0].Name, reports[1].Name, reports[2].Name, behaviour(reports), serves, len(kafka), served.Bytes(), left.Bytes())
	return page.Bytes()
}

func remark(k advertised, r route) string {
	var all []string
	if r.advertisedMin < r.min {
		all = append(all, fmt.Sprintf("below %d closes the connection, as in Kafka", r.min))
	}
	if r.advertisedMin < k.min {
		all = append(all, "older clients than Kafka's")
	}
	if r.max < k.max {
		all = append(all, "newest versions are missing")
	}
	return strings.Join(all, "; ")
}

// subjects say what an API belongs to, by a piece of its name; the first that
// fits counts.
var subjects = []struct{ piece, subject string }{
	{"ShareGroup", "share groups (KIP-932)"},
	{"Share", "share groups (KIP-932)"},
	{"StreamsGroup", "streams groups (KIP-1071)"},
	{"ConsumerGroup", "consumer groups (KIP-848)"},
	{"Txn", "transactions"},
	{"Transaction", "transactions"},
	{"SASL", "authentication"},
	{"Sasl", "authentication"},
	{"DelegationToken", "delegation tokens"},
	{"ACL", "authorization"},
	{"SCRAM", "authentication"},
	{"Scram", "authentication"},
	{"Quota", "quotas"},
	{"ReplicaLogDirs", "several log directories"},
	{"RaftVoter", "quorums that change"},
	{"UnregisterBroker", "clusters of several brokers"},
	{"Telemetry", "client metrics (KIP-714)"},
}

func subject(name string) string {
	for _, s := range subjects {
		if strings.Contains(name, s.piece) {
			return s.subject
		}
	}
	return ""
}

// TestCompatPage holds docs/compat.md to the route table and the reports.
func TestCompatPage(t *testing.T) {
	kafka := kafkasAPIs(t)
	name := filepath.Join("..", "..", "..", "docs", "compat.md")
	want := compatPage(kafka, suiteReports(t))
	if *writePage {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/compat.md is stale: go test ./broker/internal/api -run TestCompatPage -write-page")
	}
	for _, k := range kafka {
		if _, ok := routes[k.key]; !ok && subject(k.name) == "" {
			t.Errorf("%s is left out, and compatpage_test.go does not say what it belongs to", k.name)
		}
		if kmsg.NameForKey(k.key) != k.name {
			t.Errorf("key %d is %s here, %s in kmsg", k.key, k.name, kmsg.NameForKey(k.key))
		}
	}
}

// TestMaximaAreKafkas: an API that is served is served up to Kafka's newest version.
func TestMaximaAreKafkas(t *testing.T) {
	for _, k := range kafkasAPIs(t) {
		if r, ok := routes[k.key]; ok && (r.max != k.max || r.advertisedMin > k.min) {
			t.Errorf("%s advertises %d to %d, Kafka 4.2.2 %d to %d", k.name, r.advertisedMin, r.max, k.min, k.max)
		}
	}
}
