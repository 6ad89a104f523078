//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test binary be the command itself.
func TestMain(m *testing.M) {
	if os.Getenv("MOLDAU_TEST_AS_COMMAND") != "" {
		os.Exit(run(os.Args))
	}
	os.Exit(m.Run())
}

func asInit(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "init", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "MOLDAU_TEST_AS_COMMAND=1")
	return cmd
}

// The exit code is the command's, or what a shell makes of the signal that ended it.
func TestInitExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "(exit 3) & exit 4": 4} {
		cmd := asInit(t, script)
		out, _ := cmd.CombinedOutput() // The code says how it ended.
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d: %s", script, got, want, out)
		}
	}
}

// A signal is passed on, and the command's own end of it is waited for.
func TestInitPassesSignals(t *testing.T) {
	cmd := asInit(t, "trap 'echo stopped; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := out.Read(line); err != nil || string(line) != "ready\n" {
		t.Fatalf("read %q (%v)", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var rest strings.Builder
	buf := make([]byte, 64)
	for {
		n, err := out.Read(buf)
		rest.Write(buf[:n])
		if err != nil {
			break // The pipe ends with the process.
		}
	}
	_ = cmd.Wait() // The code says how it ended.
	if rest.String() != "stopped\n" || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("printed %q and exit code %d, want stopped and 5", rest.String(), cmd.ProcessState.ExitCode())
	}
}
