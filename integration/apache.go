package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// apacheHome is the folder with Apache Kafka's jars and tools, which "make
// apache-tools" fills.
func apacheHome() string {
	if home := os.Getenv("APACHE_HOME"); home != "" {
		return home
	}
	home, err := filepath.Abs("../.apache")
	if err != nil {
		return "../.apache"
	}
	return home
}

// apacheTool returns the path of one of Apache Kafka's command-line tools; the test skips
// if they are not there.
func apacheTool(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(apacheHome(), "bin", name+".sh")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIP %s: Apache Kafka's tools are not in %s; make apache-tools fetches them", name, apacheHome())
	}
	return path
}

// kcat returns the path of kcat; the test skips if it is not there.
func kcat(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	if err != nil {
		t.Skip("SKIP kcat: not in PATH")
	}
	return path
}

// Apache is Apache Kafka as a process: the control. The script compat/apache/control
// starts and ends it.
type Apache struct {
	dir              string
	port, controller string
	running          bool
}

// NewApache returns a control on a fresh data directory, not started yet.
func NewApache(t testing.TB) *Apache {
	t.Helper()
	// Each free by itself: the one behind a free port may be a client's.
	port, controller := freePorts(t)
	a := &Apache{dir: filepath.Join(t.TempDir(), "data"), port: port, controller: controller}
	t.Cleanup(func() {
		if a.running {
			a.Kill(t)
		}
	})
	return a
}

// Addr implements Broker.
func (a *Apache) Addr() string { return net.JoinHostPort("127.0.0.1", a.port) }

// Dir implements Broker.
func (a *Apache) Dir() string { return a.dir }

// Start implements Broker.
func (a *Apache) Start(t testing.TB) {
	t.Helper()
	a.control(t, "start")
	a.running = true
}

// Stop implements Broker.
func (a *Apache) Stop(t testing.TB) {
	t.Helper()
	a.running = false
	a.control(t, "stop")
}

// Kill implements Broker.
func (a *Apache) Kill(t testing.TB) {
	t.Helper()
	a.running = false
	a.control(t, "stop", "kill")
}

func (a *Apache) control(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("../compat/apache/control", args...)
	cmd.Env = append(os.Environ(), "APACHE_HOME="+apacheHome(), "APACHE_PORT="+a.port,
		"APACHE_CONTROLLER_PORT="+a.controller, "APACHE_DATA="+a.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// freePorts returns two ports that nobody listens on, which are not the same one.
func freePorts(t testing.TB) (string, string) {
	t.Helper()
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // Not before the other has its own.
		_, ports[i], err = net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
	}
	return ports[0], ports[1]
}
