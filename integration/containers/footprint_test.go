package containers

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// The quickest of ten starts in a container is ready within 50 ms of the process'
// exec. What else the machine does can only add to it, so the quickest is nearest
// to what the broker takes.
func TestReadyIn50Milliseconds(t *testing.T) {
	quickest := time.Hour
	for range 10 {
		took := timeToReady(t)
		t.Logf("ready after %v", took)
		if quickest = min(quickest, took); quickest < 50*time.Millisecond {
			break // More starts would show nothing else.
		}
	}
	if quickest <= 0 || quickest >= 50*time.Millisecond {
		t.Errorf("the quickest start took %v, want less than 50 ms", quickest)
	}
}

var (
	execLine  = regexp.MustCompile(`exec at (\d+)\.(\d{6})`)
	readyLine = regexp.MustCompile(`\[([0-9 :,-]+)\] INFO .*Transitioning from RECOVERY to RUNNING`)
)

// timeToReady starts a container whose shell tells the time and becomes the broker.
func timeToReady(t *testing.T) time.Duration {
	t.Helper()
	c := run(t, testcontainers.WithEntrypoint("bash", "-c", `echo exec at $EPOCHREALTIME; exec moldau serve --from-environment`),
		testcontainers.WithCmd(), testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
	log := logOf(t, c)
	began, line := execLine.FindStringSubmatch(log), readyLine.FindStringSubmatch(log)
	if began == nil || line == nil {
		t.Fatalf("the log has not both times:\n%s", log)
	}
	seconds, err := strconv.ParseInt(began[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	micros, err := strconv.ParseInt(began[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	// The container has no time zone, so its log is in UTC.
	end, err := time.Parse("2006-01-02 15:04:05,000", line[1])
	if err != nil {
		t.Fatal(err)
	}
	return end.Sub(time.Unix(seconds, micros*1000))
}

// An idle broker in a container holds less than 30 MiB of memory of its own.
func TestIdleMemory(t *testing.T) {
	c := run(t, testcontainers.WithExposedPorts("9092/tcp"), testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
	// Idle means: it has been used.
	produce(t, inside(t, c)+":9092", "numbers", 0, 1000)
	consume(t, inside(t, c)+":9092", "numbers", 1000)
	inspect, err := c.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", inspect.State.Pid))
	if err != nil {
		out, code := in(t, c, "cat", "/proc/1/status")
		if code != 0 {
			t.Fatalf("neither %v nor inside: %s", err, out)
		}
		text = []byte(out)
	}
	_, rest, ok := strings.Cut(string(text), "RssAnon:")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 2 || !strings.HasPrefix(string(text), "Name:\tmoldau\n") {
		t.Fatalf("no RssAnon of moldau in\n%s", text)
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KiB anonymous", kib)
	if kib < 1024 || kib >= 30*1024 {
		t.Errorf("%d KiB anonymous, want less than 30 MiB and more than nothing", kib)
	}
}
