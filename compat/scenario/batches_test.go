package scenario

import (
	"testing"
)

// TestBatchesAreRead: what the suite builds it reads, of every codec, and a flipped
// bit is found.
func TestBatchesAreRead(t *testing.T) {
	for codec := range int16(5) {
		b := Batch{Codec: codec, Records: []Record{
			{At: 5, Value: []byte("v")}, {At: 7, Key: []byte{}, Headers: []Header{{"h", nil}, {"", []byte("x")}}},
		}}
		raw := b.Bytes()
		got, err := readBatch(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Records) != 2 || got.Records[1].At != 7 || got.Records[0].Key != nil || got.Records[1].Key == nil || len(got.Records[1].Headers) != 2 || got.MaxTime != 7 {
			t.Errorf("codec %d: %+v", codec, got)
		}
		raw[len(raw)-1] ^= 1
		if _, err := readBatch(raw); err == nil {
			t.Errorf("codec %d: a flipped bit was not seen", codec)
		}
	}
}
