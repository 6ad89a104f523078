package bench

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// spent is a result of a GiB in a million records that took so much CPU.
func spent(cpu time.Duration, rate float64) Result {
	return Result{
		Records: 1_000_000, Bytes: gib, Elapsed: time.Duration(1_000_000 / rate * float64(time.Second)),
		Broker: &Usage{CPU: cpu, AnonPeakBytes: 10 << 20, FilePeakBytes: 300 << 20},
	}
}

func TestVerdicts(t *testing.T) {
	plain := target{cpuToFloor: 1.5, rateToFloor: 0.65, below: []string{nameKfake, nameApache}}
	for name, tc := range map[string]struct {
		want  target
		cells map[string]cell
		met   []bool
	}{
		"exactly at both limits": {plain, map[string]cell{
			nameFloor: {Result: spent(time.Second, 1000)}, nameOurs: {Result: spent(1500*time.Millisecond, 650)},
		}, []bool{true, true}},
		"a little past both": {plain, map[string]cell{
			nameFloor: {Result: spent(time.Second, 1000)}, nameOurs: {Result: spent(1510*time.Millisecond, 640)},
		}, []bool{false, false}},
		"as dear as one peer, cheaper than the other": {plain, map[string]cell{
			nameFloor: {Result: spent(time.Second, 1000)}, nameOurs: {Result: spent(time.Second, 1000)},
			nameKfake: {Result: spent(time.Second, 1000)}, nameApache: {Result: spent(2*time.Second, 1000)},
		}, []bool{true, true, false, true}},
		"ours failed": {plain, map[string]cell{
			nameFloor: {Result: spent(time.Second, 1000)}, nameOurs: {err: errors.New("no")},
			nameApache: {Result: spent(2*time.Second, 1000)},
		}, []bool{false, false, false}},
		"the floor was below the clock's tick": {target{cpuToFloor: 1.5}, map[string]cell{
			nameFloor: {Result: spent(0, 1000)}, nameOurs: {Result: spent(0, 1000)},
		}, []bool{false}},
		"memory": {target{anonBytes: 64 << 20, fileBytes: 256 << 20}, map[string]cell{
			nameOurs: {Result: spent(0, 1000)},
		}, []bool{true, false}},
		"memory of a run that failed": {target{anonBytes: 64 << 20, fileBytes: 256 << 20}, map[string]cell{
			nameOurs: {Result: Result{Broker: &Usage{AnonPeakBytes: 1, FilePeakBytes: 1}}, err: errors.New("no")},
		}, []bool{false, false}},
		"memory that was not watched": {target{anonBytes: 64 << 20, fileBytes: 256 << 20}, map[string]cell{
			nameOurs: {Result: Result{}},
		}, []bool{false, false}},
		"as fast as another": {target{notSlower: []string{nameApache}}, map[string]cell{
			nameOurs: {Result: spent(0, 1000)}, nameApache: {Result: spent(0, 1000)},
		}, []bool{true}},
		"slower than another": {target{notSlower: []string{nameApache}}, map[string]cell{
			nameOurs: {Result: spent(0, 999)}, nameApache: {Result: spent(0, 1000)},
		}, []bool{false}},
		"the other is not there": {target{notSlower: []string{nameApache}}, map[string]cell{nameOurs: {Result: spent(0, 999)}}, nil},
		"nothing promised":       {target{}, map[string]cell{nameOurs: {Result: spent(0, 1)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := row{workload{name: name, by: cpuPerGiB, want: tc.want}, tc.cells}.verdicts()
			if len(got) != len(tc.met) {
				t.Fatalf("%d verdicts %+v, want %d", len(got), got, len(tc.met))
			}
			for i, v := range got {
				if v.ok != tc.met[i] {
					t.Errorf("%+v, want met = %v", v, tc.met[i])
				}
			}
		})
	}
}

func TestMedian(t *testing.T) {
	c := func(d time.Duration) cell { return cell{Result: spent(d, 1)} }
	failed := cell{err: errors.New("no")}
	for name, tc := range map[string]struct {
		cells []cell
		want  time.Duration
		fails bool
	}{
		"odd":                      {[]cell{c(3), c(1), c(2)}, 2, false},
		"even takes the lower":     {[]cell{c(4), c(1), c(2), c(3)}, 2, false},
		"one failure is the worst": {[]cell{c(1), failed, c(5)}, 5, false},
		"two of three are a fail":  {[]cell{failed, c(5), failed}, 0, true},
		"one of two, the lower":    {[]cell{failed, c(5)}, 5, false},
		"nothing but failures":     {[]cell{failed}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := median(tc.cells, cpuPerGiB)
			if tc.fails != (got.err != nil) || !tc.fails && got.Broker.CPU != tc.want {
				t.Errorf("%+v", got)
			}
			want := 0
			for _, c := range tc.cells {
				if c.err != nil {
					want++
				}
			}
			if got.failed != want || got.runs != len(tc.cells) {
				t.Errorf("%d of %d runs failed, want %d of %d", got.failed, got.runs, want, len(tc.cells))
			}
		})
	}
}

// TestReport writes both files twice: what people wrote below the mark stays,
// the picture is XML, and each row and verdict is there.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	f := findings{
		comparison: comparison{report: filepath.Join(dir, "r.md"), picture: filepath.Join(dir, "p.svg"), commit: "<abc>"},
		peers:      []string{nameFloor, nameOurs, nameApache},
		rows: []row{{workload{name: "produce <x>", by: cpuPerGiB, want: target{cpuToFloor: 1.5}}, map[string]cell{
			nameFloor: {Result: spent(time.Second, 1000)}, nameOurs: {Result: spent(1250*time.Millisecond, 900)},
			nameApache: {err: errors.New("two\nlines"), failed: 2, runs: 3},
		}}},
		restarted: []restartRow{{restart{name: "comeback", done: "all of it", count: 50, units: "things", want: restartTarget{done: 2 * time.Second}}, map[string]revival{
			nameOurs: {first: time.Second, done: 3 * time.Second}, nameApache: {err: errors.New("a|b")},
		}}},
		standing: map[string]*standing{nameFloor: {}, nameOurs: {start: 31 * time.Millisecond}, nameApache: {err: errors.New("no")}},
		machine:  thisMachine(),
	}
	if err := f.write(io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.report)
	if err != nil {
		t.Fatal(err)
	}
	const notes = "\nWhy the start is slow.\n"
	if err := os.WriteFile(f.report, append(text, notesMark+notes...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.write(io.Discard); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(f.report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| produce <x> | CPU ≤ 1.5 × floor | 1.25 × | met |",
		"| start to first answer | < 30ms | 31ms | **missed** |",
		"| produce <x> | moldau | 1.25 | 1.25 CPU s/GiB |",
		"| comeback | all of it < 2s from exec | 3s | **missed** |",
		"| comeback | moldau | 0s | 1s | all of it | 3s | 25 things |", "| comeback | Apache Kafka | failed: a\\|b |",
		"Apache Kafka (2 of 3 runs failed) | failed: two lines", "![", notesMark + notes,
	} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("the report does not say %q once:\n%s", want, text)
		}
	}
	picture, err := os.ReadFile(f.picture)
	if err != nil {
		t.Fatal(err)
	}
	bars := 0
	for d := xml.NewDecoder(strings.NewReader(string(picture))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) == "1.25" {
			bars++
		}
	}
	if bars != 1 {
		t.Errorf("%d bars of 1.25, want 1", bars)
	}
}

func TestAxis(t *testing.T) {
	a := axisFor([]float64{0.3, 5, 1})
	if a != (axis{0.25, 8}) {
		t.Errorf("axis %+v", a)
	}
	if a.x(0.25) != 0 || a.x(8) != plotWidth || a.x(1) != plotWidth*2/5.0 || a.x(0) != 0 {
		t.Errorf("places %v %v %v", a.x(0.25), a.x(8), a.x(1))
	}
}

// TestWorkloads holds the table to what the comparison relies on: names are
// unique, and what is left out is the name of a broker.
func TestWorkloads(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range workloads(1) {
		if seen[w.name] {
			t.Errorf("%s is there twice", w.name)
		}
		seen[w.name] = true
		for _, name := range slices.Concat(w.want.below, w.want.notSlower, w.except) {
			switch name {
			case nameHeader, nameKfake, nameApache:
			case nameFloor: // It takes no part in what it does not know.
				if !slices.Contains(w.except, name) {
					t.Errorf("%s is held to the floor as to a broker", w.name)
				}
			default:
				t.Errorf("%s speaks of %q", w.name, name)
			}
		}
	}
}

// TestCutShort: what was measured is told when the end comes early, and the files
// stay as they were.
func TestCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.md")
	f := findings{
		comparison: comparison{report: path},
		peers:      []string{nameFloor, nameOurs},
		rows: []row{{workload{name: "produce", by: cpuPerGiB}, map[string]cell{
			nameFloor: {Result: spent(time.Second, 1000)}, nameOurs: {Result: spent(1250*time.Millisecond, 900)},
		}}},
		restarted: []restartRow{{restart{name: "comeback", done: "all of it"}, map[string]revival{nameOurs: {first: time.Second, done: 3 * time.Second}}}},
		standing:  map[string]*standing{nameFloor: {}, nameOurs: {}},
		machine:   thisMachine(),
	}
	var out strings.Builder
	if err := f.cutShort(&out, context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"**Not complete**: it ended after 2 rows: context canceled", "| produce | moldau | 1.25 |", "| comeback | moldau | 0s | 1s |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not told:\n%s", want, out.String())
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a report was written: %v", err)
	}
}

// TestLongRowSaysWhatItReads: its name is true at every scale.
func TestLongRowSaysWhatItReads(t *testing.T) {
	for s, want := range map[scale]string{1: "consume 10.0 GiB of 10 KiB, once", 0.25: "consume 2.5 GiB of 10 KiB, once"} {
		all := workloads(s)
		if got := all[len(all)-1]; got.name != want || !got.once {
			t.Errorf("at scale %g: %q", float64(s), got.name)
		}
	}
}
