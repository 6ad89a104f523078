package integration

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestServerProperties runs a broker by a settings file as users of Kafka have it:
// two listeners that each tell their own address, a node id and a rack, defaults
// for topics, and keys that mean nothing here.
func TestServerProperties(t *testing.T) {
	ours(t)
	inside, outside, ops := freeAddr(t), freeAddr(t), freeAddr(t)
	_, outsidePort, err := net.SplitHostPort(outside)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "server.properties")
	text := fmt.Sprintf(`# A comment, a continuation and an escape, as Java reads them.
process.roles=broker,controller
node.id: 3
broker.rack = r\u0061ck-a
listeners=INSIDE://%s,\
          OUTSIDE://%s
advertised.listeners=INSIDE://%[1]s,OUTSIDE://localhost:%[3]s,
listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=INSIDE
controller.listener.names=CONTROLLER
num.partitions=5
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
moldau.admin.listener=%[4]s
jmx.port=9999
no.such.key=1
`, inside, outside, outsidePort, ops)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := NewMoldau(t)
	b.startWith(t, "--config", file)

	for _, l := range []struct{ dial, want string }{{inside, inside}, {outside, "localhost:" + outsidePort}} {
		meta, err := admin(t, l.dial).BrokerMetadata(t.Context())
		if err != nil {
			t.Fatalf("by %s: %v", l.dial, err)
		}
		if len(meta.Brokers) != 1 {
			t.Fatalf("by %s: brokers %v", l.dial, meta.Brokers)
		}
		got := meta.Brokers[0]
		if addr := fmt.Sprintf("%s:%d", got.Host, got.Port); got.NodeID != 3 || addr != l.want || got.Rack == nil || *got.Rack != "rack-a" {
			t.Errorf("by %s: node %d at %s, rack %v; want 3 at %s, rack-a", l.dial, got.NodeID, addr, got.Rack, l.want)
		}
	}
	adm := admin(t, outside)
	if _, err := adm.CreateTopic(t.Context(), -1, -1, nil, "by-default"); err != nil {
		t.Fatal(err)
	}
	topics, err := adm.ListTopics(t.Context(), "by-default")
	if err != nil || len(topics["by-default"].Partitions) != 5 {
		t.Errorf("%d partitions by default (%v), want 5", len(topics["by-default"].Partitions), err)
	}
	notCreated(t, outside, adm)
	adminListener(t, ops)
	if !strings.Contains(b.Log(), "no.such.key") {
		t.Errorf("an unknown key was not warned about:\n%s", b.Log())
	}
}

// notCreated produces to a topic that is not there on a broker that creates none.
func notCreated(t *testing.T, addr string, adm *kadm.Client) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(1))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "absent", Value: []byte("x")}).FirstErr(); err == nil {
		t.Error("a topic was created although auto.create.topics.enable is false")
	}
	if topics, err := adm.ListTopics(t.Context()); err != nil || topics.Has("absent") {
		t.Errorf("topics %v (%v), want none called absent", topics.Names(), err)
	}
}

// adminListener asks for what operators ask for.
func adminListener(t *testing.T, addr string) {
	t.Helper()
	for path, want := range map[string]string{
		"/livez":                 "",
		"/readyz":                "",
		"/metrics":               "moldau_",
		"/debug/pprof/goroutine": "",
	} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %d bytes (%v), want 200 and %q", path, resp.Status, len(body), err, want)
		}
	}
}
