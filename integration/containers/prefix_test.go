package containers

import (
	"os"
	"testing"
)

// prefix looks like a registry's host with a path and a slash, the spelling that the
// modules of all four languages take alike: Node's takes a prefix without a host for a
// registry, and puts a second slash behind it. No such registry is asked, because the
// engine has the image.
const prefix = "registry.example/team/"

// A suite that names Confluent's image is given ours by the environment alone, in
// each language.
func TestImageNamePrefix(t *testing.T) {
	const image = "confluentinc/cp-kafka:8.0.0"
	const variable = "TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX=" + prefix
	tagged(t, prefix+image)
	t.Run("Go", func(t *testing.T) {
		// testcontainers-go reads its settings once in a process.
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := program(t, self, "-test.run=^TestModule$/^as_it_is$", "-test.v")
		cmd.Env = append(cmd.Environ(), variable, "MOLDAU_IMAGE="+image)
		wantOutput(t, cmd, "PASS\n")
	})
	t.Run("Java", func(t *testing.T) { javaRoundtrip(t, image, variable) })
	t.Run("Node", func(t *testing.T) { nodeRoundtrip(t, image, variable) })
	t.Run("Python", func(t *testing.T) { pythonRoundtrip(t, []string{image}, variable) })
}
