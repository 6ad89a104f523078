package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/broker/brokertest"
	"github.com/moldau-broker/moldau/cmd/moldau/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// execute runs a command line and returns what it printed and its exit code.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	root := rootCommand()
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		errs.WriteString("moldau: " + err.Error() + "\n")
	}
	return out.String(), errs.String(), cli.ExitCode(err)
}

// session plays command lines as a shell session and compares it with a golden
// file.
func session(t *testing.T, golden, addr string, lines []string) {
	t.Helper()
	var got strings.Builder
	for _, line := range lines {
		stdin, cmd := "", line
		if before, after, ok := strings.Cut(line, " | "); ok {
			stdin, cmd = strings.ReplaceAll(strings.TrimPrefix(before, "printf "), `\n`, "\n"), after
		}
		args := strings.Fields(cmd)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		full := args
		if addr != "" {
			full = append(full, "--bootstrap", addr)
		}
		out, errs, code := execute(t, stdin, full...)
		got.WriteString("$ moldau " + cmd + "\n" + out + errs)
		if code != 0 {
			got.WriteString("exit " + string(rune('0'+code)) + "\n")
		}
	}
	text := got.String()
	if addr != "" {
		text = strings.ReplaceAll(text, addr, "HOST:PORT")
		_, port, _ := strings.Cut(addr, ":")
		text = regexp.MustCompile(`\b`+port+`\b`).ReplaceAllString(text, "PORT")
	}
	text = regexp.MustCompile(`cluster [A-Za-z0-9_-]{22}`).ReplaceAllString(text, "cluster CLUSTER-ID")
	text = regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ")
	path := filepath.Join("testdata", golden)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-update rewrites it):\n%s", path, diff)
	}
}

func TestSessions(t *testing.T) {
	mb := brokertest.Start(t)
	session(t, "topics.golden", mb.Addr(), []string{
		"topics create orders -p 2 -c retention.ms=5000",
		"topics create orders",
		"topics create orders --if-not-exists",
		"topics create bad/name",
		"topics list",
		"topics list --format json",
		"topics describe orders",
		"topics describe nothing",
		"topics alter orders -p 3 --set retention.ms=6000",
		"topics alter orders",
		"topics alter orders --set retention.ms=soon",
		"configs describe --topic orders",
		"topics describe orders",
		"topics delete nothing",
		"topics delete orders",
		"topics list",
	})
	session(t, "records.golden", mb.Addr(), []string{
		"topics create lines -p 1",
		`printf one\ntwo\nthree\n | produce lines`,
		`printf k:v\n | produce lines -k : -H h=1 -z zstd --acks 1`,
		`printf no separator | produce lines -k :`,
		`printf x | produce lines -z brotli`,
		"consume lines",
		`consume lines -o -2 --output %o:%k=%v[%h]\n`,
		`consume lines -o 1 -n 1 --output %p/%o\t%v\n`,
		"consume lines -p 7",
		"consume lines -o sometime",
		"consume lines --output %q",
		"consume lines -g readers -n 3",
		"groups list",
		"groups describe readers",
		"groups reset-offsets readers --to -1 --dry-run",
		"groups reset-offsets readers --to beginning",
		"consume lines -g readers -n 1",
		"groups delete readers",
		"groups describe readers",
	})
	session(t, "cluster.golden", mb.Addr(), []string{
		"cluster", "doctor", "configs describe --broker 1", "configs alter --broker 1 --set log.retention.ms=1000",
		"configs describe --broker 1", "configs alter --broker 1 --unset log.retention.ms", "configs describe",
	})
}

func TestWithoutBroker(t *testing.T) {
	session(t, "offline.golden", "", []string{
		"--help", "topics --help", "consume --help", "produce --help", "groups --help", "serve --help", "doctor --help",
		"config retention.ms num.io.threads no.such.setting",
		"config retention.ms --format json",
		"topics list --bootstrap 127.0.0.1:1 --timeout 1s",
		"topics paint", "topics create", "serve --log-level loud", "serve --set nonsense", "topics list --format xml",
		"dump-log testdata/no-such.log",
	})
}

func TestLinesGoThroughUnchanged(t *testing.T) {
	mb := brokertest.Start(t)
	lines := strings.Repeat("a line of text\n\nanother, after an empty one\n", 5000)
	if _, errs, code := execute(t, lines, "produce", "text", "-q", "-p", "0", "-b", mb.Addr()); code != 0 {
		t.Fatal(errs)
	}
	out, errs, code := execute(t, "", "consume", "text", "-b", mb.Addr())
	if code != 0 || out != lines {
		t.Errorf("%d bytes came out of %d: %s", len(out), len(lines), errs)
	}
}
