package containers

import (
	"context"
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// The start sequence of each module of another language ends with a broker that a
// client works with through the mapped port.
func TestReplays(t *testing.T) {
	for name, r := range replays() {
		t.Run(name, func(t *testing.T) {
			opts := []testcontainers.ContainerCustomizer{
				testcontainers.WithEnv(r.env), testcontainers.WithCmd(r.command...), testcontainers.WithExposedPorts(r.port),
			}
			if r.entrypoint != nil {
				opts = append(opts, testcontainers.WithEntrypoint(r.entrypoint...))
			}
			c := run(t, opts...)
			ctx, cancel := context.WithTimeout(t.Context(), readyIn)
			defer cancel()
			// The port is mapped before anything listens at it.
			if err := wait.ForMappedPort(r.port).WaitUntilReady(ctx, c); err != nil {
				t.Fatal(err)
			}
			inspect, err := c.Inspect(ctx)
			if err != nil {
				t.Fatal(err)
			}
			addr := mapped(t, c, r.port)
			body := r.body(addr, inspect.Config.Hostname, inside(t, c))
			if r.byUser {
				if out, code := in(t, c, "sh", "-c", "echo '"+body+"' > "+r.script); code != 0 {
					t.Fatalf("the user of the image cannot write %s: %s", r.script, out)
				}
			} else if err := c.CopyToContainer(ctx, []byte(body), r.script, r.mode); err != nil {
				t.Fatal(err)
			}
			if err := wait.ForLog(r.waits).AsRegexp().WaitUntilReady(ctx, c); err != nil {
				t.Fatalf("%v\n%s", err, logOf(t, c))
			}
			produce(t, addr, "numbers", 0, 100)
			consume(t, addr, "numbers", 100)
			toolsWorked(t, logOf(t, c), r.prints)
		})
	}
}

// toolsWorked holds the log of a container to what its scripts' tools print, and to
// no complaint about one of them: most scripts go on when a tool fails.
func toolsWorked(t *testing.T, log, prints string) {
	t.Helper()
	if !strings.Contains(log, prints) {
		t.Errorf("the log lacks %q:\n%s", prints, log)
	}
	for _, complaint := range []string{"unknown command", "command not found", "No such file", "Exception in thread", "rror:"} {
		if strings.Contains(log, complaint) {
			t.Errorf("the log has %q:\n%s", complaint, log)
		}
	}
}
