package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServerStartAndStop runs a broker as Kafka's scripts do: formatted with an id
// of one's own, started on a file with an override, found and ended by
// kafka-server-stop. A node id of its own keeps it from ending anybody else's.
func TestServerStartAndStop(t *testing.T) {
	const nodeID = 73912
	bin := toolLinks(t)
	dir := t.TempDir()
	addr := freeAddr(t)
	file := filepath.Join(dir, "server.properties")
	content := fmt.Sprintf("process.roles=broker,controller\nnode.id=%d\ncontroller.quorum.voters=%[1]d@127.0.0.1:9093\n"+
		"controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://%s\nlog.dirs=%s\n", nodeID, addr, filepath.Join(dir, "data"))
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	const clusterID = "4L6g3nShT-eMCtK--X86sw"
	if out, err := exec.Command(filepath.Join(bin, "kafka-storage.sh"), "format", "-t", clusterID, "-c", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var log logBuffer
	server := exec.Command(filepath.Join(bin, "kafka-server-start.sh"), file, "--override", "num.partitions=3")
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- server.Wait() }()
	t.Cleanup(func() { _ = server.Process.Kill() })
	ctx, cancel := context.WithTimeout(t.Context(), readyIn)
	defer cancel()
	if err := until(ctx, "the broker", func() bool { return strings.Contains(log.String(), "Kafka Server started") }); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	meta, err := admin(t, addr).BrokerMetadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if meta.Cluster != clusterID {
		t.Errorf("the cluster is %s, want %s", meta.Cluster, clusterID)
	}
	if out, err := exec.Command(filepath.Join(bin, "kafka-server-stop.sh"), fmt.Sprintf("--node-id=%d", nodeID)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("the broker ended with %v\n%s", err, log.String())
		}
	case <-time.After(time.Minute):
		t.Fatalf("the broker was not ended\n%s", log.String())
	}
}
