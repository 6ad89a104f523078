package containers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/exec"
	"github.com/twmb/franz-go/pkg/kgo"
)

// imageName is the image under test.
func imageName() string {
	if name := os.Getenv("MOLDAU_IMAGE"); name != "" {
		return name
	}
	return "moldau:dev"
}

// readyIn is how long a container may take until it serves. It is for machines
// that do other things too; what a start takes is footprint_test.go's.
const readyIn = time.Minute

// ready is the line that most harnesses wait for.
const ready = `.*Transitioning from RECOVERY to RUNNING.*`

// run starts a container of the image, which ends with the test.
func run(t *testing.T, opts ...testcontainers.ContainerCustomizer) testcontainers.Container {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyIn)
	defer cancel()
	c, err := testcontainers.Run(ctx, imageName(), opts...)
	cleanUp(t, c)
	if err != nil {
		t.Fatalf("%v\n%s", err, logOf(t, c))
	}
	return c
}

// cleanUp ends a container with the test, and at once: what a clean stop does is
// volume_test.go's.
func cleanUp(t *testing.T, c testcontainers.Container) {
	t.Helper()
	testcontainers.CleanupContainer(t, c, testcontainers.StopTimeout(0))
}

// logOf is what a container has printed.
func logOf(t *testing.T, c testcontainers.Container) string {
	t.Helper()
	if c == nil || c.GetContainerID() == "" {
		return "(there is no container)"
	}
	// The test's own context may be what ran out.
	ctx, cancel := context.WithTimeout(context.Background(), readyIn)
	defer cancel()
	r, err := c.Logs(ctx)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return fmt.Sprintf("%s(the log is cut: %v)", text, err)
	}
	return string(text)
}

// in runs a command in a container and returns what it printed and its exit code.
func in(t *testing.T, c testcontainers.Container, command ...string) (output string, code int) {
	t.Helper()
	code, r, err := c.Exec(t.Context(), command, exec.Multiplexed())
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return b.String(), code
}

// mapped is where this machine reaches a port of a container.
func mapped(t *testing.T, c testcontainers.Container, port string) string {
	t.Helper()
	addr, err := c.PortEndpoint(t.Context(), port, "")
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// inside is the address of a container in its network.
func inside(t *testing.T, c testcontainers.Container) string {
	t.Helper()
	ip, err := c.ContainerIP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ip
}

// connect makes a client of the broker at an address; an operation of it takes readyIn
// at most.
func connect(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.RecordDeliveryTimeout(readyIn),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce writes the numbers [from, to) to a topic, and returns when all of them
// are acknowledged.
func produce(t *testing.T, addr, topic string, from, to int) {
	t.Helper()
	cl := connect(t, addr)
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", addr, err)
	}
	cl.Close()
}

// consume reads a topic of one partition as a member of a group, and holds it to be
// the numbers [0, n).
func consume(t *testing.T, addr, topic string, n int) {
	t.Helper()
	consumeAs(t, addr, topic, "readers", n)
}

// consumeAs is consume as a member of a group of that name, which read nothing yet.
func consumeAs(t *testing.T, addr, topic, group string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyIn)
	defer cancel()
	cl := connect(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group))
	for i := 0; i < n; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("consume from %s: %d of %d records: %v", addr, i, n, err)
		}
		for _, r := range fetches.Records() {
			if want := fmt.Sprint(i); string(r.Value) != want {
				t.Fatalf("record %d is %q, want %s", i, r.Value, want)
			}
			i++
		}
	}
	cl.Close()
}

// tagged gives the image under test another name for the length of a test: some
// modules read a version out of the tag.
func tagged(t *testing.T, name string) string {
	t.Helper()
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	if _, err := docker.ImageTag(t.Context(), client.ImageTagOptions{Source: imageName(), Target: name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := docker.ImageRemove(context.Background(), name, client.ImageRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	return name
}
