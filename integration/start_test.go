package integration

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// ours skips what only our binary promises when another broker is under test.
func ours(t *testing.T) {
	t.Helper()
	if *against != "moldau" {
		t.Skipf("SKIP binary: -against %s", *against)
	}
}

// TestStartAndStop starts the broker on a directory that is not there yet and stops
// it: a short log with the lines that wait strategies look for, a quick end with
// exit code 0, and the marker of a clean shutdown. Then again, on the same directory.
func TestStartAndStop(t *testing.T) {
	ours(t)
	b := NewMoldau(t)
	before := 0
	for _, start := range []string{"first", "second"} {
		b.Start(t)
		if _, err := admin(t, b.Addr()).ListTopics(t.Context()); err != nil {
			t.Errorf("%s start: %v", start, err)
		}
		began := time.Now()
		b.Stop(t)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s stop took %v, want under 2s", start, took)
		}
		if _, err := os.Stat(filepath.Join(b.Dir(), ".kafka_cleanshutdown")); err != nil {
			t.Errorf("%s stop left no marker: %v", start, err)
		}
		log := b.Log()[before:]
		before += len(log)
		if n := strings.Count(log, "\n"); n >= 15 {
			t.Errorf("%s start and stop wrote %d lines, want under 15:\n%s", start, n, log)
		}
		for _, want := range []string{
			`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO \[BrokerLifecycleManager id=1\] The broker has been unfenced\. Transitioning from RECOVERY to RUNNING\. \(kafka\.server\.BrokerLifecycleManager\)$`,
			`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO \[KafkaRaftServer nodeId=1\] Kafka Server started \(kafka\.server\.KafkaRaftServer\)$`,
		} {
			if !regexp.MustCompile(want).MatchString(log) {
				t.Errorf("%s start: no line %s in\n%s", start, want, log)
			}
		}
	}
}

// TestRefusals starts the binary where it must not run. It ends with a code that is
// not 0 and one line that names the thing in its way, and touches nothing.
func TestRefusals(t *testing.T) {
	ours(t)
	formatted := func(t *testing.T) string {
		b := NewMoldau(t)
		b.Start(t)
		b.Stop(t)
		return b.Dir()
	}
	edit := func(t *testing.T, dir, old, replacement string) {
		t.Helper()
		path := filepath.Join(dir, "meta.properties")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		edited := regexp.MustCompile(old).ReplaceAll(text, []byte(replacement))
		if bytes.Equal(edited, text) {
			t.Fatalf("%s not found in %s", old, text)
		}
		if err := os.WriteFile(path, edited, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		// prepare returns the data directory, further arguments, and what the line
		// must name.
		prepare func(t *testing.T) (dir string, args []string, names string)
	}{
		"a second process on a directory": {func(t *testing.T) (string, []string, string) {
			b := NewMoldau(t)
			b.Start(t)
			return b.Dir(), nil, b.Dir()
		}},
		"a file where the directory should be": {func(t *testing.T) (string, []string, string) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
			return path, nil, path
		}},
		"a directory that cannot be made": {func(*testing.T) (string, []string, string) {
			return "/proc/moldau", nil, "/proc/moldau"
		}},
		"a port in use": {func(t *testing.T) (string, []string, string) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return formatted(t), []string{"--listen", l.Addr().String()}, l.Addr().String()
		}},
		"another node's directory": {func(t *testing.T) (string, []string, string) {
			return formatted(t), []string{"--set", "node.id=7"}, "node id 1"
		}},
		"a newer format": {func(t *testing.T) (string, []string, string) {
			dir := formatted(t)
			edit(t, dir, `(?m)^version=1$`, "version=9")
			return dir, nil, "meta.properties"
		}},
		"a directory of somebody else": {func(t *testing.T) (string, []string, string) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
			return dir, nil, dir
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, args, names := tc.prepare(t)
			before := tree(t, dir)
			out, code := refuse(t, append([]string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0"}, args...))
			if code == 0 {
				t.Errorf("exit code 0, want another; output:\n%s", out)
			}
			last := strings.TrimSpace(out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:])
			if !strings.Contains(last, names) {
				t.Errorf("the last line does not name %s:\n%s", names, out)
			}
			if strings.Contains(out, "goroutine ") || strings.Count(out, "\n") > 8 {
				t.Errorf("more than a line of explanation:\n%s", out)
			}
			if after := tree(t, dir); !maps.Equal(before, after) {
				t.Errorf("the directory was touched:\nbefore %q\nafter %q", before, after)
			}
		})
	}
}

// refuse runs the binary, which must end by itself, and returns what it printed.
func refuse(t *testing.T, args []string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, binaryPath(t), args...).CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the binary runs where it must not; output:\n%s", text)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

// tree returns the contents of all files below dir, or of dir if it is a file. What
// a running broker keeps writing to is left out.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		running := strings.Contains(path, "__cluster_metadata") || strings.HasSuffix(path, "-checkpoint")
		if d.IsDir() || running || d.Name() == ".lock" {
			return nil
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
