package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
	"github.com/moldau-broker/moldau/compat/scenario"
)

// made are scenarios that end in every way there is.
var made = []scenario.Scenario{
	{ID: "a.passes", Says: "It passes.", Run: func(*scenario.T) {}},
	{ID: "a.deviates", Says: "It deviates.", Run: func(t *scenario.T) { t.Deviates("on purpose") }},
	{ID: "a.slow", Says: "It is slow.", Slow: true, Run: func(*scenario.T) {}},
	{ID: "b.not-served", Says: "It is not served.", Run: func(t *scenario.T) { t.Each(kmsg.Metadata, 90, 99, func(int16) {}) }},
	{ID: "b.fails", Says: "It fails.", Since: "4.0", Run: func(t *scenario.T) {
		t.Cleanup(func() { t.Fatalf("a setting") })
		resp := scenario.Ask[*kmsg.MetadataResponse](t, 1, scenario.MetadataRequest())
		scenario.Equal(t, "topics", len(resp.Topics), 7)
	}},
	{ID: "b.panics", Says: "It panics.", Run: func(*scenario.T) { panic("oh") }},
	{ID: "b.waits", Says: "It waits for ever.", Limit: 20 * time.Millisecond, Run: func(t *scenario.T) { t.Until("the end of time", func() bool { return false }) }},
}

func play(t *testing.T, r Runner) *Report {
	t.Helper()
	mb := brokertest.Start(t, brokertest.MemoryNetwork())
	r.Bootstrap, r.Dial = mb.Addr(), mb.Dial
	report, err := r.Run(t.Context(), made)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		r    Runner
		want map[string]Outcome
	}{
		"as it is": {Runner{}, map[string]Outcome{
			"a.passes": Passed, "a.slow": Passed, "a.deviates": Deviates, "b.not-served": NotApplicable,
			"b.fails": Failed, "b.panics": Failed, "b.waits": Failed,
		}},
		"as an older release": {Runner{Release: "3.9"}, map[string]Outcome{
			"a.passes": Passed, "a.slow": Passed, "a.deviates": Deviates, "b.not-served": NotApplicable,
			"b.fails": NotApplicable, "b.panics": Failed, "b.waits": Failed,
		}},
		"as that release": {Runner{Release: "4.0.0"}, map[string]Outcome{
			"a.passes": Passed, "a.slow": Passed, "a.deviates": Deviates, "b.not-served": NotApplicable,
			"b.fails": Failed, "b.panics": Failed, "b.waits": Failed,
		}},
		"strict and quick": {Runner{Strict: true, Quick: true, Parallel: 1}, map[string]Outcome{
			"a.passes": Passed, "a.deviates": Failed, "b.not-served": NotApplicable,
			"b.fails": Failed, "b.panics": Failed, "b.waits": Failed,
		}},
		"to the first failure": {Runner{FailFast: true, Quick: true, Parallel: 1}, map[string]Outcome{
			"a.passes": Passed, "a.deviates": Deviates, "b.not-served": NotApplicable, "b.fails": Failed,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			report := play(t, tc.r)
			if len(report.Results) != len(tc.want) {
				t.Errorf("%d results, want %d", len(report.Results), len(tc.want))
			}
			for _, res := range report.Results {
				if res.Outcome != tc.want[res.ID] {
					t.Errorf("%s %s (%s), want %s", res.ID, res.Outcome, res.Why, tc.want[res.ID])
				}
			}
		})
	}
}

// TestFailuresAreReadable: what was wanted, what came, and the exchange.
func TestFailuresAreReadable(t *testing.T) {
	var table bytes.Buffer
	if err := play(t, Runner{}).WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"failed  b.fails\n    It fails. (since Kafka 4.0)\n    topics: got 0, want 7\n",
		"\n    > MetadataRequest v1 {Topics:[]}\n    < MetadataResponse v1 {Brokers:[",
		"the scenario itself panicked: oh",
		"the end of time did not come to pass",
		"Metadata 90 to 99 is not advertised",
		"want 7\n    not undone: a setting\n    >",
		"all       2         1       3    1   50.0",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
}

// TestSettingsAreTakenBack: also of a scenario whose limit is over, or whose
// connection is broken, and a refusal is told.
func TestSettingsAreTakenBack(t *testing.T) {
	const key = "log.retention.ms"
	change := func(t *scenario.T) {
		version := t.Newest(kmsg.IncrementalAlterConfigs, 1)
		t.UnsetAtEnd(version, kmsg.ConfigResourceTypeBroker, "", key)
		t.OK("set", t.Alter(version, kmsg.ConfigResourceTypeBroker, "", scenario.Set(key, "7654321")).ErrorCode)
	}
	for name, s := range map[string]scenario.Scenario{
		"past the limit": {Limit: 700 * time.Millisecond, Run: func(t *scenario.T) {
			change(t)
			t.Until("the end of time", func() bool { return false })
		}},
		"connection closed": {Run: func(t *scenario.T) {
			change(t)
			t.Conn().Close()
		}},
		"refused": {Run: func(t *scenario.T) {
			change(t)
			t.UnsetAtEnd(1, kmsg.ConfigResourceTypeBroker, "4711", key)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mb := brokertest.Start(t)
				var left string
				s.ID, s.Alone = "a.sets", true
				after := scenario.Scenario{ID: "b.reads", Alone: true, Run: func(t *scenario.T) { left = t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), key) }}
				report, err := Runner{Bootstrap: mb.Addr(), Dial: mb.Dial}.Run(t.Context(), []scenario.Scenario{s, after})
				if err != nil {
					t.Fatal(err)
				}
				if left != "" {
					t.Errorf("the next scenario reads %s=%s", key, left)
				}
				if told := strings.Join(report.Results[0].Left, "; "); (name == "refused") != strings.Contains(told, "4711") || name != "refused" && told != "" {
					t.Errorf("told as not undone: %q", told)
				}
			})
		})
	}
}

func TestFormats(t *testing.T) {
	report := play(t, Runner{})
	var b bytes.Buffer
	if err := report.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(b.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if len(again.Results) != len(report.Results) || len(again.APIs) != len(report.APIs) || !again.Failed() {
		t.Errorf("JSON has %d results of %d and %d APIs of %d", len(again.Results), len(report.Results), len(again.APIs), len(report.APIs))
	}
	b.Reset()
	if err := report.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var suite junitSuite
	if err := xml.Unmarshal(b.Bytes(), &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 7 || suite.Failures != 3 || suite.Skipped != 1 || len(suite.Cases) != 7 {
		t.Errorf("JUnit has %d tests, %d failures, %d skipped", suite.Tests, suite.Failures, suite.Skipped)
	}
}

func TestDifferences(t *testing.T) {
	here := &Report{Results: []Result{
		{ID: "both", Outcome: Passed},
		{ID: "worse", Outcome: Failed, Why: "x"},
		{ID: "other", Outcome: Failed, Why: "x"},
		{ID: "only-here", Outcome: Passed},
		{ID: "alike", Outcome: Failed, Why: "create compat-mx3mliou-32.t1: got NONE, want X"},
		{ID: "another-topic", Outcome: Failed, Why: "compat-mx3mliou-33.t1 and not t2"},
	}}
	there := &Report{Results: []Result{
		{ID: "both", Outcome: Passed},
		{ID: "worse", Outcome: Passed},
		{ID: "other", Outcome: Failed, Why: "y"},
		{ID: "alike", Outcome: Failed, Why: "create compat-zz9-104.t1: got NONE, want X"},
		{ID: "another-topic", Outcome: Failed, Why: "compat-zz9-8.t2 and not t2"},
	}}
	var ids []string
	for _, d := range here.Differences(there) {
		ids = append(ids, d.ID)
	}
	if strings.Join(ids, " ") != "worse other another-topic" {
		t.Errorf("differences: %v", ids)
	}
}

func TestNobodyThere(t *testing.T) {
	if _, err := (Runner{Bootstrap: "127.0.0.1:1"}).Run(context.Background(), made); err == nil {
		t.Error("a broker that is not there was played against")
	}
}
