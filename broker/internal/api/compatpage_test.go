package api

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// compatPage is docs/compat.md: the route table beside what Kafka advertises.
func compatPage(kafka []advertised) []byte {
	var served, left bytes.Buffer
	serves := 0
	for _, k := range kafka {
		r, ok := routes[k.key]
		if !ok {
			fmt.Fprintf(&left, "| %d | %s | %d to %d | %s |\n", k.key, k.name, k.min, k.max, subject(k.name))
			continue
		}
		serves++
		fmt.Fprintf(&served, "| %d | %s | %d to %d | %d to %d | %s |\n", k.key, k.name, k.min, k.max, r.advertisedMin, r.max, remark(k, r))
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, `# What is served

Made from the route table (`+"`broker/internal/api/table.go`"+`) and from what Apache
Kafka 4.2.2 advertises on a client listener; a test fails when it is stale. Write
it anew with

    go test ./broker/internal/api -run TestCompatPage -write-page

How the APIs behave is judged by the scenarios of `+"`compat`"+`, which Kafka passes
too; deliberate differences are in [deviations.md](deviations.md).

## Served: %d of Kafka's %d APIs

Versions are those that are advertised.

| key | API | Kafka 4.2 | Moldau | remark |
|--:|---|---|---|---|
%s
## Left out

| key | API | Kafka 4.2 | belongs to |
|--:|---|---|---|
%s`, serves, len(kafka), served.Bytes(), left.Bytes())
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

// TestCompatPage holds docs/compat.md to the route table.
func TestCompatPage(t *testing.T) {
	kafka := kafkasAPIs(t)
	name := filepath.Join("..", "..", "..", "docs", "compat.md")
	want := compatPage(kafka)
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
