// Program judge judges a run of a client's own test suite against a broker.
//
// Such tests were written against Apache Kafka by people who know nothing of this
// repository, which is what makes them worth running. It reads the output of go test
// -json and holds it against two lists in the working directory: every test in
// tests.allow must have passed, and nothing may have been skipped that
// tests.excluded does not name with a reason. The script "run" of each suite
// (compat/franz-go, compat/confluent-kafka-go, compat/segmentio) starts it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	suite := flag.String("suite", "", "the name of the suite, for messages")
	all := flag.Bool("all", false, "the broker has every feature: what tests.excluded names must pass too")
	excluded := flag.Bool("excluded", false, "only what the control is said to fail ran, on the control: nothing of it may pass")
	flag.Parse()
	rules := judge
	if *excluded {
		rules = judgeExcluded
	}
	if err := run(os.Stdin, os.Stdout, *all, rules); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", *suite, err)
		os.Exit(1)
	}
}

func run(stream io.Reader, out io.Writer, all bool, judge rules) error {
	allow, err := readList("tests.allow")
	if err != nil {
		return err
	}
	excluded, err := readList("tests.excluded")
	if err != nil {
		return err
	}
	results, err := read(stream)
	if err != nil {
		return err
	}
	wrong := judge(results, allow, excluded, all)
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if !strings.Contains(name, "/") {
			fmt.Fprintf(out, "%-4s %7.2fs %s\n", results[name].action, results[name].seconds, name)
		}
	}
	for _, w := range wrong {
		fmt.Fprintln(out, "WRONG:", w)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of the suite's rules are broken", len(wrong))
	}
	return nil
}

// result is how one test or subtest ended.
type result struct {
	action  string // pass, fail or skip; run if it never ended.
	seconds float64
}

// read collects results from the output of go test -json.
func read(stream io.Reader) (map[string]result, error) {
	results := map[string]result{}
	in := bufio.NewScanner(stream)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var event struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if err := json.Unmarshal(in.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("not the output of go test -json: %w: %s", err, in.Bytes())
		}
		if event.Test == "" {
			continue
		}
		switch event.Action {
		case "run", "pass", "fail", "skip":
			results[event.Test] = result{event.Action, event.Elapsed}
		}
	}
	return results, in.Err()
}

// rules say what is wrong with results.
type rules func(results map[string]result, allow, excluded map[string]string, all bool) []string

// judgeExcluded wants each test that is excluded because the control does not pass it
// not to have passed: an exclusion that the control gives no reason for is wrong.
func judgeExcluded(results map[string]result, _, excluded map[string]string, _ bool) []string {
	var wrong []string
	for name, reason := range excluded {
		if reason != "control" {
			continue
		}
		if r, ok := results[name]; !ok {
			wrong = append(wrong, name+": did not run")
		} else if r.action == "pass" {
			wrong = append(wrong, name+": passes on the control, and is excluded")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// judge returns what is wrong with the results: an allowed test that did not pass,
// or a skip that is not excluded. With all, excluded tests have to pass as well.
func judge(results map[string]result, allow, excluded map[string]string, all bool) []string {
	var wrong []string
	for name, r := range results {
		_, listed := excluded[name]
		switch {
		case r.action == "fail" || r.action == "run":
			wrong = append(wrong, fmt.Sprintf("%s: %s", name, r.action))
		case r.action == "skip" && !listed:
			wrong = append(wrong, name+": skipped without a reason in tests.excluded")
		case r.action == "skip" && all && mustRun(name, excluded):
			wrong = append(wrong, name+": skipped by a broker that has every feature")
		}
	}
	for name := range allow {
		if r, ok := results[name]; !ok {
			wrong = append(wrong, name+": did not run")
		} else if r.action == "skip" {
			wrong = append(wrong, name+": skipped, and stands in tests.allow")
		}
	}
	if all {
		for name := range excluded {
			if _, ok := results[name]; !ok && mustRun(name, excluded) {
				wrong = append(wrong, name+": did not run")
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// mustRun says whether a broker with every feature has to run an excluded test. The
// suite learns what a broker can do only as its first tests begin, so a part of a
// test may be skipped for want of that knowledge.
func mustRun(name string, excluded map[string]string) bool {
	return !strings.Contains(name, "/") && !slices.Contains([]string{"sasl", "control"}, excluded[name])
}

// reasons are the only ones that may exclude a test: what it needs that this release has
// not; that the control does not pass it either (control, and race by the clock), or the
// suite itself leaves it out; or that it is run for itself, with Kafka's answer to who
// makes a topic.
var reasons = []string{
	"share-groups", "sasl", "acls", "scram", "quotas", "several-brokers",
	"control", "suite", "race", "answer",
}

// readList reads a list of tests, one a line: a name and, for an exclusion, its
// reason. Empty lines and lines that begin with # are skipped.
func readList(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) == 1:
			list[fields[0]] = ""
		case len(fields) == 2 && slices.Contains(reasons, fields[1]):
			list[fields[0]] = fields[1]
		default:
			return nil, fmt.Errorf("%s: %q: want a test, and for an exclusion one of %v", path, strings.TrimSpace(line), reasons)
		}
	}
	return list, nil
}
