package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// run is a correct history, small enough to break by hand: process 1 commits a1 and
// a2, aborts b1, and sends c1 and c2 without learning of their end, which was a
// commit. Process 2 reads and derives in one transaction each, process 3 only reads.
func run() *History {
	const in, out = Partition("in-0"), Partition("out-0")
	at := func(offset int64, value string) Record { return Record{Partition: in, Offset: offset, Value: value} }
	derived := func(offset int64, of string) Record {
		return Record{Partition: out, Offset: offset, Value: "d" + of, Of: of}
	}
	return &History{
		Ops: []Op{
			{Process: 1, Begin: 10, End: 20, Outcome: Committed, Sends: []Record{at(0, "a1"), at(1, "a2")}},
			{Process: 1, Begin: 20, End: 30, Outcome: Aborted, Sends: []Record{at(3, "b1")}},
			{Process: 1, Begin: 30, End: 40, Outcome: Unknown, Sends: []Record{at(5, "c1"), at(-1, "c2")}},
			{Process: 2, Begin: 22, End: 35, Outcome: Committed, Moved: true, Polls: []Record{at(0, "a1"), at(1, "a2")}, Sends: []Record{derived(0, "a1"), derived(1, "a2")}},
			{Process: 2, Begin: 41, End: 50, Outcome: Committed, Polls: []Record{at(5, "c1"), at(6, "c2")}, Sends: []Record{derived(3, "c1"), derived(4, "c2")}},
			{Process: 3, Begin: 24, End: 29, Outcome: Committed, Moved: true, Polls: []Record{at(0, "a1"), at(1, "a2")}},
			{Process: 3, Begin: 45, End: 48, Outcome: Committed, Polls: []Record{at(5, "c1"), at(6, "c2")}},
			{Process: 3, Begin: 60, End: 65, Outcome: Committed, Moved: true, Polls: []Record{at(1, "a2"), at(5, "c1")}},
		},
		Marks:     []Mark{{in, 0, 2}, {in, 3, 4}, {in, 8, 8}, {out, 6, 6}},
		Commits:   []Commit{{"g", in, -1}, {"g", in, 3}, {"g", in, 8}},
		Processed: []Processing{{"g", []Partition{in}, []Partition{out}}},
		Final: map[Partition][]Record{
			in:  {at(0, "a1"), at(1, "a2"), at(5, "c1"), at(6, "c2")},
			out: {derived(0, "a1"), derived(1, "a2"), derived(3, "c1"), derived(4, "c2")},
		},
	}
}

func TestCorrectHistory(t *testing.T) {
	for _, a := range Check(run()) {
		t.Error(a)
	}
}

// TestAnomalies breaks the correct history in one way each. What follows a comma tells
// two ways to the same anomaly apart.
func TestAnomalies(t *testing.T) {
	for name, corrupt := range map[string]func(*History){
		"inconsistent-offsets":   func(h *History) { h.Ops[5].Polls[0].Value = "a2" },
		"duplicate":              func(h *History) { h.Ops[5].Polls[0].Offset = 7 },
		"phantom":                func(h *History) { h.Ops[5].Polls[0].Value = "nobody's" },
		"G1a":                    func(h *History) { h.Ops[0].Outcome = Aborted },
		"precommitted-read":      func(h *History) { h.Ops[3].Polls = append(h.Ops[3].Polls, h.Ops[3].Sends[0]) },
		"lost-write":             func(h *History) { h.Final["in-0"] = slices.Delete(h.Final["in-0"], 1, 2) },
		"unseen":                 func(h *History) { h.Final["out-0"] = h.Final["out-0"][:3] },
		"unseen, though read":    func(h *History) { h.Final["in-0"] = h.Final["in-0"][:2] },
		"torn":                   func(h *History) { h.Final["in-0"] = h.Final["in-0"][:3] },
		"int-nonmonotonic-poll":  func(h *History) { slices.Reverse(h.Ops[6].Polls) },
		"nonmonotonic-poll":      func(h *History) { h.Ops[6].Polls = h.Ops[5].Polls },
		"int-poll-skip":          func(h *History) { h.Ops[7].Polls[0] = h.Ops[5].Polls[0] },
		"poll-skip":              func(h *History) { h.Ops[6].Polls = h.Ops[6].Polls[1:] },
		"int-nonmonotonic-send":  func(h *History) { slices.Reverse(h.Ops[0].Sends) },
		"nonmonotonic-send":      func(h *History) { h.Ops[2].Sends[0].Offset = 2 },
		"G1c":                    func(h *History) { h.Ops[0].Polls = []Record{h.Ops[3].Sends[0]} },
		"G1c-realtime":           func(h *History) { h.Ops[5].Begin, h.Ops[5].End = 1, 2 },
		"processed-twice":        func(h *History) { h.Ops[4].Sends[0].Of = "a1" },
		"unprocessed":            func(h *History) { h.Ops[4].Sends[0].Of = "a1" },
		"processed-nothing":      func(h *History) { h.Ops[4].Sends[0].Of = "b1" },
		"high-watermark-falls":   func(h *History) { h.Marks[0].High = 5 },
		"stable-offset-falls":    func(h *History) { h.Marks[0].Stable = 4 },
		"stable-above-high":      func(h *History) { h.Marks[1].Stable = 5 },
		"committed-offset-falls": func(h *History) { h.Commits[2].Offset = 2 },
		"committed-offset-falls, to none": func(h *History) {
			h.Commits = append(h.Commits, Commit{"g", "in-0", -1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := run()
			corrupt(h)
			found := Check(h)
			name, _, _ := strings.Cut(name, ",")
			if !slices.ContainsFunc(found, func(a Anomaly) bool { return a.Name == name }) {
				t.Errorf("not found, but %v", found)
			}
		})
	}
}

// TestCorrectBroker draws runs of a broker that does one thing at a time: nothing is
// wrong with any of them.
func TestCorrectBroker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &History{Final: make(map[Partition][]Record)}
		var clock time.Duration
		next := make(map[Partition]int64)
		positions := make(map[int]map[Partition]int)
		for n := range rapid.IntRange(0, 60).Draw(t, "operations") {
			clock += 2
			op := Op{Begin: clock, End: clock + 1}
			if rapid.Bool().Draw(t, "write") {
				op.Process = rapid.IntRange(0, 2).Draw(t, "writer")
				op.Outcome = rapid.SampledFrom([]Outcome{Unknown, Committed, Aborted}).Draw(t, "outcome")
				there := op.Outcome == Committed || op.Outcome == Unknown && rapid.Bool().Draw(t, "committed")
				for k := range rapid.IntRange(1, 4).Draw(t, "records") {
					p := Partition(fmt.Sprint("t-", rapid.IntRange(0, 1).Draw(t, "partition")))
					r := Record{Partition: p, Offset: next[p], Value: fmt.Sprintf("%d-%d", n, k)}
					next[p] += 2 // A marker, or another's record.
					if there {
						h.Final[p] = append(h.Final[p], r)
					}
					if op.Outcome == Unknown && rapid.Bool().Draw(t, "unanswered") {
						r.Offset = -1
					}
					op.Sends = append(op.Sends, r)
				}
			} else {
				op.Process, op.Outcome = 3+rapid.IntRange(0, 2).Draw(t, "reader"), Committed
				if positions[op.Process] == nil || rapid.IntRange(0, 9).Draw(t, "reset") == 0 {
					positions[op.Process], op.Moved = make(map[Partition]int), true
				}
				for _, p := range []Partition{"t-0", "t-1"} {
					records := h.Final[p]
					from := positions[op.Process][p]
					to := rapid.IntRange(from, len(records)).Draw(t, "to")
					op.Polls = append(op.Polls, records[from:to]...)
					positions[op.Process][p] = to
				}
			}
			h.Ops = append(h.Ops, op)
		}
		for _, a := range Check(h) {
			t.Error(a)
		}
	})
}
