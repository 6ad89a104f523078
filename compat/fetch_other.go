package compat

import (
	"math"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// otherFetches are fetches that consumers seldom send, and transactional lookups
// beside them.
var otherFetches = []Scenario{
	{ID: "fetch.no-topics", Says: "A fetch of nothing is answered at once with nothing.", Run: fetchNothing},
	{ID: "fetch.max-bytes-zero", Says: "Limits of 0 bytes still return the first batch.", Refs: []string{"KIP-74"}, Run: fetchZeroBytes},
	{ID: "fetch.replica.unknown", Says: "A fetch in the name of a broker that is no replica is refused.", Run: fetchAsReplica},
	{ID: "fetch.debugging-consumer", Says: "Replica -2 reads like a consumer.", Run: fetchDebugging},
	{ID: "fetch.rack", Says: "A client's rack changes nothing where the leader is the only replica.", Refs: []string{"KIP-392"}, Run: fetchRack},
	{ID: "groups.coordinator.transactions", Says: "Transactional ids have coordinators, an empty one too.", Refs: []string{"KIP-98"}, Run: findTransactionCoordinator},
	{ID: "groups.offset-fetch.member", Says: "OffsetFetch as a member of a classic group needs no right member.", Refs: []string{"KIP-848"}, Since: "3.8", Run: offsetFetchMember},
	{ID: "groups.commit.no-topics", Says: "A commit of nothing is answered with nothing.", Run: commitNothing},
}

func fetchNothing(t *T) {
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 60000, 1, 1<<20, -1
		resp := ask[*kmsg.FetchResponse](t, v, req)
		t.ok("fetch", resp.ErrorCode)
		equal(t, "topics", len(resp.Topics), 0)
	})
}

func fetchZeroBytes(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.append(topic, plainBatch("b"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{})
		req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 0, 0
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.ok("fetch", p.ErrorCode)
		equals(t, "values", values(t.records(p.RecordBatches)), []string{"a"})
	})
}

// asReplica says who fetches: in a field, and from version 15 in a tag.
func asReplica(req *kmsg.FetchRequest, version int16, id int32) {
	if version >= 15 {
		req.ReplicaState.ID = id
	} else {
		req.ReplicaID = id
	}
}

func fetchAsReplica(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		for _, id := range []int32{0, 4711} {
			if id == t.Node() {
				continue
			}
			req := t.fetchRequest(v, topic, fetching{})
			asReplica(req, v, id)
			p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
			t.code("fetch as broker "+strconv.Itoa(int(id)), p.ErrorCode, kerr.NotLeaderForPartition)
			equal(t, "bytes", len(p.RecordBatches), 0)
		}
	})
}

func fetchDebugging(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{})
		asReplica(req, v, -2)
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.ok("fetch", p.ErrorCode)
		equals(t, "values", values(t.records(p.RecordBatches)), []string{"a"})
	})
}

func fetchRack(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a"))
	t.each(kmsg.Fetch, 11, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{})
		req.Rack = "somewhere"
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.ok("fetch", p.ErrorCode)
		equal(t, "preferred replica", p.PreferredReadReplica, -1)
		equals(t, "values", values(t.records(p.RecordBatches)), []string{"a"})
	})
}

func findTransactionCoordinator(t *T) {
	if !t.has(kmsg.AddPartitionsToTxn, 0) {
		t.NotApplicable("transactions are not served")
	}
	id := t.name("x")
	t.each(kmsg.FindCoordinator, 1, 6, func(v int16) {
		find := func(key string) (code int16, node int32) {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = key, []string{key}, 1
			resp := ask[*kmsg.FindCoordinatorResponse](t, v, req)
			if v < 4 {
				return resp.ErrorCode, resp.NodeID
			}
			c := one(t, "coordinators", resp.Coordinators)
			return c.ErrorCode, c.NodeID
		}
		t.until("a coordinator", func() bool { code, node := find(id); return code == 0 && node == t.Node() })
		code, _ := find("")
		t.ok("an empty id", code)
	})
}

func offsetFetchMember(t *T) {
	topic := t.Topic(1)
	m := t.stable(t.Group())
	t.ok("commit", m.commitAs(t.newest(kmsg.OffsetCommit, 8), topic, 4))
	t.each(kmsg.OffsetFetch, 9, 10, func(v int16) {
		for id, epoch := range map[string]int32{m.id: m.generation, "nobody": math.MaxInt32} {
			req := t.offsetFetchRequest(v, m.group, topic, 0)
			req.Groups[0].MemberID, req.Groups[0].MemberEpoch = &id, epoch
			equal(t, "offset", one(t, "partitions", t.committedBy(v, req)).Offset, 4)
		}
	})
}

func commitNothing(t *T) {
	group := t.Group()
	t.each(kmsg.OffsetCommit, 2, 10, func(v int16) {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = group, -1
		equal(t, "topics", len(ask[*kmsg.OffsetCommitResponse](t, v, req).Topics), 0)
	})
}
