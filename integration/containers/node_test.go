package containers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Testcontainers' Node module starts the image, and kafkajs works through it. The
// module reads a version out of the tag, and starts Kafka without ZooKeeper from 8.0.0
// on.
func TestNodeModule(t *testing.T) {
	for _, tag := range []string{"8.0.0", "7.3.0"} {
		t.Run(tag, func(t *testing.T) { nodeRoundtrip(t, tagged(t, "moldau:"+tag)) })
	}
}

// nodeRoundtrip takes numbers through an image by the Node module.
func nodeRoundtrip(t *testing.T, image string, env ...string) {
	t.Helper()
	modules := nodeModules(t)
	cmd := program(t, "node", "roundtrip.js", image)
	cmd.Dir = modules
	cmd.Env = append(cmd.Environ(), env...)
	wantOutput(t, cmd, "read 100\n")
}

// nodeModules has npm install what node/package-lock.json names into a copy of that
// folder, once per state of it, and returns the copy.
func nodeModules(t *testing.T) string {
	t.Helper()
	need(t, "node", "npm")
	dir, err := filepath.Abs("../../bin/testcontainers-node")
	if err != nil {
		t.Fatal(err)
	}
	fetchOnce(t, dir, "node/package-lock.json", func(dir string) *exec.Cmd {
		if err := os.CopyFS(dir, os.DirFS("node")); err != nil {
			t.Fatal(err)
		}
		// What the packages would compile is for other engines and is not needed.
		cmd := program(t, "npm", "ci", "--ignore-scripts", "--no-progress")
		cmd.Dir = dir
		return cmd
	})
	// The program itself may have changed since.
	text, err := os.ReadFile("node/roundtrip.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "roundtrip.js"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
