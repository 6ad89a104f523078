package coordtest

import (
	"strings"
	"testing"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/formattest"
)

// GoldenRecord reads a record of docs/format, whose lines say which fields are the key's,
// and what they say.
func GoldenRecord(t testing.TB, name string) (r coordinator.Record, notes formattest.Notes) {
	t.Helper()
	golden := formattest.Read(t, name)
	for _, f := range golden {
		if strings.HasPrefix(f.Note, "key.") {
			r.Key = append(r.Key, f.Bytes...)
		} else {
			r.Value = append(r.Value, f.Bytes...)
		}
	}
	return r, golden.Notes()
}
