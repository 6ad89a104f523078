package segment

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/producer"
)

// formatGolden reads a golden file of docs/format: its bytes, and what its lines say.
func formatGolden(t *testing.T, name string) (data []byte, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/format/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		digits, note, _ := strings.Cut(strings.TrimSpace(line), " ")
		if digits == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		if data = append(data, b...); note != "" {
			notes = append(notes, strings.TrimSpace(note))
		}
	}
	return data, notes
}

// notes collects what was decoded, in the words of a golden file.
type notes []string

func (n *notes) say(name string, value any) { *n = append(*n, fmt.Sprintf("%s %v", name, value)) }

// TestFormatPage holds docs/format/indexes.md to what is read from indexes, and to
// Kafka's own files, which the golden ones are.
func TestFormatPage(t *testing.T) {
	for name, decode := range map[string]func(in []byte, n *notes) []byte{
		"index": func(in []byte, n *notes) (again []byte) {
			for ; len(in) > 0; in = in[offsetEntryBytes:] {
				e := parseOffsetEntry(in)
				n.say("relativeOffset", e.rel)
				n.say("position", e.pos)
				again = appendOffsetEntry(again, e)
			}
			return again
		},
		"timeindex": func(in []byte, n *notes) (again []byte) {
			for ; len(in) > 0; in = in[timeEntryBytes:] {
				e := parseTimeEntry(in)
				n.say("timestamp", e.ts)
				n.say("relativeOffset", e.rel)
				again = appendTimeEntry(again, e)
			}
			return again
		},
		"txnindex": func(in []byte, n *notes) (again []byte) {
			for ; len(in) > 0; in = in[txnEntryBytes:] {
				a := parseAborted(in)
				n.say("version", 0)
				n.say("producerId", a.ProducerID)
				n.say("firstOffset", a.First)
				n.say("lastOffset", a.Last)
				n.say("lastStableOffset", a.LastStable)
				again = producer.AppendAborted(again, a)
			}
			return again
		},
	} {
		in, want := formatGolden(t, name+".hex")
		var got notes
		again := decode(in, &got)
		if diff := cmp.Diff(want, []string(got)); diff != "" {
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
