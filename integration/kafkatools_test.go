package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// toolSessions are files of command lines for Kafka's tools, which the tests of
// package kafkatools play too.
const toolSessions = "../cmd/moldau/internal/kafkatools/testdata/"

var sessionNames = flag.String("sessions", "*", "which sessions of command lines TestKafkaTools plays, a pattern")

// TestKafkaTools plays the sessions twice, by Apache's tools and by the binary
// under their names, each on a fresh broker of the same kind and configuration, and
// compares line by line: standard output, exit code, and the first line of standard
// error. What follows that line are Java's stack traces and the texts of help,
// which are not ours.
func TestKafkaTools(t *testing.T) {
	java := newJavaTools(t)
	files, err := filepath.Glob(toolSessions + *sessionNames + ".session")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	ours := toolLinks(t)
	brokers := map[string]func(t *testing.T) Broker{
		"moldau": func(t *testing.T) Broker {
			return NewMoldau(t, "--set", "group.initial.rebalance.delay.ms=0", "--set", "offsets.topic.num.partitions=4",
				"--set", "transaction.state.log.num.partitions=4", "--set", "offsets.topic.replication.factor=1")
		},
		"apache": func(t *testing.T) Broker { return NewApache(t) },
	}
	for _, kind := range []string{"moldau", "apache"} {
		t.Run(kind, func(t *testing.T) {
			apaches := playSessions(t, brokers[kind](t), files, java.run)
			own := playSessions(t, brokers[kind](t), files, func(t *testing.T, c call) (string, string, int) { return runOurs(t, ours, c) })
			for _, file := range files {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".session"), func(t *testing.T) {
					for i, line := range sessionLines(t, file) {
						if apaches[file][i] != own[file][i] {
							t.Errorf("%s\n%s", line.text, differing(apaches[file][i], own[file][i]))
						}
					}
				})
			}
		})
	}
}

// playSessions plays the files one after the other on one broker and returns the
// outcome of each line.
func playSessions(t *testing.T, b Broker, files []string, run func(*testing.T, call) (stdout, stderr string, code int)) map[string][]string {
	t.Helper()
	b.Start(t)
	outcomes := map[string][]string{}
	for _, file := range files {
		dir := sessionDir(t)
		for _, line := range sessionLines(t, file) {
			c := line.parse(b.Addr(), dir)
			stdout, stderr, code := run(t, c)
			outcomes[file] = append(outcomes[file], line.outcome(c, b.Addr(), stdout, stderr, code))
			line.settle(t, b)
		}
	}
	b.Stop(t)
	return outcomes
}

// toolLinks makes a folder with the binary under the names of the tools.
func toolLinks(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin := binaryPath(t)
	help, err := exec.Command(bin, "tool", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(help), "Tools: ")
	if !ok {
		t.Fatalf("moldau tool names no tools:\n%s", help)
	}
	list, _, _ = strings.Cut(list, ".\n")
	for name := range strings.SplitSeq(list, ", ") {
		if err := os.Symlink(bin, filepath.Join(dir, name+".sh")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// toolLine is one command line of a session.
type toolLine struct {
	text string
	// Marks at the end of the line, after " ## ": "any order" compares the lines of
	// the output as a set, where Apache's order is that of a hash map; "own stderr"
	// leaves standard error out, where what it says is random.
	anyOrder, ownStderr bool
	// gone is a topic whose end is waited for after the line ("gone NAME"): a broker of
	// Apache's answers when the controller knows of it, and goes on listing it for a
	// moment.
	gone string
	// set is a setting that is waited for likewise ("set KIND NAME KEY VALUE"): KIND
	// is topic or broker, "-" the name of all brokers and the value of what is not set.
	set []string
}

func sessionLines(t *testing.T, file string) []toolLine {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []toolLine
	for text := range strings.Lines(string(content)) {
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		text, marks, _ := strings.Cut(text, " ## ")
		line := toolLine{text: text, anyOrder: strings.Contains(marks, "any order"), ownStderr: strings.Contains(marks, "own stderr")}
		_, line.gone, _ = strings.Cut(marks, "gone ")
		if _, set, ok := strings.Cut(marks, "set "); ok {
			line.set = strings.Fields(set)
		}
		lines = append(lines, line)
	}
	return lines
}

// sessionDir makes the folder that a session calls $DIR, and the files in it.
func sessionDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	node := "process.roles=broker,controller\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n" +
		"controller.listener.names=CONTROLLER\nlog.dirs=" + filepath.ToSlash(dir) + "/node\n"
	for name, content := range map[string]string{
		"short.properties":     "default.api.timeout.ms=1500\nrequest.timeout.ms=1000\n",
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

// call is one run of a tool: what goes in, and where.
type call struct {
	tool  string // Without .sh.
	args  []string
	stdin string
	dir   string
}

// parse reads the line as a shell would: words, of which those in single quotes stay
// whole, variables ($B is the broker), and in front of a pipe printf with its escapes.
func (l toolLine) parse(addr, dir string) call {
	c := call{dir: dir}
	text := l.text
	if input, rest, ok := strings.Cut(text, " | "); ok {
		quoted := strings.Trim(strings.TrimPrefix(input, "printf "), "'")
		c.stdin = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(quoted)
		text = rest
	}
	vars := strings.NewReplacer("$B", addr, "$QUIET", "2500", "$SHORT", filepath.Join(dir, "short.properties"), "$DIR", c.dir)
	var words []string
	for i, piece := range strings.Split(text, "'") {
		if i%2 == 1 {
			words = append(words, vars.Replace(piece))
			continue
		}
		for word := range strings.FieldsSeq(piece) {
			words = append(words, vars.Replace(word))
		}
	}
	c.tool, c.args = strings.TrimSuffix(words[0], ".sh"), words[1:]
	return c
}

// outcome is what is compared of a call.
func (l toolLine) outcome(c call, addr, stdout, stderr string, code int) string {
	clean := func(s string) string { return normalizeTool(s, addr, c.dir) }
	out := strings.Split(clean(stdout), "\n")
	if l.anyOrder {
		slices.Sort(out)
	}
	first := ""
	if !l.ownStderr {
		first, _, _ = strings.Cut(clean(stderr), "\n")
	}
	return fmt.Sprintf("%s\nexit %d\nstderr %s", strings.Join(out, "\n"), code, first)
}

// settle waits for what the line has begun.
func (l toolLine) settle(t *testing.T, b Broker) {
	t.Helper()
	if l.gone == "" && l.set == nil {
		return
	}
	adm := admin(t, b.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := until(ctx, "the effect of "+l.text, func() bool {
		if l.set != nil {
			return isSet(ctx, adm, l.set[0], l.set[1], l.set[2], l.set[3])
		}
		topics, err := adm.ListTopics(ctx)
		return err == nil && !topics.Has(l.gone)
	}); err != nil {
		t.Fatal(err)
	}
}

// isSet says whether the broker answers with a setting.
func isSet(ctx context.Context, adm *kadm.Client, kind, name, key, value string) bool {
	var found kadm.ResourceConfigs
	var err error
	source := kmsg.ConfigSourceDynamicTopicConfig
	switch {
	case kind == "topic":
		found, err = adm.DescribeTopicConfigs(ctx, name)
	case name == "-":
		source = kmsg.ConfigSourceDynamicDefaultBrokerConfig
		found, err = adm.DescribeBrokerConfigs(ctx)
	default:
		source = kmsg.ConfigSourceDynamicBrokerConfig
		id, cerr := strconv.ParseInt(name, 10, 32)
		if cerr != nil {
			return false
		}
		found, err = adm.DescribeBrokerConfigs(ctx, int32(id))
	}
	if err != nil || len(found) != 1 || found[0].Err != nil {
		return false
	}
	now := "-"
	for _, c := range found[0].Configs {
		if c.Key == key && c.Source == source {
			now = c.MaybeValue()
		}
	}
	return now == value
}

// runOurs runs the binary under the tool's name.
func runOurs(t *testing.T, bin string, c call) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, c.tool+".sh"), c.args...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(c.stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		x, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = x.ExitCode()
	}
	return out.String(), errs.String(), code
}

// javaTools is a JVM that runs Apache's tools one after the other.
type javaTools struct {
	in      io.Writer
	answers *bufio.Scanner
	classes map[string]string
}

// newJavaTools starts the JVM, which ends with the test.
func newJavaTools(t *testing.T) *javaTools {
	t.Helper()
	apacheTool(t, "kafka-topics")
	j := &javaTools{classes: map[string]string{}}
	scripts, err := filepath.Glob(filepath.Join(apacheHome(), "bin", "*.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if m := toolClass.FindSubmatch(text); m != nil {
			j.classes[strings.TrimSuffix(filepath.Base(script), ".sh")] = string(m[1])
		}
	}
	cmd := exec.Command("nice", "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile="+filepath.Join(apacheHome(), "bin", "log4j2-tools.properties"),
		"-cp", filepath.Join(apacheHome(), "libs", "*"), "testdata/ToolRunner.java")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the JVM of the tools: %v", err)
		}
	})
	j.in, j.answers = in, bufio.NewScanner(out)
	return j
}

func (j *javaTools) run(t *testing.T, c call) (stdout, stderr string, code int) {
	t.Helper()
	class, ok := j.classes[c.tool]
	if !ok {
		t.Fatalf("Apache's tools have no %s", c.tool)
	}
	input := filepath.Join(c.dir, "in")
	if err := os.WriteFile(input, []byte(c.stdin), 0o644); err != nil {
		t.Fatal(err)
	}
	fields := append([]string{c.dir, class, input}, c.args...)
	if _, err := fmt.Fprintln(j.in, strings.Join(fields, "\x01")); err != nil {
		t.Fatal(err)
	}
	if !j.answers.Scan() {
		t.Fatalf("the JVM of the tools ended over %s %v", c.tool, c.args)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	code, err := strconv.Atoi(read("code"))
	if err != nil {
		t.Fatal(err)
	}
	return read("out"), read("err"), code
}

var (
	toolTime = regexp.MustCompile(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]`)
	// How long the metadata log is, and when who has read it.
	toolQuorum     = regexp.MustCompile(`((?:HighWatermark|LeaderEpoch): +|(?m:^1) +\t\S+\t)\d+ *`)
	toolAgo        = regexp.MustCompile(`\b(\d{13}|\d+ ms ago) +|Last(Fetch|CaughtUp)Timestamp *|LogEndOffset *`)
	toolController = regexp.MustCompile(`CONTROLLER://127.0.0.1:\d+`)
	toolPort       = regexp.MustCompile(`(?m)^(1 +127\.0\.0\.1 )\d+ *`) // In a column of its own.
	toolClass      = regexp.MustCompile(`libs/\*" ([\w.]+) "\$@"`)
	toolAdmin      = regexp.MustCompile(`(admin|adminclient)-\d+`)
	// Which features a new cluster has is the broker's business.
	toolFeatures = regexp.MustCompile(`records=\[.*\], metadataVersionLevel`)
	toolID       = regexp.MustCompile(`\b[A-Za-z0-9_-]{22}\b`)
)

// normalizeTool replaces what differs from run to run.
func normalizeTool(s, addr, dir string) string {
	s = toolQuorum.ReplaceAllString(s, "${1}N")
	s = toolController.ReplaceAllString(s, "CONTROLLER://HOST:PORT")
	s = toolAgo.ReplaceAllString(s, "T")
	s = toolPort.ReplaceAllString(s, "${1}PORT ")
	s = strings.ReplaceAll(s, addr, "HOST:PORT")
	s = strings.ReplaceAll(s, dir, "DIR")
	s = toolAdmin.ReplaceAllString(s, "$1-N") // Counted by the JVM.
	s = toolFeatures.ReplaceAllString(s, "records=[], metadataVersionLevel")
	s = toolTime.ReplaceAllString(s, "[TIME]")
	var out strings.Builder
	last := 0
	for _, at := range toolID.FindAllStringIndex(s, -1) {
		out.WriteString(s[last:at[0]])
		last = at[1]
		if strings.HasPrefix(s[last:], "(") { // A request's name of that length.
			out.WriteString(s[at[0]:last])
		} else {
			out.WriteString("ID")
		}
	}
	return out.String() + s[last:]
}

// differing are the lines that two outcomes do not have in common.
func differing(a, b string) string {
	var out strings.Builder
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		at := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "(no line)"
		}
		if at(x) != at(y) {
			fmt.Fprintf(&out, "  line %d\n    theirs %q\n    ours   %q\n", i+1, at(x), at(y))
		}
	}
	return out.String()
}
