package broker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// serveOnce runs a broker until it serves, asks of it, and stops it. It returns
// the log.
func serveOnce(t *testing.T, c Config, ask func(*world)) string {
	t.Helper()
	w := &world{t: t, net: memnet.New(), log: &logLines{}, done: make(chan error, 1)}
	c.Dir, c.Listen, c.ListenFunc = "/data", memAddr, w.net.Listen
	c.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Broker = b
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() { w.done <- b.Run(ctx) }()
	select {
	case <-b.Ready():
	case err := <-w.done:
		stop()
		t.Fatalf("the broker ended: %v", err)
	}
	ask(w)
	w.end()
	return w.log.String()
}

// Topics of the configuration are there when clients are served, with what was
// said of them; one that cannot be is an error in the log; the next start leaves
// all of them as they are.
func TestFirstTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		c := Config{FS: disk, Settings: map[string]string{"num.partitions": "2"}, Topics: []Topic{
			{Name: "plain"},
			{Name: "no/name"},
			{Name: "kept", Partitions: 3, Replicas: 1, Configs: map[string]string{"cleanup.policy": "compact"}},
			{Name: "far", Replicas: 2},
		}}
		look := func(w *world) {
			cl := w.client()
			defer cl.Close()
			topics, err := kadm.NewClient(cl).ListTopics(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, topic := range topics {
				got[topic.Topic] = len(topic.Partitions)
			}
			if diff := cmp.Diff(map[string]int{"plain": 2, "kept": 3}, got); diff != "" {
				t.Error(diff)
			}
			configs, err := kadm.NewClient(cl).DescribeTopicConfigs(t.Context(), "kept")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range configs[0].Configs {
				if c.Key == "cleanup.policy" && c.MaybeValue() != "compact" {
					t.Errorf("cleanup.policy %q, want compact", c.MaybeValue())
				}
			}
		}
		log := serveOnce(t, c, look)
		for _, name := range []string{"no/name", "far"} {
			if !strings.Contains(log, `a topic that was to be made at the start is missing" topic=`+name) {
				t.Errorf("nothing is said of %s:\n%s", name, log)
			}
		}
		if log := serveOnce(t, c, look); strings.Contains(log, "topic created at the start") {
			t.Errorf("topics were made again:\n%s", log)
		}
	})
}

// A directory may keep its cluster id, which is warned about.
func TestKeepClusterID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		id := func(want string) func(*world) {
			return func(w *world) {
				cl := w.client()
				defer cl.Close()
				meta, err := kadm.NewClient(cl).BrokerMetadata(t.Context())
				if err != nil || meta.Cluster != want {
					t.Errorf("cluster id %q (%v), want %q", meta.Cluster, err, want)
				}
			}
		}
		const first, second = "4L6g3nShT-eMCtK--X86sw", "5L6g3nShT-eMCtK--X86sw"
		log := serveOnce(t, Config{FS: disk, ClusterID: first, KeepClusterID: true}, id(first))
		if strings.Contains(log, "keeps its cluster id") {
			t.Errorf("a new directory was warned about:\n%s", log)
		}
		log = serveOnce(t, Config{FS: disk, ClusterID: second, KeepClusterID: true}, id(first))
		if !strings.Contains(log, "keeps its cluster id") || !strings.Contains(log, second) {
			t.Errorf("no warning names %s:\n%s", second, log)
		}
		// Kafka 4.2 formats with any text, a UUID or not.
		serveOnce(t, Config{FS: vfs.NewMem(), ClusterID: "bad", KeepClusterID: true}, id("bad"))
	})
}

// Kafka's node ids begin at 0, and bitnami's compose files take that one.
func TestNodeZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		for round := range 2 {
			w := start(t, disk, map[string]string{"node.id": "0"})
			cl := w.client()
			produce(t, cl, "t", round*3, round*3+3)
			meta, err := kadm.NewClient(cl).BrokerMetadata(t.Context())
			if err != nil || meta.Controller != 0 || len(meta.Brokers) != 1 || meta.Brokers[0].NodeID != 0 {
				t.Errorf("cluster %+v (%v), want node 0 alone", meta, err)
			}
			cl.Close()
			member := w.member("t", fmt.Sprint("g", round))
			consume(t, member, round*3+3)
			member.Close()
			w.end()
		}
	})
}
