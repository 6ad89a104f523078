package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command prints what serve would serve, and fails where serve would.
func TestEnvironmentCommand(t *testing.T) {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "KAFKA_") {
			t.Setenv(name, "") // Restored after the test.
			os.Unsetenv(name)
		}
	}
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte("num.partitions=2\nlog.dirs=/d\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KAFKA_NUM_PARTITIONS", "7")
	t.Setenv("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://h:9092")
	want := "advertised.listeners=PLAINTEXT://h:9092\nlisteners=PLAINTEXT://0.0.0.0:9092\nlog.dirs=/d\nnum.partitions=7\n"
	if out, errs, code := execute(t, "", "environment", "--config", file); out != want || code != 0 {
		t.Errorf("printed %q, %q and exit code %d, want %q", out, errs, code, want)
	}
	written := filepath.Join(t.TempDir(), "written")
	if out, errs, code := execute(t, "", "environment", "--config", file, "--write-config", written); out != "" || code != 0 {
		t.Errorf("printed %q, %q and exit code %d, want nothing", out, errs, code)
	}
	if text, err := os.ReadFile(written); err != nil || string(text) != want {
		t.Errorf("wrote %q (%v), want %q", text, err, want)
	}
	t.Setenv("KAFKA_LOG4J_ROOT_LOGLEVEL", "ERROR")
	for given, want := range map[bool]string{false: "error", true: "debug"} {
		f := serveFlags{configFile: file, fromEnvironment: true, logLevel: "debug", levelGiven: given}
		if _, err := f.config(); err != nil || f.logLevel != want || f.rootLevel == given {
			t.Errorf("--log-level given is %t: level %s (%v), want %s", given, f.logLevel, err, want)
		}
	}
	t.Setenv("KAFKA_CLIENT_USERS", "alice")
	for _, command := range []string{"environment", "serve --from-environment"} {
		_, errs, code := execute(t, "", append(strings.Fields(command), "--config", file)...)
		if code == 0 || !strings.Contains(errs, "KAFKA_CLIENT_USERS asks for users with passwords (SASL)") {
			t.Errorf("%s: exit code %d, %q", command, code, errs)
		}
	}
}
