package integration

import (
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dumpLog lets Apache Kafka's kafka-dump-log read every file of a data directory
// and fails on whatever it has to complain about. Internal topics are read with
// their decoders. The broker must not be running.
func dumpLog(t *testing.T, dir string) {
	t.Helper()
	for _, wrong := range dumpLogFinds(t, dir) {
		t.Error(wrong)
	}
}

// dumpLogFinds returns what kafka-dump-log has to complain about.
func dumpLogFinds(t *testing.T, dir string) []string {
	t.Helper()
	tool := apacheTool(t, "kafka-dump-log")
	byDecoder, err := dumpable(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(byDecoder) == 0 {
		t.Fatalf("%s holds nothing that kafka-dump-log reads", dir)
	}
	var found []string
	for decoder, files := range byDecoder {
		// A command line is bounded; a thousand paths are far below it.
		for chunk := range slices.Chunk(files, 500) {
			args := []string{"--files", strings.Join(chunk, ",")}
			if decoder != "" {
				args = append(args, decoder)
			}
			var complaints strings.Builder
			cmd := exec.Command(tool, args...)
			cmd.Stderr = &complaints
			out, err := cmd.Output()
			found = append(found, dumpComplaints(string(out), complaints.String(), chunk)...)
			if err != nil {
				found = append(found, fmt.Sprintf("kafka-dump-log %s: %v", decoder, err))
			}
		}
	}
	return found
}

// dumpable lists the files below dir that kafka-dump-log reads, by the decoder that
// their topic needs; topics of users need none.
func dumpable(dir string) (map[string][]string, error) {
	decoders := map[string]string{
		"__cluster_metadata":  "--cluster-metadata-decoder",
		"__consumer_offsets":  "--offsets-decoder",
		"__transaction_state": "--transaction-log-decoder",
		"__share_group_state": "--share-group-state-decoder",
	}
	kinds := []string{".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"}
	found := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasSuffix(path, "-delete") {
			return filepath.SkipDir // Nobody owes its files an end.
		}
		partition := filepath.Dir(path)
		if d.IsDir() || partition == filepath.Clean(dir) || !slices.Contains(kinds, filepath.Ext(path)) {
			return nil
		}
		topic := filepath.Base(partition)
		if dash := strings.LastIndexByte(topic, '-'); dash > 0 {
			topic = topic[:dash]
		}
		found[decoders[topic]] = append(found[decoders[topic]], path)
		return nil
	})
	return found, err
}

// dumpComplaints returns what is wrong according to the two streams of a run over
// files. The tool exits with 0 whatever it finds.
func dumpComplaints(stdout, stderr string, files []string) []string {
	var found []string
	file := ""
	read := 0
	for line := range strings.Lines(stdout) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "Dumping "); ok {
			file = name
			read++
		}
		switch {
		case strings.Contains(line, "isvalid: false"),
			strings.Contains(line, "invalid bytes at the end"),
			strings.HasPrefix(line, "Could not"), strings.Contains(line, "Error"):
			found = append(found, fmt.Sprintf("%s: %s", file, line))
		}
	}
	for line := range strings.Lines(stderr) {
		found = append(found, "kafka-dump-log says: "+strings.TrimSpace(line))
	}
	if read != len(files) {
		found = append(found, fmt.Sprintf("kafka-dump-log read %d of %d files", read, len(files)))
	}
	return found
}
