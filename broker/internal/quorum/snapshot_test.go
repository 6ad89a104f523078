package quorum

import (
	"slices"
	"testing"

	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// A snapshot ends with its footer, and with nothing else.
func TestSnapshotFooter(t *testing.T) {
	c := snapshotContent{voters: soleVoter(), records: slices.Values([][]byte{feature(1).Value})}
	whole := c.encode(1)
	data := batch.NewBuilder(batch.Plain(9, 0))
	data.Append(1, nil, feature(2).Value)
	for name, tc := range map[string]struct {
		more []byte
		ok   bool
	}{
		"nothing more":       {nil, true},
		"data":               {data.Build(), false},
		"a control batch":    {controlBatch(1, 9, 0, soleVoter()), false},
		"an unknown control": {controlBatch(1, 9, 0, &metadata.KRaftVersion{KRaftVersion: 1}), false},
		"another footer":     {controlBatch(1, 9, 0, &metadata.SnapshotFooter{}), false},
		"half a batch":       {whole[:70], false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodeSnapshot(bootstrapID, slices.Concat(whole, tc.more))
			if (err == nil) != tc.ok {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("in its own batch", func(t *testing.T) {
		in := controlBatch(1, 0, 0, soleVoter(), &metadata.SnapshotFooter{}, &metadata.KRaftVersion{KRaftVersion: 1})
		if _, err := decodeSnapshot(bootstrapID, in); err == nil {
			t.Error("a record after the footer was taken")
		}
	})
}

// FuzzDecodeSnapshot: any bytes whose checksums are right give a snapshot that was
// written to its end, or an error.
func FuzzDecodeSnapshot(f *testing.F) {
	c := snapshotContent{voters: soleVoter(), records: slices.Values([][]byte{feature(1).Value})}
	f.Add(c.encode(1))
	f.Add([]byte(controlBatch(1, 0, 0, soleVoter(), &metadata.SnapshotFooter{}, &metadata.KRaftVersion{KRaftVersion: 1})))
	f.Fuzz(func(t *testing.T, in []byte) {
		in = slices.Clone(in)
		var all []batch.Batch
		for rest := in; len(rest) > 0; {
			b, next, err := batch.Next(rest)
			if err != nil {
				break
			}
			b.Seal()
			all, rest = append(all, b), next
		}
		s, err := decodeSnapshot(bootstrapID, in)
		if err != nil {
			return
		}
		last := all[len(all)-1]
		if got := controlsOf(t, last); len(got) == 0 || got[len(got)-1] != metadata.ControlSnapshotFooter {
			t.Fatalf("a snapshot that ends with the controls %v", got)
		}
		data := 0
		for _, b := range all {
			if !b.Control() {
				data++
			}
		}
		if len(s.batches) != data {
			t.Fatalf("%d batches of data, want %d", len(s.batches), data)
		}
		for _, more := range all {
			if _, err := decodeSnapshot(bootstrapID, slices.Concat(in, more)); err == nil {
				t.Fatal("a batch after the footer was taken")
			}
		}
		if _, err := decodeSnapshot(bootstrapID, in[:len(in)-len(last)]); err == nil {
			t.Fatal("a snapshot without its last batch was taken")
		}
	})
}
