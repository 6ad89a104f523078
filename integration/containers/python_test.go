package containers

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Testcontainers' Python module starts the image, and kafka-python works through it,
// with ZooKeeper, which is that module's default, and without.
func TestPythonModule(t *testing.T) {
	for name, args := range map[string][]string{"ZooKeeper": nil, "KRaft": {"kraft"}} {
		t.Run(name, func(t *testing.T) { pythonRoundtrip(t, append([]string{tagged(t, "moldau:8.0.0")}, args...)) })
	}
}

// pythonRoundtrip takes numbers through an image, the first of args, by the Python
// module.
func pythonRoundtrip(t *testing.T, args []string, env ...string) {
	t.Helper()
	need(t, "python3")
	dir, err := filepath.Abs("../../bin/testcontainers-python")
	if err != nil {
		t.Fatal(err)
	}
	fetchOnce(t, dir, "python/requirements.txt", func(dir string) *exec.Cmd {
		return program(t, "python3", "-m", "pip", "install", "-q", "--no-deps", "--target", dir, "-r", "python/requirements.txt")
	})
	// -S keeps out what this machine's Python has of its own accord: a package that is
	// not in the requirements is missing here as in a new virtual environment.
	cmd := program(t, "python3", append([]string{"-S", "python/roundtrip.py"}, args...)...)
	// A published port is on loopback, even where the tests run in a container.
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+dir, "TESTCONTAINERS_CONNECTION_MODE=docker_host")
	cmd.Env = append(cmd.Env, env...)
	wantOutput(t, cmd, "read 100\n")
}
