package containers

import (
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/testcontainers/testcontainers-go/wait"
	"github.com/twmb/franz-go/pkg/kgo"
)

const misleading = "a client was told an address that is its own machine's"

// With nothing configured, a client works whether it is another container that
// knows a name, or this machine by a published port or by the container's address.
func TestNothingConfigured(t *testing.T) {
	net, err := network.New(t.Context())
	testcontainers.CleanupNetwork(t, net)
	if err != nil {
		t.Fatal(err)
	}
	c := run(t, network.WithNetwork([]string{"kafka"}, net), testcontainers.WithExposedPorts("9092/tcp"),
		testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
	produce(t, mapped(t, c, "9092/tcp"), "numbers", 0, 10)
	consume(t, inside(t, c)+":9092", "numbers", 10)
	other := run(t, network.WithNetwork([]string{"other"}, net), testcontainers.WithCmd("sleep", "600"))
	out, code := in(t, other, "sh", "-c", "moldau consume numbers -b kafka:9092 | tail -1")
	if code != 0 || out != "9\n" {
		t.Errorf("another container read %q (exit code %d), want 9 at last", out, code)
	}
	if log := logOf(t, c); strings.Contains(log, misleading) {
		t.Errorf("somebody was misled:\n%s", log)
	}
}

// With the address of loopback that compose files copy from each other, this
// machine works and other containers do not, of which one warning tells, with the
// line that mends it. With that line they work.
func TestLoopbackAdvertised(t *testing.T) {
	net, err := network.New(t.Context())
	testcontainers.CleanupNetwork(t, net)
	if err != nil {
		t.Fatal(err)
	}
	c := run(t, network.WithNetwork([]string{"kafka"}, net), testcontainers.WithExposedPorts("9092/tcp"),
		testcontainers.WithEnv(map[string]string{"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092"}),
		testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
	// The engine's host is asked no more than where the broker is: the port is not
	// mapped to the same number.
	cl := connect(t, mapped(t, c, "9092/tcp"))
	if err := cl.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := logOf(t, c); strings.Contains(log, misleading) {
		t.Errorf("the engine's host was warned about:\n%s", log)
	}
	// Nothing serves 9092 in the other container.
	other := run(t, network.WithNetwork([]string{"other"}, net), testcontainers.WithCmd("sleep", "600"))
	if out, code := in(t, other, "moldau", "doctor", "-b", "kafka:9092", "--timeout", "5s"); code == 0 {
		t.Errorf("the other container reached a broker at its own loopback: %s", out)
	}
	log := logOf(t, c)
	mend := "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://" + inside(t, c) + ":9092"
	if strings.Count(log, misleading) != 1 || !strings.Contains(log, mend) {
		t.Errorf("want one warning with %s:\n%s", mend, log)
	}
}

// A listener that the example of apache/kafka's page binds to loopback is not reached by
// a published port, of which one warning tells, with the line that mends it. With that
// line it is.
func TestLoopbackBound(t *testing.T) {
	const bound = "KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"
	const mend = "KAFKA_LISTENERS=PLAINTEXT://:9092,CONTROLLER://localhost:9093"
	start := func(listeners string) testcontainers.Container {
		name, value, _ := strings.Cut(listeners, "=")
		return run(t, testcontainers.WithExposedPorts("9092/tcp"), testcontainers.WithEnv(map[string]string{
			name: value, "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092",
		}), testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
	}
	c := start(bound)
	if err := connect(t, mapped(t, c, "9092/tcp"), kgo.RetryTimeout(time.Second)).Ping(t.Context()); err == nil {
		t.Error("a published port reaches a listener that is bound to loopback: the warning is wrong")
	}
	if log := logOf(t, c); strings.Count(log, "is bound to loopback") != 1 || !strings.Contains(log, "to be reached, set "+mend) {
		t.Errorf("want one warning with %s:\n%s", mend, log)
	}
	if err := connect(t, mapped(t, start(mend), "9092/tcp")).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
