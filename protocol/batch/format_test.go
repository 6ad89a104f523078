package batch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formatGolden reads a golden file of docs/format: its bytes, and what its lines say.
func formatGolden(t *testing.T, name string) (data []byte, notes []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/format/golden/" + name)
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

// TestFormatPage holds docs/format/segment.md to what Next and Records read and what a
// Builder writes.
func TestFormatPage(t *testing.T) {
	in, want := formatGolden(t, "segment.hex")
	var got notes
	var again []byte
	for rest := in; len(rest) > 0; {
		b, next, err := Next(rest)
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			t.Fatal(err)
		}
		rest = next
		sayBatch(&got, b)
		m := Plain(b.BaseOffset(), b.LeaderEpoch())
		m.ProducerID, m.ProducerEpoch, m.BaseSequence = b.ProducerID(), b.ProducerEpoch(), b.BaseSequence()
		m.Transactional, m.Control = b.Transactional(), b.Control()
		bl := NewBuilder(m)
		it := b.Records(1 << 10)
		for it.Next() {
			sayRecord(&got, *it.Record(), b.Control())
			bl.Append(it.Timestamp(), it.Record().Key, it.Record().Value, it.Record().Headers...)
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
		it.Close()
		again = append(again, bl.Build()...)
	}
	if diff := cmp.Diff(want, []string(got)); diff != "" {
		t.Errorf("segment.hex (-said +decoded)\n%s", diff)
	}
	if !bytes.Equal(in, again) {
		t.Errorf("segment.hex\n%x\nwritten again\n%x", in, again)
	}
}

func sayBatch(n *notes, b Batch) {
	n.say("baseOffset", b.BaseOffset())
	n.say("batchLength", b.Size()-lengthOverhead)
	n.say("partitionLeaderEpoch", b.LeaderEpoch())
	n.say("magic", b.Magic())
	n.say("crc", fmt.Sprintf("%08x", b.CRC()))
	n.say("attributes", b.Attributes())
	n.say("lastOffsetDelta", b.LastOffsetDelta())
	n.say("baseTimestamp", b.BaseTimestamp())
	n.say("maxTimestamp", b.MaxTimestamp())
	n.say("producerId", b.ProducerID())
	n.say("producerEpoch", b.ProducerEpoch())
	n.say("baseSequence", b.BaseSequence())
	n.say("recordCount", b.Count())
}

func sayRecord(n *notes, r Record, control bool) {
	n.say("length", len(r.appendTo(nil))-1) // Of one byte, in short records.
	n.say("attributes", 0)
	n.say("timestampDelta", r.TimestampDelta)
	n.say("offsetDelta", r.OffsetDelta)
	if control {
		n.say("key of", fmt.Sprintf("%d bytes", len(r.Key)))
		n.say("key.version", binary.BigEndian.Uint16(r.Key))
		typ, _ := ControlType(r.Key)
		n.say("key.type", typ)
		n.say("value of", fmt.Sprintf("%d bytes", len(r.Value)))
		n.say("value.version", binary.BigEndian.Uint16(r.Value))
		epoch, _ := ParseEndTxn(r.Value)
		n.say("value.coordinatorEpoch", epoch)
	} else {
		n.say("key", orNull(r.Key))
		n.say("value", orNull(r.Value))
	}
	n.say("headers", len(r.Headers))
	for _, h := range r.Headers {
		n.say("header.key", string(h.Key))
		n.say("header.value", orNull(h.Value))
	}
}

func orNull(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}
