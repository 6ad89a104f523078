package broker

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// txnSettings keep a world with transactions small.
var txnSettings = map[string]string{"transaction.state.log.num.partitions": "2", "num.partitions": "2"}

// transact produces values to a topic in one transaction.
func transact(t *testing.T, cl *kgo.Client, topic string, commit bool, values ...string) {
	t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
	}
	if err := cl.EndTransaction(t.Context(), kgo.TransactionEndTry(commit)); err != nil {
		t.Fatal(err)
	}
}

// committed reads what committed readers see, until nothing has come for a while.
func committed(t *testing.T, w *world, topic string) (values []string) {
	t.Helper()
	cl := w.client(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer cl.Close()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		fs := cl.PollFetches(ctx)
		quiet := ctx.Err() != nil // Before it is canceled.
		cancel()
		fs.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
		if quiet {
			slices.Sort(values)
			return values
		}
	}
}

func wantValues(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("committed are %q, want %q", got, want)
	}
}

func TestTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), txnSettings)
		p := w.client(kgo.TransactionalID("t"))
		transact(t, p, "lines", true, "a", "b")
		transact(t, p, "lines", false, "c", "d")
		transact(t, p, "lines", true, "e")
		wantValues(t, committed(t, w, "lines"), "a", "b", "e")
		// A new producer of the same id takes over, and aborts what is open.
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: "lines", Value: []byte("zombie")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		q := w.client(kgo.TransactionalID("t"))
		transact(t, q, "lines", true, "f")
		if err := p.EndTransaction(t.Context(), kgo.TryCommit); err == nil {
			t.Error("the old producer committed")
		}
		wantValues(t, committed(t, w, "lines"), "a", "b", "e", "f")
		p.Close()
		q.Close()
		w.end()
	})
}

// TestTransactionTimesOut: a producer that is gone does not hold up readers for
// longer than its transaction may last.
func TestTransactionTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), txnSettings)
		p := w.client(kgo.TransactionalID("t"), kgo.TransactionTimeout(20*time.Second))
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: "lines", Value: []byte("open")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		q := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		produce(t, q, "lines", 0, 1)
		q.Close()
		p.Close()
		time.Sleep(31 * time.Second)
		wantValues(t, committed(t, w, "lines"), "0")
		w.end()
	})
}

// TestTransactionsSurvive: what was decided is carried out after a restart, and an
// open transaction is still open, however the broker ended.
func TestTransactionsSurvive(t *testing.T) {
	for name, tc := range map[string]struct {
		flush string
		crash vfs.CrashMode
		clean bool
	}{
		"clean stop": {clean: true},
		"kill -9":    {crash: vfs.CrashKeepAll},
		"power cut":  {crash: vfs.CrashLoseAll, flush: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := maps.Clone(txnSettings)
			if tc.flush != "" {
				settings["log.flush.interval.messages"] = tc.flush
			}
			synctest.Test(t, func(t *testing.T) {
				disk := vfs.NewMem()
				w := start(t, disk, settings)
				var network atomic.Pointer[memnet.Network] // That of the broker of the day.
				network.Store(w.net)
				p := w.client(kgo.TransactionalID("t"), kgo.Dialer(func(ctx context.Context, proto, host string) (net.Conn, error) {
					return network.Load().Dial(ctx, proto, host)
				}))
				transact(t, p, "lines", true, "a")
				transact(t, p, "lines", false, "not this")
				if err := p.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
				if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: "lines", Value: []byte("b")}).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if !tc.clean {
					disk = disk.Crash(rand.New(rand.NewPCG(1, 2)), tc.crash)
				}
				w.end()
				w = start(t, disk, settings)
				defer w.end()
				network.Store(w.net)
				if got := listTransactions(t, w); got["t"] != "Ongoing" {
					t.Errorf("transactions are %v", got)
				}
				wantValues(t, committed(t, w, "lines"), "a")
				// The same producer goes on where it was, for all that it knows.
				if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: "lines", Value: []byte("c")}).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if err := p.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
					t.Fatal(err)
				}
				wantValues(t, committed(t, w, "lines"), "a", "b", "c")
				p.Close()
			})
		})
	}
}

func listTransactions(t *testing.T, w *world) map[string]string {
	t.Helper()
	cl := w.client()
	defer cl.Close()
	listed, err := kadm.NewClient(cl).ListTransactions(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for id, tx := range listed {
		states[id] = tx.State
	}
	return states
}

// TestDeletedTopicInTransaction is case T07: a topic that goes while a transaction
// has written to it does not hold up the rest.
func TestDeletedTopicInTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), txnSettings)
		p := w.client(kgo.TransactionalID("t"))
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, topic := range []string{"kept", "gone"} {
			if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		cl := w.client()
		adm := kadm.NewClient(cl)
		defer cl.Close()
		if _, err := adm.DeleteTopic(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		if err := p.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		transact(t, p, "kept", true, "y")
		wantValues(t, committed(t, w, "kept"), "x", "y")
		p.Close()
		w.end()
	})
}

// TestConsumeTransformProduce: offsets that a transaction commits count with it.
func TestConsumeTransformProduce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), txnSettings)
		in := w.client()
		produce(t, in, "in", 0, 10)
		in.Close()
		for _, commit := range []bool{false, true} {
			s := w.session(t, "t", "g", "in")
			fs := s.PollFetches(t.Context())
			if err := s.Begin(); err != nil {
				t.Fatal(err)
			}
			for _, r := range fs.Records() {
				s.Produce(t.Context(), &kgo.Record{Topic: "out", Value: fmt.Appendf(nil, "%s commit=%v", r.Value, commit)}, nil)
			}
			if done, err := s.End(t.Context(), kgo.TransactionEndTry(commit)); err != nil || done != commit {
				t.Fatalf("End(%v) = %v, %v", commit, done, err)
			}
			s.Close()
		}
		got := committed(t, w, "out")
		if len(got) != 10 || got[0] != "0 commit=true" {
			t.Errorf("out holds %q", got)
		}
		w.end()
	})
}

// session is a client that reads a topic in a group and writes in transactions.
func (w *world) session(t *testing.T, id, group, topic string) *kgo.GroupTransactSession {
	t.Helper()
	s, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(memAddr), kgo.Dialer(w.net.Dial), kgo.AllowAutoTopicCreation(),
		kgo.TransactionalID(id), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFirstInitProducerID is case T19: the first producer of a new cluster does not
// wait for topics and ids to be made.
func TestFirstInitProducerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), nil)
		began := time.Now()
		cl := w.client(kgo.TransactionalID("t"))
		if _, _, err := cl.ProducerID(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
		cl.Close()
		w.end()
	})
}

// ask sends a raw request.
func ask[R kmsg.Response](t *testing.T, cl *kgo.Client, req kmsg.Request) R {
	t.Helper()
	resp, err := cl.Request(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(R)
}

// TestAbortHangingTransaction: an administrator ends a transaction of which no
// coordinator knows.
func TestAbortHangingTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, vfs.NewMem(), txnSettings)
		p := w.client(kgo.TransactionalID("t"))
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: "lines", Value: []byte("a")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		id, epoch, err := p.ProducerID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cl := w.client()
		defer cl.Close()
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch = id, epoch, -1
		m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "lines", Partitions: []int32{0, 1}}}
		req.Markers = []kmsg.WriteTxnMarkersRequestMarker{m}
		parts := ask[*kmsg.WriteTxnMarkersResponse](t, cl, req).Markers[0].Topics[0].Partitions
		for _, p := range parts {
			if p.ErrorCode != 0 {
				t.Errorf("marker: %+v", p)
			}
		}
		described, err := kadm.NewClient(cl).DescribeProducers(t.Context(), kadm.TopicsSet{"lines": {0: {}, 1: {}}})
		if err != nil {
			t.Fatal(err)
		}
		described.EachProducer(func(p kadm.DescribedProducer) {
			if p.CurrentTxnStartOffset != -1 {
				t.Errorf("still open: %+v", p)
			}
		})
		p.Close()
		w.end()
	})
}
