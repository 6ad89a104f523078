package containers

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Testcontainers' Python module starts the image, and kafka-python works through it,
// with ZooKeeper, which is that module's default, and without.
func TestPythonModule(t *testing.T) {
	need(t, "python3")
	dir, err := filepath.Abs("../../bin/testcontainers-python")
	if err != nil {
		t.Fatal(err)
	}
	fetchOnce(t, dir, "python/requirements.txt", func(dir string) *exec.Cmd {
		return program(t, "python3", "-m", "pip", "install", "-q", "--no-deps", "--target", dir, "-r", "python/requirements.txt")
	})
	for name, args := range map[string][]string{"ZooKeeper": nil, "KRaft": {"kraft"}} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, "python3", append([]string{"python/roundtrip.py", tagged(t, "moldau:8.0.0")}, args...)...)
			// A published port is on loopback, even where the tests run in a container.
			cmd.Env = append(cmd.Environ(), "PYTHONPATH="+dir, "TESTCONTAINERS_CONNECTION_MODE=docker_host")
			wantOutput(t, cmd, "read 100\n")
		})
	}
}
