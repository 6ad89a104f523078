package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/formattest"
)

// TestFormatPage holds docs/format/segment.md to what Next and Records read and what a
// Builder writes.
func TestFormatPage(t *testing.T) {
	golden := formattest.Read(t, "segment.hex")
	in, want := golden.Bytes(), golden.Notes()
	var got formattest.Notes
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("segment.hex (-said +decoded)\n%s", diff)
	}
	if !bytes.Equal(in, again) {
		t.Errorf("segment.hex\n%x\nwritten again\n%x", in, again)
	}
}

func sayBatch(n *formattest.Notes, b Batch) {
	n.Say("baseOffset", b.BaseOffset())
	n.Say("batchLength", b.Size()-lengthOverhead)
	n.Say("partitionLeaderEpoch", b.LeaderEpoch())
	n.Say("magic", b.Magic())
	n.Say("crc", fmt.Sprintf("%08x", b.CRC()))
	n.Say("attributes", b.Attributes())
	n.Say("lastOffsetDelta", b.LastOffsetDelta())
	n.Say("baseTimestamp", b.BaseTimestamp())
	n.Say("maxTimestamp", b.MaxTimestamp())
	n.Say("producerId", b.ProducerID())
	n.Say("producerEpoch", b.ProducerEpoch())
	n.Say("baseSequence", b.BaseSequence())
	n.Say("recordCount", b.Count())
}

func sayRecord(n *formattest.Notes, r Record, control bool) {
	n.Say("length", len(r.appendTo(nil))-1) // Of one byte, in short records.
	n.Say("attributes", 0)
	n.Say("timestampDelta", r.TimestampDelta)
	n.Say("offsetDelta", r.OffsetDelta)
	if control {
		n.Say("key of", fmt.Sprintf("%d bytes", len(r.Key)))
		n.Say("key.version", binary.BigEndian.Uint16(r.Key))
		typ, _ := ControlType(r.Key)
		n.Say("key.type", typ)
		n.Say("value of", fmt.Sprintf("%d bytes", len(r.Value)))
		n.Say("value.version", binary.BigEndian.Uint16(r.Value))
		epoch, _ := ParseEndTxn(r.Value)
		n.Say("value.coordinatorEpoch", epoch)
	} else {
		n.Say("key", orNull(r.Key))
		n.Say("value", orNull(r.Value))
	}
	n.Say("headers", len(r.Headers))
	for _, h := range r.Headers {
		n.Say("header.key", string(h.Key))
		n.Say("header.value", orNull(h.Value))
	}
}

func orNull(b []byte) string {
	if b == nil {
		return "null"
	}
	return string(b)
}
