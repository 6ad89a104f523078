package main

import (
	"slices"
	"strings"
	"testing"
)

// TestJudge feeds the judge streams as go test -json writes them.
func TestJudge(t *testing.T) {
	allow := map[string]string{"TestA": ""}
	excluded := map[string]string{"TestShare": "share-groups", "TestA/share": "share-groups", "TestScram": "sasl"}
	for name, tc := range map[string]struct {
		stream string
		all    bool
		want   []string
	}{
		"everything allowed passed":   {"pass TestA", false, nil},
		"a failure":                   {"fail TestA", false, []string{"TestA: fail"}},
		"a test that never ended":     {"run TestA", false, []string{"TestA: run"}},
		"a test that did not run":     {"", false, []string{"TestA: did not run"}},
		"a skip of an allowed test":   {"skip TestA", false, []string{"TestA: skipped without a reason in tests.excluded", "TestA: skipped, and stands in tests.allow"}},
		"an excluded part is skipped": {"pass TestA,skip TestA/share", false, nil},
		"another part is skipped":     {"pass TestA,skip TestA/x", false, []string{"TestA/x: skipped without a reason in tests.excluded"}},
		"all features, all passed":    {"pass TestA,pass TestShare,skip TestScram", true, nil},
		"all features, one missing":   {"pass TestA", true, []string{"TestShare: did not run"}},
		"all features, one skipped":   {"pass TestA,skip TestShare", true, []string{"TestShare: skipped by a broker that has every feature"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stream strings.Builder
			for event := range strings.SplitSeq(tc.stream, ",") {
				if action, test, ok := strings.Cut(event, " "); ok {
					stream.WriteString(`{"Action":"run","Test":"` + test + "\"}\n")
					stream.WriteString(`{"Action":"` + action + `","Test":"` + test + `","Elapsed":1}` + "\n")
				}
			}
			results, err := read(strings.NewReader(stream.String()))
			if err != nil {
				t.Fatal(err)
			}
			if got := judge(results, allow, excluded, tc.all); !slices.Equal(got, tc.want) {
				t.Errorf("wrong %q, want %q", got, tc.want)
			}
		})
	}
}

// TestJudgeExcluded: what the control is said to fail must have run there, and failed
// or been skipped.
func TestJudgeExcluded(t *testing.T) {
	excluded := map[string]string{"TestA": "control", "TestB/part": "control", "TestC": "sasl"}
	for name, tc := range map[string]struct {
		results map[string]result
		want    []string
	}{
		"none passes":     {map[string]result{"TestA": {action: "fail"}, "TestB/part": {action: "run"}}, nil},
		"one passes":      {map[string]result{"TestA": {action: "skip"}, "TestB/part": {action: "pass"}}, []string{"TestB/part: passes on the control, and is excluded"}},
		"one did not run": {map[string]result{"TestB/part": {action: "fail"}}, []string{"TestA: did not run"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judgeExcluded(tc.results, nil, excluded, false); !slices.Equal(got, tc.want) {
				t.Errorf("wrong %q, want %q", got, tc.want)
			}
		})
	}
}
