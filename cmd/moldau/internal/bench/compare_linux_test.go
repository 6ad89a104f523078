package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	ossignal "os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain has this test program be the brokers of a comparison too: `bench floor`
// serves, and `serve` is a broker that does not start.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "bench" && os.Args[1] != "serve" {
		os.Exit(m.Run())
	}
	if os.Args[1] == "serve" {
		fmt.Fprintln(os.Stderr, "the disk | is on fire")
		os.Exit(1)
	}
	if err := runBench(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runBench runs the command until it ends or is told to; that is no error.
func runBench(args []string) error {
	ctx, stop := ossignal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cmd := Command()
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// TestComparisonGoesOn: a broker that does not start fails its rows, which say why,
// and the others are measured.
func TestComparisonGoesOn(t *testing.T) {
	c := comparison{
		scale: 0.001, runs: 3, starts: 1, idle: time.Millisecond, dir: t.TempDir(), groups: 10,
		apache: "/nowhere/control", only: "acks 1", limit: cellLimit,
	}
	var out, progress strings.Builder
	c.progress = &progress
	err := c.run(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "measurements failed") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{
		"| produce 1 KiB, acks 1 | floor | ",
		"| produce 1 KiB, acks 1 | moldau (2 of 2 runs failed) | failed: could not be started: moldau ended while starting; its log ends: the disk \\| is on fire",
		"| produce 1 KiB, acks 1 | Apache Kafka (2 of 2 runs failed) | failed: /nowhere/control start:",
		"| produce 1 KiB, acks 1 | rate ≥ 0.65 × floor | not measured | **missed** |",
		"| start to first answer | < 30ms | not measured | **missed** |",
		"| moldau | failed: moldau ended while starting",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
	if !strings.Contains(progress.String(), "all of it takes about ") {
		t.Errorf("no estimate:\n%s", progress.String())
	}
}

// TestBrokerThatDies: the row says so at once, and the next one has it running again.
func TestBrokerThatDies(t *testing.T) {
	p, err := floorPeer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := comparison{scale: 0.001, runs: 1, progress: io.Discard, limit: cellLimit}
	if err := c.revive(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	killed := workload{name: "killed", play: func(ctx context.Context, target Target, _ scale) (Result, error) {
		if err := syscall.Kill(target.PID, syscall.SIGKILL); err != nil {
			return Result{}, err
		}
		<-ctx.Done() // As a client that tries again for ever.
		return Result{}, ctx.Err()
	}}
	r, err := c.play(t.Context(), killed, []*peer{p})
	if err != nil {
		t.Fatal(err)
	}
	if found := r.cells[nameFloor].err; found == nil || !strings.Contains(found.Error(), "floor ended by itself") {
		t.Errorf("the row says %v", found)
	}
	r, err = c.play(t.Context(), workloads(scale(c.scale))[1], []*peer{p})
	if err != nil || r.cells[nameFloor].err != nil || r.cells[nameFloor].Records == 0 {
		t.Errorf("the next row: %+v, %v", r.cells[nameFloor], err)
	}
}

// TestStuckBroker: one that takes all of its time is stopped, and starts again.
func TestStuckBroker(t *testing.T) {
	p, err := floorPeer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := comparison{scale: 0.001, progress: io.Discard, limit: 10 * time.Millisecond}
	if err := c.revive(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	before := p.pid()
	_, err = c.playOnce(t.Context(), workload{play: func(ctx context.Context, _ Target, _ scale) (Result, error) {
		<-ctx.Done()
		return Result{}, ctx.Err()
	}}, p)
	if err == nil || err.Error() != "not done within 10ms" || p.running() {
		t.Errorf("error %v, running %v", err, p.running())
	}
	if err := c.revive(t.Context(), p); err != nil || p.pid() == before {
		t.Errorf("not started again: %v", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
