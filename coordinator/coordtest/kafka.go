package coordtest

import (
	"os"
	"testing"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// KafkaBatches gives f the batches of a segment file, as Apache Kafka wrote them.
func KafkaBatches(t *testing.T, path string, f func(batch.Batch)) {
	t.Helper()
	rest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(rest) > 0 {
		var b batch.Batch
		if b, rest, err = batch.Next(rest); err != nil {
			t.Fatal(err)
		}
		f(b)
	}
}
