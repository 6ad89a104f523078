package integration

import (
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Moldau is our binary as a process.
type Moldau struct {
	bin, dir string
	args     []string // Beyond the data directory and the address.
	env      []string // Beyond the test's own.
	addr     string   // Empty until the first start has bound a port.
	log      logBuffer

	cmd    *exec.Cmd // Nil while stopped.
	exited chan error
}

var binary = flag.String("binary", "", "the binary under test; default: built from this tree")

// built is the folder of a binary that build built; TestMain removes it.
var built string

// removeBinary removes what build has built.
func removeBinary() {
	if built != "" {
		_ = os.RemoveAll(built) // In the folder for what may be lost.
	}
}

// build builds the binary once per test process, or takes the one that -binary names.
var build = sync.OnceValues(func() (string, error) {
	if *binary != "" {
		return filepath.Abs(*binary)
	}
	dir, err := os.MkdirTemp("", "moldau-integration-")
	if err != nil {
		return "", err
	}
	built = dir
	bin := filepath.Join(dir, "moldau")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/moldau")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return bin, nil
})

// binaryPath returns the path of the binary under test.
func binaryPath(t testing.TB) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatalf("building the binary: %v", err)
	}
	return bin
}

// NewMoldau returns a broker of ours on a fresh data directory, not started yet.
// It is killed when the test ends, and its log is shown if the test has failed.
func NewMoldau(t testing.TB, args ...string) *Moldau {
	t.Helper()
	m := &Moldau{bin: binaryPath(t), dir: filepath.Join(t.TempDir(), "data"), args: args}
	t.Cleanup(func() {
		if m.cmd != nil {
			m.Kill(t)
		}
		if t.Failed() {
			t.Logf("log of the broker:\n%s", m.log.String())
		}
	})
	return m
}

// Addr implements Broker.
func (m *Moldau) Addr() string { return m.addr }

// Dir implements Broker.
func (m *Moldau) Dir() string { return m.dir }

// Log returns what the broker wrote since its first start.
func (m *Moldau) Log() string { return m.log.String() }

// Start implements Broker. The first start lets the broker choose its port, the
// later ones ask for the same again, so that clients find it.
func (m *Moldau) Start(t testing.TB) {
	t.Helper()
	listen := m.addr
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	m.startWith(t, "--listen", listen)
}

// startWith is Start with arguments that say otherwise where to listen.
func (m *Moldau) startWith(t testing.TB, args ...string) {
	t.Helper()
	portFile := filepath.Join(t.TempDir(), "port")
	m.run(t, slices.Concat([]string{"serve", "--data-dir", m.dir, "--port-file", portFile}, args, m.args))

	ctx, cancel := context.WithTimeout(context.Background(), readyIn)
	defer cancel()
	var port []byte
	err := until(ctx, "the port file", func() bool {
		select {
		case err := <-m.exited:
			m.exited <- err
			t.Fatalf("the broker ended while starting: %v\n%s", err, m.log.String())
		default:
		}
		var err error
		port, err = os.ReadFile(portFile)
		return err == nil
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, m.log.String())
	}
	m.addr = net.JoinHostPort("127.0.0.1", strings.TrimSpace(string(port)))
}

// run starts the process without waiting for anything.
func (m *Moldau) run(t testing.TB, args []string) {
	t.Helper()
	cmd := exec.Command(m.bin, args...)
	cmd.Env = append(cmd.Environ(), m.env...)
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	m.cmd, m.exited = cmd, exited
	go func() { exited <- cmd.Wait() }()
}

// Stop implements Broker. A shutdown that takes long or ends in an error is one.
func (m *Moldau) Stop(t testing.TB) {
	t.Helper()
	if err := m.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("the broker ended after SIGTERM with %v", err)
	}
}

// Kill implements Broker.
func (m *Moldau) Kill(t testing.TB) {
	t.Helper()
	_ = m.end(t, syscall.SIGKILL) // Always "signal: killed".
}

// end sends a signal and waits for the process's end.
func (m *Moldau) end(t testing.TB, signal syscall.Signal) error {
	t.Helper()
	if err := m.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	m.cmd = nil
	select {
	case err := <-m.exited:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("the broker does not end after %v\n%s", signal, m.log.String())
		return nil
	}
}

// logBuffer collects what a process writes. Any goroutine may use it.
type logBuffer struct {
	mu struct {
		sync.Mutex
		text strings.Builder
	}
}

// Write implements io.Writer.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.text.Write(p)
}

// String returns what was written so far.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.text.String()
}
