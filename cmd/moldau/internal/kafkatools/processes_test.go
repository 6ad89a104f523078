package kafkatools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only brokers are found among the processes, and each with its settings.
func TestRunningServers(t *testing.T) {
	proc := t.TempDir()
	config := filepath.Join(proc, "server.properties")
	if err := os.WriteFile(config, []byte("node.id=7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for pid, line := range map[string]string{
		"100001": "/usr/bin/kafka-server-start " + config,
		"100002": "moldau serve --config " + config + " --set a=b",
		"100003": "moldau tool kafka-server-start.sh " + config,
		"100004": "moldau serve",
		"100005": "vim " + config,
		"100006": "/opt/kafka/bin/kafka-server-stop.sh",
		"100007": "moldau topics list",
		"100008": "kafka-server-start.sh -daemon " + config,
		"self":   "moldau serve",
	} {
		if err := os.MkdirAll(filepath.Join(proc, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(strings.ReplaceAll(line, " ", "\x00")+"\x00"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := runningServers(proc)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, s := range found {
		got[s.pid] = s.settings["node.id"]
	}
	want := map[int]string{100001: "7", 100002: "7", 100003: "7", 100004: ""}
	if len(got) != len(want) {
		t.Errorf("found %v, want %v", got, want)
	}
	for pid, id := range want {
		if node, ok := got[pid]; !ok || node != id {
			t.Errorf("process %d: found %v with node %q, want node %q", pid, ok, node, id)
		}
	}
}
