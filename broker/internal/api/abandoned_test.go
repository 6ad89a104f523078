package api_test

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/memnet"
	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// asks are questions that nobody answers, as long as those who asked wait.
type asks struct {
	api.Groups
	waiting *atomic.Int32
}

func (a asks) wait(ctx context.Context) error {
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	<-ctx.Done()
	return context.Cause(ctx)
}

func (a asks) Ask(ctx context.Context, _ string, _ any) (any, error) { return nil, a.wait(ctx) }

func (a asks) AskAll(ctx context.Context, _ func() any) ([]any, error) { return nil, a.wait(ctx) }

func (a asks) Coordinator(ctx context.Context, _ string) (int32, error)      { return 0, a.wait(ctx) }
func (a asks) Mark(ctx context.Context, _ int32, _ coordinator.Marker) error { return a.wait(ctx) }
func (a asks) OffsetsPartition(string) int32                                 { return 0 }

// waits counts what waits at the partitions of a node: the watches of fetches, and who
// waits for an offset. Nobody but replica has a use for these numbers, so they are
// looked up where it keeps them.
func waits(t *testing.T, env *api.Env) (watches, offsets int) {
	t.Helper()
	for p := range env.Replicas.Partitions() {
		v := reflect.ValueOf(p).Elem()
		root := v.FieldByName("watches").FieldByName("root")
		for w := root.FieldByName("next"); !w.IsNil() && w.Pointer() != root.Addr().Pointer(); w = w.Elem().FieldByName("next") {
			watches++
		}
		offsets += v.FieldByName("owner").FieldByName("waits").Len()
	}
	return watches, offsets
}

// waiting is a node of which everything that a client may wait for never comes.
type waiting struct {
	*api.Env
	id    [16]byte // Of topic t.
	asked atomic.Int32
}

func newWaiting(t *testing.T) *waiting {
	n := &waiting{}
	n.Env, n.id = api.NewCopiedNode(t)
	a := asks{waiting: &n.asked}
	n.Groups, n.Transactions = a, a
	n.Control = func(ctx context.Context, _ controller.Request) (kmsg.Response, error) { return nil, a.wait(ctx) }
	n.AutoCreate = func(ctx context.Context, _ string) error { return a.wait(ctx) }
	n.Features = func() api.Features { return api.Features{Finalized: map[string]int16{"group.version": 1}} }
	n.ProducerID = func(ctx context.Context) (int64, error) { return 0, a.wait(ctx) }
	return n
}

// count is what waits: watches, waits for an offset, questions.
func (n *waiting) count(t *testing.T) [3]int {
	watches, offsets := waits(t, n.Env)
	return [3]int{watches, offsets, int(n.asked.Load())}
}

// fetchOf is a fetch of all partitions of t that waits for an hour.
func fetchOf(version int16, id [16]byte, sessionID, epoch int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = version, 3_600_000, 1, 1<<20
	req.SessionID, req.SessionEpoch = sessionID, epoch
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = "t", id
	for n := range int32(3) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes, p.CurrentLeaderEpoch = n, 1<<20, -1
		rt.Partitions = append(rt.Partitions, p)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// hour lets a Produce wait for an hour.
func hour(req *kmsg.ProduceRequest) *kmsg.ProduceRequest {
	req.TimeoutMillis = 3_600_000
	return req
}

// waitingRequests are requests that wait, and what waits then: how many watches, waits
// for an offset and questions.
var waitingRequests = map[string]struct {
	req   func(n *waiting) kmsg.Request
	waits [3]int
}{
	"a fetch before there were sessions": {func(n *waiting) kmsg.Request { return fetchOf(6, n.id, 0, 0) }, [3]int{3, 0, 0}},
	"a fetch without a session":          {func(n *waiting) kmsg.Request { return fetchOf(12, n.id, 0, -1) }, [3]int{3, 0, 0}},
	"a fetch by id without a session":    {func(n *waiting) kmsg.Request { return fetchOf(13, n.id, 0, -1) }, [3]int{3, 0, 0}},
	"the first fetch of a session":       {func(n *waiting) kmsg.Request { return fetchOf(13, n.id, 0, 0) }, [3]int{3, 0, 0}},
	"a fetch of what is committed": {func(n *waiting) kmsg.Request {
		req := fetchOf(12, n.id, 0, -1)
		req.IsolationLevel = 1
		return req
	}, [3]int{3, 0, 0}},
	"a follower's fetch": {func(n *waiting) kmsg.Request {
		req := fetchOf(17, n.id, 0, -1)
		req.ReplicaState.ID, req.ReplicaState.Epoch = 2, 11
		return req
	}, [3]int{3, 0, 0}},
	"a produce":       {func(*waiting) kmsg.Request { return hour(produceOf(-1, "x")) }, [3]int{0, 1, 0}},
	"a large produce": {func(*waiting) kmsg.Request { return hour(produceOf(-1, string(make([]byte, 600_000)))) }, [3]int{0, 1, 0}},
	"a transactional produce": {func(*waiting) kmsg.Request {
		m := batch.Plain(0, -1)
		m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
		b := batch.NewBuilder(m)
		b.Append(0, nil, []byte("x"))
		req := hour(produceOf(-1, ""))
		req.TransactionID, req.Topics[0].Partitions[0].Records = kmsg.StringPtr("id"), b.Build()
		return req
	}, [3]int{0, 0, 1}},
	"DeleteRecords": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.Version, req.TimeoutMillis = 2, 3_600_000
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 1, Offset: -1}}}}
		return req
	}, [3]int{0, 1, 0}},
	"WriteTxnMarkers": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		req.Version = 1
		req.Markers = []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: 7, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{2}}}}}
		return req
	}, [3]int{0, 1, 0}},
	"JoinGroup": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 5, "g", 10_000, 10_000, "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
		return req
	}, [3]int{0, 0, 1}},
	"SyncGroup": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.Generation, req.MemberID = 3, "g", 1, "m"
		return req
	}, [3]int{0, 0, 1}},
	"ConsumerGroupHeartbeat": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, "g", "m", 1
		return req
	}, [3]int{0, 0, 1}},
	"InitProducerId": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.ProducerID, req.ProducerEpoch = 4, -1, -1
		return req
	}, [3]int{0, 0, 1}},
	"InitProducerId of a transactional id": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.ProducerID, req.ProducerEpoch, req.TransactionalID, req.TransactionTimeoutMillis = 4, -1, -1, kmsg.StringPtr("id"), 1000
		return req
	}, [3]int{0, 0, 1}},
	"CreateTopics": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = 7, 3_600_000
		req.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "new", NumPartitions: 1, ReplicationFactor: 1}}
		return req
	}, [3]int{0, 0, 1}},
	"Metadata that makes a topic": {func(*waiting) kmsg.Request {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.AllowAutoTopicCreation = 12, true
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("new")}}
		return req
	}, [3]int{0, 0, 1}},
}

// TestNothingWaitsForWhoHasLeft: whatever a request waits for, it ends when its client
// closes the connection, and leaves nothing behind that still watches or waits: no watch
// at a partition, no wait for an offset, no question.
func TestNothingWaitsForWhoHasLeft(t *testing.T) {
	for name, tc := range waitingRequests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newWaiting(t)
				nc, err := serve(t, n.Env).Dial(t.Context(), "tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				go nc.Write(frame(1, tc.req(n)))
				synctest.Wait()
				if got := n.count(t); got != tc.waits {
					t.Fatalf("%v watches, waits for offsets and questions, want %v", got, tc.waits)
				}
				nc.Close()
				synctest.Wait()
				if got := n.count(t); got != [3]int{} {
					t.Errorf("the client has left, and there are %v watches, waits for offsets and questions", got)
				}
			})
		})
	}
}

// fetcher fetches in a session, each time on a connection of its own.
type fetcher struct {
	t *testing.T
	n *waiting
	*memnet.Network
}

// fetch fetches all of t: at once, or so that it waits and is broken off.
func (f *fetcher) fetch(wait bool, id, epoch int32) *kmsg.FetchResponse {
	f.t.Helper()
	nc, err := f.Dial(f.t.Context(), "tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	req := fetchOf(13, f.n.id, id, epoch)
	if !wait {
		req.MaxWaitMillis = 0
	}
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	answered := make(chan error, 1)
	go func() {
		nc.Write(frame(1, req))
		b, err := protocol.ReadFrame(nc, 1<<20)
		if err == nil {
			err = resp.ReadFrom(b[5:]) // Behind the header.
		}
		answered <- err
	}()
	synctest.Wait()
	if got := len(answered) == 1; got == wait {
		f.t.Errorf("session %d, epoch %d: answered %t", id, epoch, got)
	}
	nc.Close()
	if err := <-answered; (err != nil) != wait {
		f.t.Error(err)
	}
	synctest.Wait()
	return resp
}

// TestSessionOutlivesABrokenFetch: a fetch that is broken off leaves its session as it
// was, watches included, for the next one on another connection. They end with the
// session, also when the fetch that ended it is broken off.
func TestSessionOutlivesABrokenFetch(t *testing.T) {
	for name, end := range map[string]func(f *fetcher, id int32){
		"closed":   func(f *fetcher, id int32) { f.fetch(false, id, -1) },
		"replaced": func(f *fetcher, id int32) { f.fetch(true, id, 0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newWaiting(t)
			f := &fetcher{t, n, serve(t, n.Env)}
			id := f.fetch(false, 0, 0).SessionID
			for epoch := range int32(3) {
				f.fetch(true, id, 1+epoch)
				if got := n.count(t); id == 0 || got != [3]int{3, 0, 0} {
					t.Errorf("session %d, broken off: %v watches, waits for offsets and questions", id, got)
				}
			}
			end(f, id)
			if got := n.count(t); got != [3]int{} {
				t.Errorf("%s: %v watches, waits for offsets and questions", name, got)
			}
		})
	}
}
