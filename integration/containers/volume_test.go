package containers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// stopIn is how long a container may take to stop; after that the engine kills it.
const stopIn = 10 * time.Second

// Data outlives a kill, a stop and the container itself, on every place where users
// of the images mount a volume.
func TestVolume(t *testing.T) {
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	for name, target := range map[string]string{
		"apache and confluentinc": "/var/lib/kafka/data",
		"bitnami":                 "/bitnami/kafka",
		"bitnami, above":          "/bitnami",
		"apache's default":        "/tmp/kraft-combined-logs",
		"Kafka's default":         "/tmp/kafka-logs",
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			volume, err := docker.VolumeCreate(ctx, client.VolumeCreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			onVolume := func() testcontainers.Container {
				return run(t, testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()),
					testcontainers.WithEnv(map[string]string{"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0"}),
					testcontainers.WithHostConfigModifier(func(cfg *container.HostConfig) {
						cfg.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: volume.Volume.Name, Target: target}}
					}))
			}
			c := onVolume()
			// The cleanups of containers run first.
			addr := func() string { return inside(t, c) + ":9092" }
			produce(t, addr(), "numbers", 0, 1000)

			if _, err := docker.ContainerKill(ctx, c.GetContainerID(), client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
				t.Fatal(err)
			}
			if err := wait.ForExit().WaitUntilReady(ctx, c); err != nil {
				t.Fatal(err)
			}
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			consume(t, addr(), "numbers", 1000)
			produce(t, addr(), "numbers", 1000, 1500)

			timeout := stopIn
			if err := c.Stop(ctx, &timeout); err != nil {
				t.Fatal(err)
			}
			if state, err := c.State(ctx); err != nil || state.ExitCode != 0 {
				t.Errorf("exit code %d (%v) after a stop, want 0:\n%s", state.ExitCode, err, logOf(t, c))
			}
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			produce(t, addr(), "numbers", 1500, 2000)
			if err := c.Terminate(ctx); err != nil {
				t.Fatal(err)
			}

			c = onVolume()
			cl := addr()
			consumeAs(t, cl, "numbers", "others", 2000)
			produce(t, cl, "numbers", 2000, 2001)
			if err := c.Terminate(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := docker.VolumeRemove(ctx, volume.Volume.Name, client.VolumeRemoveOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A folder of this machine that the image's user may not write to ends the container
// with a line that names the user; one that it may write to serves, whoever owns it.
func TestHostFolder(t *testing.T) {
	for name, tc := range map[string]struct {
		user  string // Empty for the image's.
		owner int
		mode  os.FileMode
		says  string // Of the error; empty if it is to serve.
	}{
		"root's alone":                {owner: 0, mode: 0o755, says: "/var/lib/kafka/data is not writable by uid 1000, gid 0: "},
		"root's alone, another user":  {user: "4321:4321", owner: 0, mode: 0o755, says: "is not writable by uid 4321, gid 4321: "},
		"of the image's user":         {owner: 1000, mode: 0o700},
		"of any user by its number":   {user: "4321:4321", owner: 4321, mode: 0o700},
		"root's, writable by group 0": {owner: 0, mode: 0o770},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getuid() != 0 {
				t.Skip("only root gives a folder to others")
			}
			// The folders above belong to root alone, which a mount does not ask about.
			folder := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chown(folder, tc.owner, 0), os.Chmod(folder, tc.mode)); err != nil {
				t.Fatal(err)
			}
			var until wait.Strategy = wait.ForLog(ready).AsRegexp()
			if tc.says != "" {
				until = wait.ForExit()
			}
			c := run(t, testcontainers.WithWaitStrategy(until),
				testcontainers.WithConfigModifier(func(cfg *container.Config) {
					if tc.user != "" {
						cfg.User = tc.user
					}
				}),
				testcontainers.WithHostConfigModifier(func(cfg *container.HostConfig) {
					cfg.Mounts = []mount.Mount{{Type: mount.TypeBind, Source: folder, Target: "/var/lib/kafka/data"}}
				}))
			if log := logOf(t, c); !strings.Contains(log, tc.says) {
				t.Errorf("the log is\n%s\nwithout %q", log, tc.says)
			}
		})
	}
}
