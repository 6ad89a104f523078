package kafkatools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What waits for a ZooKeeper's port finds it there until the tool is ended.
func TestZooKeeperPort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zookeeper.properties")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	if err := os.WriteFile(file, fmt.Appendf(nil, "clientPort=%s\nclientPortAddress=127.0.0.1\n", port), 0o644); err != nil {
		t.Fatal(err)
	}

	var errs bytes.Buffer
	if code := Run(t.Context(), &Env{Out: io.Discard, Err: &errs}, "zookeeper-server-start", []string{file}); code != 1 ||
		!strings.Contains(errs.String(), "clientPort of "+file) {
		t.Errorf("with the port taken: exit code %d, %q", code, errs.String())
	}

	free.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, &Env{Out: w, Err: io.Discard}, "zookeeper-server-start", []string{file})
		w.Close()
	}()
	line := make([]byte, len(noZooKeeper))
	if _, err := io.ReadFull(r, line); err != nil || string(line) != noZooKeeper {
		t.Fatalf("printed %q (%v)", line, err)
	}
	go io.Copy(io.Discard, r)
	for range 2 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || len(got) > 0 {
			t.Errorf("read %q (%v), want the end", got, err)
		}
		c.Close()
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d after it was ended, want 0", got)
	}
}
