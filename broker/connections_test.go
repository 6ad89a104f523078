package broker

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol"
)

// TestConnectionLimitsOfZero: a limit of no connections is one, not none. Apache Kafka
// 4.2 closes what comes from an address without a place, and leaves waiting whom
// max.connections keeps out.
func TestConnectionLimitsOfZero(t *testing.T) {
	const answered, closed, waits = "answered", "closed", "waits"
	for name, tc := range map[string]struct {
		settings map[string]string
		want     map[string]string // By address.
	}{
		"per address, with an exception": {
			map[string]string{"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "10.0.0.2:1"},
			map[string]string{"10.0.0.1": closed, "10.0.0.2": answered},
		},
		"in all": {map[string]string{"max.connections": "0"}, map[string]string{"10.0.0.1": waits}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, vfs.NewMem(), tc.settings)
				got := map[string]string{}
				for ip := range tc.want {
					got[ip] = w.outcome(t, ip)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestConnectionRateOfZero: Apache Kafka 4.2 answered the fourth connection three
// seconds after the first.
func TestConnectionRateOfZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), map[string]string{"max.connection.creation.rate": "0"})
		w.outcome(t, "10.0.0.1")
		began := time.Now()
		for range 3 {
			if got := w.outcome(t, "10.0.0.1"); got != "answered" {
				t.Error(got)
			}
		}
		if took := time.Since(began).Round(time.Millisecond); took != 3*time.Second {
			t.Errorf("three more connections took %v", took)
		}
	})
}

// outcome is what becomes of a connection from that address.
func (w *world) outcome(t *testing.T, ip string) string {
	t.Helper()
	nc, err := w.net.DialFrom(t.Context(), ip, "tcp", memAddr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	h := protocol.RequestHeader{Key: 18, Correlation: 1} // ApiVersions.
	frame := protocol.AppendRequestHeader([]byte{0, 0, 0, 0}, h)
	frame[3] = byte(len(frame) - 4)
	nc.Write(frame) // Who is refused reads of it.
	nc.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = protocol.ReadFrame(nc, 1<<20)
	switch {
	case err == nil:
		return "answered"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "waits"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "closed"
	}
	return err.Error()
}

// TestNobodyMayConnect: as with Kafka, a broker that would close every connection does
// not start.
func TestNobodyMayConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := memnet.New()
		b, err := New(Config{
			Dir: "/data", Listen: memAddr, FS: vfs.NewMem(), ListenFunc: net.Listen,
			Settings: map[string]string{"max.connections.per.ip": "0"},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		select {
		case <-b.Ready():
			t.Error("it serves")
		case err := <-done:
			if refused, ok := errors.AsType[*SettingError](err); !ok || refused.Name != "max.connections.per.ip" {
				t.Error(err)
			}
		}
		stop()
	})
}
