package main

import (
	"slices"
	"testing"
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
