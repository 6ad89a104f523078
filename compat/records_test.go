package compat

import "testing"

// TestBatchesAreRead: what the suite builds it reads, of every codec, and a flipped
// bit is found.
func TestBatchesAreRead(t *testing.T) {
	for codec := range int16(5) {
		b := batch{codec: codec, records: []record{
			{at: 5, value: []byte("v")}, {at: 7, key: []byte{}, headers: []header{{"h", nil}, {"", []byte("x")}}},
		}}
		raw := b.bytes()
		got, err := readBatch(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.records) != 2 || got.records[1].at != 7 || got.records[0].key != nil || got.records[1].key == nil || len(got.records[1].headers) != 2 || got.maxTime != 7 {
			t.Errorf("codec %d: %+v", codec, got)
		}
		raw[len(raw)-1] ^= 1
		if _, err := readBatch(raw); err == nil {
			t.Errorf("codec %d: a flipped bit was not seen", codec)
		}
	}
}
