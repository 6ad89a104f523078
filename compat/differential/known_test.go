package differential

import (
	"os"
	"strings"
	"testing"
)

// TestKnownDeviationsHaveARow: what is explained by docs/deviations.md stands there.
func TestKnownDeviationsHaveARow(t *testing.T) {
	page, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, k := range known {
		row, ok := strings.CutPrefix(k.Reference, deviations)
		if !ok {
			if strings.Contains(k.Reference, "Kafka after 4.2") || strings.Contains(k.Reference, "deviations.md") {
				t.Errorf("%s: %q names no row of docs/deviations.md", k.Name, k.Reference)
			}
			continue
		}
		rows++
		if !strings.Contains(string(page), "\n| "+row+" | ") {
			t.Errorf("%s: docs/deviations.md has no row that begins with %q", k.Name, row)
		}
	}
	if rows == 0 {
		t.Error("no known difference names a row")
	}
}
