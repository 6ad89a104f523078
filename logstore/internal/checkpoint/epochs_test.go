package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

func TestEpochsGolden(t *testing.T) {
	want := Epochs{{0, 0}, {3, 17}, {9, 1 << 40}}
	const golden = "0\n3\n0 0\n3 17\n9 1099511627776\n"
	if diff := cmp.Diff(golden, string(EncodeEpochs(want))); diff != "" {
		t.Errorf("EncodeEpochs (-want +got):\n%s", diff)
	}
	m := vfs.NewMem()
	if got, err := ReadEpochs(m, LeaderEpochs); got != nil || err != nil {
		t.Errorf("missing file: %v, %v", got, err)
	}
	mustDo(t, WriteEpochs(m, LeaderEpochs, want))
	got, err := ReadEpochs(m, LeaderEpochs)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeEpochs(t *testing.T) {
	for in, want := range map[string]struct {
		epochs Epochs
		err    string
	}{
		"":                             {nil, ""},
		"0\n2\n1 5\n2 9\n":             {Epochs{{1, 5}, {2, 9}}, ""},
		"0\n2\n2 9\n1 5\n":             {Epochs{{1, 5}}, ""}, // The later line counts.
		"0\n3\n1 5\n2 9\n3 9\n":        {Epochs{{1, 5}, {3, 9}}, ""},
		"0\n1\n-1 5\n":                 {nil, `damaged file, line 3 "-1 5": the epoch is not a number from 0 on`},
		"0\n1\n1 -5\n":                 {nil, `damaged file, line 3 "1 -5": the start offset is not a number from 0 on`},
		"0\n1\n1 5 6\n":                {nil, `damaged file, line 3 "1 5 6": 3 fields, want 2`},
		"0\n1\n2147483648 5\n":         {nil, `damaged file, line 3 "2147483648 5": the epoch is not a number from 0 on`},
		"7\n1\n1 5\n":                  {nil, "file has version 7, the newest known here is 0: it was written by a newer release, use that one"},
		"-7\n1\n1 5\n":                 {nil, `damaged file, line 1 "-7": the version is not a number from 0 on`},
		"0\n1\n1 92233720368547758070": {nil, `damaged file, line 3 "1 92233720368547758070": the start offset is not a number from 0 on`},
	} {
		got, err := DecodeEpochs([]byte(in))
		if diff := cmp.Diff(want.epochs, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
		if diff := cmp.Diff(want.err, text(err)); diff != "" {
			t.Errorf("%q, error (-want +got):\n%s", in, diff)
		}
	}
}

func TestAssignEpoch(t *testing.T) {
	for name, tc := range map[string]struct {
		before  Epochs
		epoch   int32
		start   int64
		want    Epochs
		changed bool
	}{
		"first":                        {nil, 5, 10, Epochs{{5, 10}}, true},
		"next":                         {Epochs{{5, 10}}, 6, 20, Epochs{{5, 10}, {6, 20}}, true},
		"the same further on":          {Epochs{{5, 10}}, 5, 20, Epochs{{5, 10}}, false},
		"the same at its start":        {Epochs{{5, 10}}, 5, 10, Epochs{{5, 10}}, false},
		"the same further back":        {Epochs{{5, 10}}, 5, 9, Epochs{{5, 9}}, true},
		"no record under the last one": {Epochs{{5, 10}}, 6, 10, Epochs{{6, 10}}, true},
		"replaces what contradicts":    {Epochs{{1, 0}, {5, 10}, {6, 20}}, 5, 5, Epochs{{1, 0}, {5, 5}}, true},
		"older epoch further on":       {Epochs{{1, 0}, {5, 10}}, 4, 20, Epochs{{1, 0}, {4, 20}}, true},
		"one that began before":        {Epochs{{1, 0}, {3, 5}, {5, 10}}, 3, 20, Epochs{{1, 0}, {3, 5}}, true},
	} {
		got := tc.before.Clone()
		if changed := got.Assign(tc.epoch, tc.start); changed != tc.changed {
			t.Errorf("%s: changed %v", name, changed)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCutEpochs(t *testing.T) {
	all := Epochs{{2, 6}, {3, 10}, {5, 20}}
	for end, want := range map[int64]Epochs{0: {}, 6: {}, 7: all[:1], 10: all[:1], 11: all[:2], 20: all[:2], 21: all} {
		got := all.Clone()
		if changed := got.CutEnd(end); changed != (len(want) < len(all)) {
			t.Errorf("end %d: changed %v", end, changed)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("end %d (-want +got):\n%s", end, diff)
		}
	}
	for start, want := range map[int64]Epochs{
		5: all, 6: all, 7: {{2, 7}, {3, 10}, {5, 20}}, 9: {{2, 9}, {3, 10}, {5, 20}},
		10: {{3, 10}, {5, 20}}, 11: {{3, 11}, {5, 20}}, 20: {{5, 20}}, 99: {{5, 99}},
	} {
		got := all.Clone()
		if changed := got.CutStart(start); changed != !cmp.Equal(want, all) {
			t.Errorf("start %d: changed %v", start, changed)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("start %d (-want +got):\n%s", start, diff)
		}
	}
}

func TestEndOfEpoch(t *testing.T) {
	all := Epochs{{2, 6}, {3, 10}, {5, 20}}
	type answer struct {
		epoch int32
		end   int64
	}
	for asked, want := range map[int32]answer{
		-1: {-1, -1}, 0: {0, 6}, 1: {1, 6}, 2: {2, 10}, 3: {3, 20}, 4: {3, 20}, 5: {5, 30}, 6: {-1, -1},
	} {
		if epoch, end := all.End(asked, 30); (answer{epoch, end}) != want {
			t.Errorf("end of epoch %d: (%d, %d), want %v", asked, epoch, end, want)
		}
	}
	if epoch, end := (Epochs{}).End(0, 30); epoch != -1 || end != -1 {
		t.Errorf("end without epochs: (%d, %d)", epoch, end)
	}
}

// TestEpochsAgainstRecords compares the history with a log that keeps the epoch of
// every record: the slow and sure way to the same answers.
func TestEpochsAgainstRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Epochs
		var records []int32 // The epoch of each offset from start on.
		start, epoch := int64(0), int32(0)
		end := func() int64 { return start + int64(len(records)) }
		t.Repeat(map[string]func(*rapid.T){
			"lead": func(t *rapid.T) {
				epoch += rapid.Int32Range(1, 3).Draw(t, "step")
				e.Assign(epoch, end())
			},
			"append": func(t *rapid.T) {
				e.Assign(epoch, end())
				for range rapid.IntRange(1, 4).Draw(t, "records") {
					records = append(records, epoch)
				}
			},
			"truncate": func(t *rapid.T) {
				to := rapid.Int64Range(start, end()).Draw(t, "to")
				records = records[:to-start]
				e.CutEnd(to)
			},
			"delete": func(t *rapid.T) {
				to := rapid.Int64Range(start, end()).Draw(t, "to")
				records, start = records[to-start:], to
				e.CutStart(to)
			},
			"reload": func(t *rapid.T) {
				again, err := DecodeEpochs(EncodeEpochs(e))
				if err != nil {
					t.Fatal(err)
				}
				e = again
			},
			"": func(t *rapid.T) {
				for i, want := range records {
					if got := e.At(start + int64(i)); got != want {
						t.Fatalf("epoch at %d is %d, want %d; %v", start+int64(i), got, want, e)
					}
				}
				for i := 1; i < len(e); i++ {
					if e[i].Epoch <= e[i-1].Epoch || e[i].Start <= e[i-1].Start {
						t.Fatalf("does not increase: %v", e)
					}
				}
				checkEnds(t, e, records, start, end())
			},
		})
	})
}

// checkEnds asks for the end of every epoch that has records: it must be where the
// first record of a newer one is, if one is.
func checkEnds(t *rapid.T, e Epochs, records []int32, start, end int64) {
	for i, epoch := range records {
		if i+1 == len(records) || records[i+1] == epoch {
			continue
		}
		found, got := e.End(epoch, end)
		if want := start + int64(i) + 1; found != epoch || got != want {
			t.Fatalf("epoch %d ends at %d of epoch %d, want %d; %v", epoch, got, found, want, e)
		}
	}
	if last, ok := e.Latest(); ok {
		if found, got := e.End(last.Epoch, end); found != last.Epoch || got != end {
			t.Fatalf("the newest epoch %d ends at %d of epoch %d, want %d", last.Epoch, got, found, end)
		}
		if found, _ := e.End(last.Epoch+1, end); found != -1 {
			t.Fatalf("a newer epoch is known: %d", found)
		}
	}
}

// FuzzDecodeEpochs holds DecodeEpochs to its contract on any bytes.
func FuzzDecodeEpochs(f *testing.F) {
	f.Add([]byte("0\n3\n0 0\n3 17\n9 1099511627776\n"))
	f.Add([]byte("0\n2\n5 9\n1 5\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		epochs, err := DecodeEpochs(in)
		checkNamed(t, err)
		if err != nil {
			return
		}
		again, err := DecodeEpochs(EncodeEpochs(epochs))
		if diff := cmp.Diff(epochs, again); diff != "" || err != nil {
			t.Fatalf("%v (-first +again):\n%s", err, diff)
		}
	})
}
