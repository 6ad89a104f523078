package segment

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/formattest"
)

// TestFormatPage holds docs/format/indexes.md to what is read from indexes, and to
// Kafka's own files, which the golden ones are.
func TestFormatPage(t *testing.T) {
	for name, decode := range map[string]func(in []byte, n *formattest.Notes) []byte{
		"index": func(in []byte, n *formattest.Notes) (again []byte) {
			for ; len(in) > 0; in = in[offsetEntryBytes:] {
				e := parseOffsetEntry(in)
				n.Say("relativeOffset", e.rel)
				n.Say("position", e.pos)
				again = appendOffsetEntry(again, e)
			}
			return again
		},
		"timeindex": func(in []byte, n *formattest.Notes) (again []byte) {
			for ; len(in) > 0; in = in[timeEntryBytes:] {
				e := parseTimeEntry(in)
				n.Say("timestamp", e.ts)
				n.Say("relativeOffset", e.rel)
				again = appendTimeEntry(again, e)
			}
			return again
		},
		"txnindex": func(in []byte, n *formattest.Notes) (again []byte) {
			for ; len(in) > 0; in = in[txnEntryBytes:] {
				a := parseAborted(in)
				n.Say("version", 0)
				n.Say("producerId", a.ProducerID)
				n.Say("firstOffset", a.First)
				n.Say("lastOffset", a.Last)
				n.Say("lastStableOffset", a.LastStable)
				again = producer.AppendAborted(again, a)
			}
			return again
		},
	} {
		golden := formattest.Read(t, name+".hex")
		in, want := golden.Bytes(), golden.Notes()
		var got formattest.Notes
		again := decode(in, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s.hex (-said +decoded)\n%s", name, diff)
		}
		if diff := cmp.Diff(in, again); diff != "" {
			t.Errorf("%s.hex (-read +written again)\n%s", name, diff)
		}
		kafkas, err := os.ReadFile("../../testdata/kafka-4.2/clean/transactions-0/" + FileName(38, "."+name))
		if diff := cmp.Diff(kafkas, in); diff != "" || err != nil {
			t.Errorf("%s.hex %v (-Kafka's +golden)\n%s", name, err, diff)
		}
	}
}
