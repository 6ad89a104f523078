package broker

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// serveAt runs a broker with these settings until the bubble's end and returns
// what a client at an address is told by one of its listeners, and the log so far.
func serveAt(t *testing.T, settings map[string]string) (ask func(from, dial string) string, log func() string) {
	t.Helper()
	w := &world{t: t, net: memnet.New(), log: &logLines{}, done: make(chan error, 1)}
	b, err := New(Config{
		Dir: "/data", Settings: settings, FS: vfs.NewMem(), ListenFunc: w.net.Listen,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Broker = b
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() { w.done <- b.Run(ctx) }()
	<-b.Ready()
	t.Cleanup(w.end)
	return func(from, dial string) string {
		cl, err := kgo.NewClient(kgo.SeedBrokers(dial), kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return w.net.DialFrom(ctx, from, network, dial)
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		meta, err := kadm.NewClient(cl).BrokerMetadata(t.Context())
		if err != nil || len(meta.Brokers) != 1 {
			t.Fatalf("brokers %v (%v)", meta.Brokers, err)
		}
		return meta.Brokers[0].Host
	}, w.log.String
}

const misleading = "a client was told an address that is its own machine's"

// A client from elsewhere that is told an address of loopback is warned about
// once, with the line that mends it; one on this machine is not.
func TestMisledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask, log := serveAt(t, map[string]string{
			"listeners":                      "IN://172.31.255.2:9092,OUT://172.31.255.2:9093",
			"advertised.listeners":           "IN://broker:9092,OUT://localhost:19093",
			"listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
		})
		for _, tc := range []struct{ name, from, dial, told string }{
			{"another container by the right listener", "172.31.255.3", "172.31.255.2:9092", "broker"},
			{"this machine by loopback", "127.0.0.1", "172.31.255.2:9093", "localhost"},
			{"this machine by its own address", "172.31.255.2", "172.31.255.2:9093", "localhost"},
		} {
			if got := ask(tc.from, tc.dial); got != tc.told {
				t.Errorf("%s was told %s, want %s", tc.name, got, tc.told)
			}
			if strings.Contains(log(), misleading) {
				t.Errorf("%s was warned about:\n%s", tc.name, log())
			}
		}
		ask("172.31.255.3", "172.31.255.2:9093")
		ask("172.31.255.4", "172.31.255.2:9093")
		if n := strings.Count(log(), misleading); n != 1 {
			t.Errorf("warned %d times, want once:\n%s", n, log())
		}
		const mend = "advertised.listeners=IN://broker:9092,OUT://172.31.255.2:9093"
		if !strings.Contains(log(), mend) || !strings.Contains(log(), "client=172.31.255.3") {
			t.Errorf("the warning names not the client and %s:\n%s", mend, log())
		}
	})
}

// Without an advertised address every client is told the one that it used, and
// nobody is misled; each listener is introduced.
func TestReachedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask, log := serveAt(t, map[string]string{"listeners": "PLAINTEXT://:9092"})
		if got := ask("172.31.255.3", ":9092"); got != "" {
			t.Errorf("told %q, want what was dialled", got)
		}
		if strings.Contains(log(), misleading) {
			t.Errorf("it was warned about:\n%s", log())
		}
		const line = `msg=listener name=PLAINTEXT bind=:9092 clients_are_told="the address that their connection came in on"`
		if !strings.Contains(log(), line) {
			t.Errorf("%s is not in:\n%s", line, log())
		}
	})
}

func TestTold(t *testing.T) {
	for name, tc := range map[string]struct {
		l               listener
		address, serves string
	}{
		"nothing":    {listener{Port: 9092}, "", "whoever reaches that address itself, by a forwarded port or without"},
		"localhost":  {listener{AdvertisedHost: "localhost", Port: 9092}, "localhost:9092", "clients on this machine"},
		"loopback":   {listener{AdvertisedHost: "::1", AdvertisedPort: 1, Port: 2}, "[::1]:1", "clients on this machine"},
		"a name":     {listener{AdvertisedHost: "kafka", AdvertisedPort: 1}, "kafka:1", "whoever resolves and reaches kafka"},
		"an address": {listener{AdvertisedHost: "10.0.0.1", AdvertisedPort: 1}, "10.0.0.1:1", "whoever reaches 10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if address, serves := tc.l.told(); address != tc.address || serves != tc.serves {
				t.Errorf("%q for %q, want %q for %q", address, serves, tc.address, tc.serves)
			}
		})
	}
}

// The host of a container is at the first address of the container's network. The
// first address is nobody else's when it is this machine's own, and a network of
// one has no other.
func TestGateways(t *testing.T) {
	var own []netip.Prefix
	for _, p := range []string{"127.0.0.1/8", "172.18.0.2/16", "10.1.2.3/32", "fd00::2/64", "192.168.7.1/24"} {
		own = append(own, netip.MustParsePrefix(p))
	}
	want := map[netip.Addr]bool{netip.MustParseAddr("172.18.0.1"): true, netip.MustParseAddr("fd00::1"): true}
	if diff := cmp.Diff(want, gateways(own), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}
