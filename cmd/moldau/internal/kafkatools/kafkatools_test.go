package kafkatools

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestSessions plays testdata/*.session and compares what is printed with golden
// files. That Kafka's own tools print the same is tested in the module integration,
// with the same sessions. Commands of others are in testdata/*.commands.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.[sc]*[sn]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), ".")
		t.Run(name, func(t *testing.T) { playSession(t, name, file) })
	}
}

func playSession(t *testing.T, name, file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	addr := brokertest.Start(t, brokertest.Config("group.initial.rebalance.delay.ms=0")).Addr()
	var got strings.Builder
	dir := sessionDir(t)
	for line := range strings.Lines(string(content)) {
		line, marks, _ := strings.Cut(strings.TrimSpace(line), " ## ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		tool, args, stdin := parseLine(t, line, addr, dir)
		var out, errs bytes.Buffer
		code := Run(t.Context(), &Env{In: strings.NewReader(stdin), Out: &out, Err: &errs}, Name(tool), args)
		text := out.String()
		if strings.Contains(marks, "any order") {
			lines := strings.SplitAfter(text, "\n")
			slices.Sort(lines)
			text = strings.Join(lines, "")
		}
		first, rest, _ := strings.Cut(errs.String(), "\n")
		if strings.HasPrefix(rest, "Option ") || first == "" {
			rest = ""
		}
		if first != "" {
			text += "2> " + first + "\n"
		}
		if rest != "" && !strings.Contains(first, "WARN") {
			text += "2> " + strings.ReplaceAll(strings.TrimSuffix(rest, "\n"), "\n", "\n2> ") + "\n"
		}
		fmt.Fprintf(&got, "$ %s\n%s", line, normalize(text, addr, dir))
		if code != 0 {
			fmt.Fprintf(&got, "exit %d\n", code)
		}
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-update rewrites it):\n%s", path, diff)
	}
}

// sessionDir makes the folder that a session calls $DIR, and the files in it.
func sessionDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	node := "process.roles=broker,controller\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n" +
		"controller.listener.names=CONTROLLER\nlog.dirs=" + filepath.ToSlash(dir) + "/node\n"
	for name, content := range map[string]string{
		"short.properties":     "default.api.timeout.ms=200\nrequest.timeout.ms=100\n",
		"node.properties":      node + "node.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n",
		"no-node.properties":   node + "controller.quorum.voters=1@127.0.0.1:9093\n",
		"no-voters.properties": node + "node.id=1\n",
		"delete.json":          `{"partitions": [{"topic": "emptied", "partition": 0, "offset": 2}], "version": 1}`,
		"delete-twice.json": `{"partitions": [{"topic": "emptied", "partition": 0, "offset": 2},
			{"topic": "emptied", "partition": 0, "offset": 3}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// parseLine reads a line of a session: words, of which those in single quotes stay
// whole, and printf in front of a pipe.
func parseLine(t *testing.T, line, addr, dir string) (tool string, args []string, stdin string) {
	t.Helper()
	if input, rest, ok := strings.Cut(line, " | "); ok {
		quoted := strings.Trim(strings.TrimPrefix(input, "printf "), "'")
		stdin, line = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(quoted), rest
	}
	host, port, _ := strings.Cut(addr, ":")
	vars := strings.NewReplacer("$B", addr, "$QUIET", "150", "$HOST", host, "$PORT", port, "$SHORT", filepath.Join(dir, "short.properties"), "$DIR", dir)
	var words []string
	for i, piece := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, vars.Replace(piece))
			continue
		}
		for word := range strings.FieldsSeq(piece) {
			words = append(words, vars.Replace(word))
		}
	}
	return words[0], words[1:], stdin
}

var (
	timestamp = regexp.MustCompile(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]`)
	// How long the metadata log is, and when who has read it.
	quorum = regexp.MustCompile(`((?:HighWatermark|LeaderEpoch|ClusterId): +|"directoryId": |(?m:^1 +\t\S+\t))(\S{20,}|\d+ *)`)
	ago    = regexp.MustCompile(`\b(\d{13}|\d+ ms ago) +|Last(Fetch|CaughtUp)Timestamp *|LogEndOffset *|\bT?[A-Za-z0-9_-]{22}\t`)
	// A port in a column of its own.
	portColumn = regexp.MustCompile(`(?m)^(1 +127\.0\.0\.1 )\d+ *`)
	id         = regexp.MustCompile(`(TopicId: |directory.id=|Cluster ID: |(?m:^))[A-Za-z0-9_-]{22}((?m:$)|[\t,])`)
)

// normalize replaces what differs from run to run.
func normalize(s, addr, dir string) string {
	s = quorum.ReplaceAllString(s, "${1}N")
	s = ago.ReplaceAllString(s, "T")
	s = portColumn.ReplaceAllString(s, "${1}PORT ")
	s = strings.ReplaceAll(s, addr, "HOST:PORT")
	s = strings.ReplaceAll(s, dir, "DIR")
	s = timestamp.ReplaceAllString(s, "[TIME]")
	return id.ReplaceAllString(s, "${1}ID${2}")
}
