package hostile_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker"
	"github.com/moldau-broker/moldau/broker/internal/hostile"
	"github.com/moldau-broker/moldau/protocol"
)

// A night's run: go test -run Worst ./broker/internal/hostile -hostile.worst=100000 -v -timeout 1h.
var (
	worstCount = flag.Int("hostile.worst", 12, "requests in TestWorstArrays; there are some hundreds")
	worstMatch = flag.String("hostile.only", "", "only the requests whose description contains this")
)

// The broker's memory may grow by its budget (queued.max.request.bytes) and this.
const (
	budgetBytes = 256 << 20
	overBudget  = 64 << 20
)

const dirVariable = "MOLDAU_HOSTILE_DIR"

// TestMain is the broker too: memory can be measured only of a whole process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		serve(dir)
		return
	}
	os.Exit(m.Run())
}

func serve(dir string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := broker.New(broker.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	go func() {
		<-b.Ready()
		fmt.Fprintln(os.Stdout, b.Addr())
	}()
	if err := b.Run(ctx); err != nil {
		panic(err)
	}
}

// TestWorstArrays sends requests each of which has the longest array that its frame
// allows. The broker's anonymous memory stays within its budget and a little, and
// another connection goes on being answered.
func TestWorstArrays(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIP worst arrays: reads /proc")
	}
	addr, pid := start(t)
	bombs := worst(addr, t)
	w := watch(t, addr, pid)
	defer w.stop()
	base := anonymous(t, pid)
	for _, b := range bombs {
		w.reset()
		began := time.Now()
		answered, err := throw(addr, b)
		took := time.Since(began)
		grown := w.most.Load() - base
		t.Logf("%6d KiB, %5d ms, slowest other %4d ms, answer %9d bytes (%v): %v",
			grown>>10, took.Milliseconds(), w.slowest.Load()/1000, answered, err, b)
		if grown > budgetBytes+overBudget {
			t.Errorf("%v: memory grew by %d MiB", b, grown>>20)
		}
	}
	if err := w.err(); err != nil {
		t.Errorf("the other connection: %v", err)
	}
}

// worst picks the bombs of this run.
func worst(addr string, t *testing.T) []hostile.Bomb {
	rng := rand.New(rand.NewPCG(5, 6))
	f := hostile.NewFiller(rng, []string{"t"}, []string{"g"})
	var all []hostile.Bomb
	for _, k := range served(t, addr) {
		limit := budgetBytes/2/protocol.DecodeFactor - 64 // What is larger is refused by its size.
		if k.ApiKey == int16(kmsg.Produce) {
			limit, k.MinVersion = protocol.DefaultProduceBytes-64, max(k.MinVersion, 3)
		}
		for v := k.MinVersion; v <= k.MaxVersion; v++ {
			for b := range hostile.Worst(f, k.ApiKey, v, limit) {
				if strings.Contains(b.String(), *worstMatch) {
					all = append(all, b)
				}
			}
		}
	}
	t.Logf("%d requests in all", len(all))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(*worstCount, len(all))]
}

// start runs a broker as a process of its own.
func start(t *testing.T) (addr string, pid int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the broker ended: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid
}

func served(t *testing.T, addr string) []kmsg.ApiVersionsResponseApiKey {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wire, err := ask(c)
	if err != nil {
		t.Fatal(err)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = 3
	if err := resp.ReadFrom(wire[4:]); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(resp.ApiKeys, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	return resp.ApiKeys
}

// ask sends an ApiVersions request.
func ask(c net.Conn) ([]byte, error) {
	q := kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: "x", ClientSoftwareVersion: "1"}, 1)
	if _, err := c.Write(q); err != nil {
		return nil, err
	}
	return protocol.ReadFrame(c, 1<<20)
}

// throw sends a bomb and reads away what comes back.
func throw(addr string, b hostile.Bomb) (answered int64, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	header := []byte{0, 0, 0, 0}
	header = binary.BigEndian.AppendUint16(header, uint16(b.Key))
	header = binary.BigEndian.AppendUint16(header, uint16(b.Version))
	header = append(header, 0, 0, 0, 1, 0xff, 0xff)
	if q := kmsg.RequestForKey(b.Key); true {
		q.SetVersion(b.Version)
		if q.IsFlexible() {
			header = append(header, 0)
		}
	}
	binary.BigEndian.PutUint32(header, uint32(len(header)-4+b.Bytes()))
	if _, err := c.Write(b.AppendTo(header)); err != nil {
		return 0, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return 0, err
	}
	return io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(size[:])))
}

// watcher looks at a broker's memory and talks to it meanwhile.
type watcher struct {
	most    atomic.Int64 // Bytes.
	slowest atomic.Int64 // Microseconds.
	ended   chan error
	done    chan struct{}
}

func watch(t *testing.T, addr string, pid int) *watcher {
	w := &watcher{ended: make(chan error, 1), done: make(chan struct{})}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer c.Close()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				w.ended <- nil
				return
			case <-tick.C:
			}
			began := time.Now()
			c.SetDeadline(began.Add(30 * time.Second))
			if _, err := ask(c); err != nil {
				w.ended <- err
				return
			}
			raise(&w.slowest, time.Since(began).Microseconds())
			raise(&w.most, anonymous(t, pid))
		}
	}()
	return w
}

func raise(to *atomic.Int64, n int64) {
	for was := to.Load(); n > was && !to.CompareAndSwap(was, n); was = to.Load() {
	}
}

func (w *watcher) reset() {
	w.most.Store(0)
	w.slowest.Store(0)
}

func (w *watcher) stop() { close(w.done) }

// err is why the other connection ended; nil if it did not.
func (w *watcher) err() error {
	select {
	case err := <-w.ended:
		return err
	default:
		return nil
	}
}

// anonymous is the anonymous resident memory of a process, in bytes.
func anonymous(t *testing.T, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Error(err)
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Error(err)
			}
			return kib << 10
		}
	}
	t.Error("no RssAnon in the status of a process")
	return 0
}
