package api_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/broker/internal/server"
	"github.com/moldau-broker/moldau/protocol"
	"github.com/moldau-broker/moldau/protocol/batch"
)

const addr = "host1:9092" // As the node is registered.

// serve puts a server before a node, in memory, and returns its network.
func serve(t *testing.T, env *api.Env) *memnet.Network {
	t.Helper()
	network := memnet.New()
	s, err := server.New(server.Config{
		Listeners: []server.Listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Bind: addr}},
		Handler:   env, Listen: network.Listen, Buffers: env.Buffers,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start("PLAINTEXT"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return network
}

// TestClient lets franz-go produce and consume, idempotent and with acks=all as
// is its default, over a connection in memory.
func TestClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, topic := api.NewNode(t)
		env.ProducerID = api.NewProducerIDs(func(context.Context) (int64, int32, error) { return 1000, 1000, nil }).Next
		topic("t", 3)
		network := serve(t, env)
		client, err := kgo.NewClient(
			kgo.SeedBrokers(addr), kgo.Dialer(network.Dial), kgo.DefaultProduceTopic("t"),
			kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const n = 300
		go func() {
			for i := range n {
				client.Produce(ctx, kgo.StringRecord(fmt.Sprint("value ", i)), func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
				if i%50 == 0 {
					time.Sleep(time.Second) // So that the consumer waits in between.
				}
			}
		}()
		seen := map[string]bool{}
		for len(seen) < n {
			fetches := client.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("after %d records: %v", len(seen), err)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if seen[string(r.Value)] {
					t.Errorf("%q twice", r.Value)
				}
				seen[string(r.Value)] = true
			})
		}
		if err := client.Flush(ctx); err != nil { // The last may be seen before it is acknowledged.
			t.Error(err)
		}
	})
}

// frame is a request as it goes over the wire.
func frame(correlation int32, req kmsg.Request) []byte {
	h := protocol.RequestHeader{Key: req.Key(), Version: req.GetVersion(), Correlation: correlation, ClientID: []byte("raw")}
	b := protocol.AppendRequestHeader([]byte{0, 0, 0, 0}, h)
	b = req.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// read reads an answer into resp and returns its correlation number.
func read(t *testing.T, nc net.Conn, resp kmsg.Response) int32 {
	t.Helper()
	b, err := protocol.ReadFrame(nc, 100<<20)
	if err != nil {
		t.Fatal(err)
	}
	header := len(protocol.AppendResponseHeader(nil, resp.Key(), resp.GetVersion(), 0))
	if err := resp.ReadFrom(b[header:]); err != nil {
		t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(b))
}

func produceOf(acks int16, value string) *kmsg.ProduceRequest {
	b := batch.NewBuilder(batch.Plain(0, -1))
	b.Append(time.Now().UnixMilli(), nil, []byte(value))
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acks, 1000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = b.Build()
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{p}}}
	return req
}

// TestPipelinedProduce is case P15: 200 frames back to back get offsets, and
// answers, in the order of sending.
func TestPipelinedProduce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, topic := api.NewNode(t)
		topic("t", 1)
		nc, err := serve(t, env).Dial(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		const n = 200
		go func() {
			var all []byte
			for i := range int32(n) {
				all = append(all, frame(i, produceOf(-1, fmt.Sprint(i)))...)
			}
			nc.Write(all)
		}()
		for i := range int32(n) {
			resp := kmsg.NewPtrProduceResponse()
			resp.Version = 9
			if got := read(t, nc, resp); got != i {
				t.Fatalf("answer %d, want %d", got, i)
			}
			if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i) {
				t.Fatalf("request %d: %+v", i, p)
			}
		}
	})
}

// TestNoAcksOverTheWire is case P01: the next bytes after Produce with acks=0
// answer the request behind it, and the record is in the log.
func TestNoAcksOverTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env, topic := api.NewNode(t)
		topic("t", 1)
		nc, err := serve(t, env).Dial(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		metadata := kmsg.NewPtrMetadataRequest()
		metadata.Version = 12
		nc.Write(append(frame(1, produceOf(0, "a")), frame(2, metadata)...))
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = 12
		if got := read(t, nc, resp); got != 2 {
			t.Errorf("answer %d", got)
		}
		nc.Write(frame(3, produceOf(-1, "b")))
		second := kmsg.NewPtrProduceResponse()
		second.Version = 9
		read(t, nc, second)
		if base := second.Topics[0].Partitions[0].BaseOffset; base != 1 {
			t.Errorf("the record behind it has offset %d", base)
		}
	})
}

// silent is a coordinator of transactions that never answers.
type silent struct {
	api.Transactions
	asked, gone bool
}

func (s *silent) Ask(ctx context.Context, _ string, _ any) (any, error) {
	s.asked = true
	<-ctx.Done()
	s.gone = true
	return nil, context.Cause(ctx)
}

// TestLargeTransactionalProduceEndsWithItsClient: a request that is looked at as a
// whole before anything is appended waits for its transaction only as long as its
// client does.
func TestLargeTransactionalProduceEndsWithItsClient(t *testing.T) {
	for name, size := range map[string]int{"small": 1000, "large": 600_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env, topic := api.NewNode(t)
				topic("t", 1)
				coordinator := &silent{}
				env.Transactions = coordinator
				nc, err := serve(t, env).Dial(t.Context(), "tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				m := batch.Plain(0, -1)
				m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
				b := batch.NewBuilder(m)
				b.Append(time.Now().UnixMilli(), nil, make([]byte, size))
				req := produceOf(-1, "")
				req.TransactionID = kmsg.StringPtr("txn")
				req.Topics[0].Partitions[0].Records = b.Build()
				go nc.Write(frame(1, req))
				synctest.Wait()
				if !coordinator.asked || coordinator.gone {
					t.Fatalf("the coordinator was asked: %v, and left: %v", coordinator.asked, coordinator.gone)
				}
				nc.Close()
				synctest.Wait()
				if !coordinator.gone {
					t.Error("the client has left, and the request still waits")
				}
			})
		})
	}
}
