package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// anonymous returns the anonymous resident memory of a process in bytes: what it
// holds itself, without the pages of files that it maps.
func anonymous(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no RssAnon in the status of a process")
	return 0
}

// request frames an ApiVersions request, the first thing that every client sends.
func request() []byte {
	body := kmsg.NewRequestFormatter(kmsg.FormatterClientID("footprint")).
		AppendRequest(nil, &kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: "footprint", ClientSoftwareVersion: "1"}, 1)
	return body
}

// TestConnections opens 5,000 connections, each of which has made a request and
// waits: together they may cost 64 MiB, and the broker still answers others.
func TestConnections(t *testing.T) {
	ours(t)
	if runtime.GOOS != "linux" {
		t.Skip("SKIP footprint: reads /proc")
	}
	const connections, limit = 5000, 64 << 20
	b := NewMoldau(t)
	b.Start(t)
	before := anonymous(t, b.cmd.Process.Pid)

	frame := request()
	answer := make([]byte, 64<<10)
	for n := range connections {
		c, err := net.Dial("tcp", b.Addr())
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		defer c.Close()
		if _, err := c.Write(frame); err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		size, err := readFrame(c, answer)
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		if correlation := (&kbin.Reader{Src: answer[:size]}).Int32(); correlation != 1 {
			t.Fatalf("connection %d: answer to request %d", n, correlation)
		}
	}
	after := anonymous(t, b.cmd.Process.Pid)
	t.Logf("%d connections: %d KiB before, %d KiB after, %d bytes each", connections, before>>10, after>>10, (after-before)/connections)
	if after-before > limit {
		t.Errorf("%d connections took %d MiB, want at most %d", connections, (after-before)>>20, limit>>20)
	}
	if _, err := admin(t, b.Addr()).ListTopics(t.Context()); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// TestHangUpsLeaveNothing is case O09: a thousand clients that hang up in the middle of
// a request leave no file open.
func TestHangUpsLeaveNothing(t *testing.T) {
	ours(t)
	if runtime.GOOS != "linux" {
		t.Skip("SKIP footprint: reads /proc")
	}
	b := NewMoldau(t)
	b.Start(t)
	if _, err := admin(t, b.Addr()).ListTopics(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := open()
	frame := request()
	for n := range 1000 {
		c, err := net.Dial("tcp", b.Addr())
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		if _, err := c.Write(frame[:n%len(frame)]); err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := until(ctx, "the files of 1000 clients to be closed", func() bool { return open() <= before }); err != nil {
		t.Errorf("%d files open before, %d after: %v", before, open(), err)
	}
}

// readFrame reads one answer into buf and returns its size.
func readFrame(c net.Conn, buf []byte) (int, error) {
	if _, err := io.ReadFull(c, buf[:4]); err != nil {
		return 0, err
	}
	size := int((&kbin.Reader{Src: buf[:4]}).Int32())
	if size < 4 || size > len(buf) {
		return 0, fmt.Errorf("frame of %d bytes", size)
	}
	return io.ReadFull(c, buf[:size])
}

// BenchmarkProduce sends records of 1 KiB by one franz-go producer with acks=all
// over loopback, as fast as it goes: client and broker share the machine.
func BenchmarkProduce(b *testing.B) {
	m := NewMoldau(b)
	m.Start(b)
	client, err := kgo.NewClient(kgo.SeedBrokers(m.Addr()), kgo.DefaultProduceTopic("bench"), kgo.AllowAutoTopicCreation(),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	value := make([]byte, 1024)
	var failed firstError
	if err := client.ProduceSync(b.Context(), &kgo.Record{Value: value}).FirstErr(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		client.Produce(b.Context(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) { failed.add(err) })
	}
	if err := client.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	if err := failed.get(); err != nil {
		b.Fatal(err)
	}
}
