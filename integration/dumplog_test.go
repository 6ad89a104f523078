package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const golden = "../logstore/testdata/kafka-4.2"

// TestDumpLogJudges shows that the judge passes what Apache Kafka wrote, and sees
// damage: a batch with a flipped byte, a torn tail, an index of nonsense.
func TestDumpLogJudges(t *testing.T) {
	if found := dumpLogFinds(t, filepath.Join(golden, "clean")); len(found) > 0 {
		t.Errorf("complaints about a clean directory: %q", found)
	}

	for partition, want := range map[string]string{
		"idempotent-0": "isvalid: false",           // A flipped byte.
		"epochs-0":     "invalid bytes at the end", // A torn tail.
		"codecs-0":     "Exception",                // An index of nonsense.
	} {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, partition), os.DirFS(filepath.Join(golden, "torn", partition))); err != nil {
			t.Fatal(err)
		}
		found := dumpLogFinds(t, dir)
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s: no complaint with %q among %q", partition, want, found)
		}
	}
}

// TestDumpComplaints covers what a run over files can show.
func TestDumpComplaints(t *testing.T) {
	const fine = "Dumping a/0.log\nLog starting offset: 0\nbaseOffset: 0 lastOffset: 3 isvalid: true\n"
	for name, tc := range map[string]struct {
		stdout, stderr string
		want           []string
	}{
		"nothing":            {fine, "", nil},
		"a bad checksum":     {strings.ReplaceAll(fine, "true", "false"), "", []string{"a/0.log: baseOffset: 0 lastOffset: 3 isvalid: false"}},
		"a torn tail":        {fine + "Found 4 invalid bytes at the end of 0.log\n", "", []string{"a/0.log: Found 4 invalid bytes at the end of 0.log"}},
		"a mismatched index": {fine, "Mismatches in :a/0.index\n", []string{"kafka-dump-log says: Mismatches in :a/0.index"}},
		"a file not read":    {"", "", []string{"kafka-dump-log read 0 of 1 files"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := dumpComplaints(tc.stdout, tc.stderr, []string{"a/0.log"}); !slices.Equal(got, tc.want) {
				t.Errorf("complaints %q, want %q", got, tc.want)
			}
		})
	}
}
