package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/moldau-broker/moldau/cmd/moldau/internal/kafkatools"
)

func TestAsTool(t *testing.T) {
	for name, tc := range map[string]struct {
		argv []string
		tool string
		args []string
	}{
		"a link":             {[]string{"/usr/bin/kafka-topics", "--list"}, "kafka-topics", []string{"--list"}},
		"with .sh":           {[]string{"/opt/kafka/bin/kafka-topics.sh"}, "kafka-topics", nil},
		"the subcommand":     {[]string{"moldau", "tool", "kafka-storage.sh", "random-uuid"}, "kafka-storage", []string{"random-uuid"}},
		"moldau itself":      {[]string{"moldau", "topics", "list"}, "", nil},
		"no tool":            {[]string{"moldau", "tool", "kafka-nonsense"}, "", nil},
		"the tools' help":    {[]string{"moldau", "tool"}, "", nil},
		"a name that begins": {[]string{"kafka-topics-old"}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			tool, args, ok := asTool(tc.argv)
			if tool != tc.tool || ok != (tc.tool != "") || !slices.Equal(args, tc.args) {
				t.Errorf("tool %q with %q, want %q with %q", tool, args, tc.tool, tc.args)
			}
		})
	}
}

// Each tool is in the image under its name, and the documents tell of it.
func TestToolsAreInImage(t *testing.T) {
	for _, path := range []string{"../../image/Dockerfile", "../../docs/kafka-tools.md", "../../docs/drop-in.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range kafkatools.Names() {
			if !regexp.MustCompile("[\\s`]" + name + "[\\s`;]").Match(text) {
				t.Errorf("%s lacks %s", path, name)
			}
		}
	}
}
