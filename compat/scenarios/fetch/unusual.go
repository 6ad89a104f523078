package fetch

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// unusualScenarios are fetches that consumers seldom send, and every field of what is
// answered.
var unusualScenarios = []scenario.Scenario{
	{ID: "fetch.zstd-before-v10", Says: "Since nothing is converted down any more, zstd is returned to every version.", Refs: []string{"KIP-110", "KIP-896"}, Since: "4.0", Run: fetchOldZstd},
	{ID: "fetch.duplicate-partition", Says: "Records of one topic asked for twice are answered, not refused.", Run: fetchTwice},
	{ID: "fetch.no-topics", Says: "A fetch of nothing is answered at once with nothing.", Run: fetchNothing},
	{ID: "fetch.replica.unknown", Says: "A fetch in the name of a broker that is no replica is refused.", Run: fetchAsReplica},
	{ID: "fetch.debugging-consumer", Says: "Replica -2 reads like a consumer.", Run: fetchDebugging},
	{ID: "fetch.rack", Says: "A client's rack changes nothing where the leader is the only replica.", Refs: []string{"KIP-392"}, Run: fetchRack},
	{ID: "fetch.whole-answer", Says: "Fetch tells every field of each partition of several topics, also of those one behind the last, in every version.", Run: fetchAnswers},
}

func fetchOldZstd(t *scenario.T) {
	topic := t.Topic(1, "compression.type=zstd")
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		p := t.Fetch(v, topic, 0)
		t.OK("fetch", p.ErrorCode)
		scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
	})
}

func fetchTwice(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	version := t.Newest(kmsg.Fetch, 11)
	req := t.FetchRequest(version, topic, scenario.Fetching{}, scenario.Fetching{})
	resp := scenario.Ask[*kmsg.FetchResponse](t, version, req)
	t.OK("fetch", resp.ErrorCode)
	t.OK("partition", scenario.One(t, "topics", resp.Topics).Partitions[0].ErrorCode)
}

func fetchNothing(t *scenario.T) {
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 60000, 1, 1<<20, -1
		resp := scenario.Ask[*kmsg.FetchResponse](t, v, req)
		t.OK("fetch", resp.ErrorCode)
		scenario.Equal(t, "topics", len(resp.Topics), 0)
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

func fetchAsReplica(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		for _, id := range []int32{0, 4711} {
			if id == t.Node() {
				continue
			}
			req := t.FetchRequest(v, topic, scenario.Fetching{})
			asReplica(req, v, id)
			p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
			t.Code("fetch as broker "+strconv.Itoa(int(id)), p.ErrorCode, kerr.NotLeaderForPartition)
			scenario.Equal(t, "bytes", len(p.RecordBatches), 0)
		}
	})
}

func fetchDebugging(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{})
		asReplica(req, v, -2)
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.OK("fetch", p.ErrorCode)
		scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
	})
}

func fetchRack(t *scenario.T) {
	topic := t.Topic(1)
	t.Append(topic, scenario.PlainBatch("a"))
	t.Each(kmsg.Fetch, 11, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{})
		req.Rack = "somewhere"
		p := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions)
		t.OK("fetch", p.ErrorCode)
		scenario.Equal(t, "preferred replica", p.PreferredReadReplica, -1)
		scenario.EqualLists(t, "values", scenario.Values(t.Records(p.RecordBatches)), []string{"a"})
	})
}

// fetchedInOrder has each topic once: Kafka tells those partitions that it refuses
// apart.
func fetchedInOrder(resp *kmsg.FetchResponse) *kmsg.FetchResponse {
	var once []kmsg.FetchResponseTopic
	for _, rt := range resp.Topics {
		i := slices.IndexFunc(once, func(have kmsg.FetchResponseTopic) bool { return have.Topic == rt.Topic && have.TopicID == rt.TopicID })
		if i < 0 {
			once = append(once, rt)
			continue
		}
		once[i].Partitions = append(once[i].Partitions, rt.Partitions...)
	}
	resp.Topics = once
	slices.SortFunc(resp.Topics, func(a, b kmsg.FetchResponseTopic) int { return cmp.Compare(len(a.Partitions), len(b.Partitions)) })
	for _, rt := range resp.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.FetchResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	return resp
}

func fetchAnswers(t *scenario.T) {
	topic, other, missing := t.Topic(3), t.Topic(1), t.Name("missing")
	stored := scenario.PlainBatch("a", "b", "c").Bytes()
	p := t.Produce(t.Newest(kmsg.Produce, 9), topic, stored)
	t.OK("produce", p.ErrorCode)
	binary.BigEndian.PutUint32(stored[12:], 0) // The leader's epoch.
	t.DeleteRecords(topic, 1)
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		for isolation := range int8(2) {
			req := t.FetchRequest(v, topic, scenario.Fetching{Offset: 1}, scenario.Fetching{Partition: 1}, scenario.Fetching{Partition: 2, Offset: 1}, scenario.Fetching{Partition: 3}, scenario.Fetching{Partition: -1})
			req.IsolationLevel = isolation
			gone := req.Topics[0]
			gone.Topic, gone.TopicID, gone.Partitions = missing, scenario.NoTopic, gone.Partitions[1:2]
			req.Topics = append(req.Topics, gone, t.FetchTopic(v, other, scenario.Fetching{}, scenario.Fetching{Partition: 1}))
			got := fetchedInOrder(scenario.Ask[*kmsg.FetchResponse](t, v, req))
			partition := func(n int32, e *kerr.Error, high, start int64, records []byte) kmsg.FetchResponseTopicPartition {
				return scenario.Filled(func(p *kmsg.FetchResponseTopicPartition) {
					p.Partition, p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.RecordBatches = n, high, high, start, records
					if e != nil {
						p.ErrorCode = e.Code
					}
					if isolation == 1 && e == nil || e == kerr.UnknownTopicOrPartition || e == kerr.UnknownTopicID {
						p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
					}
				})
			}
			unknown := func(n int32) kmsg.FetchResponseTopicPartition {
				return partition(n, kerr.UnknownTopicOrPartition, -1, -1, []byte{})
			}
			want := kmsg.NewPtrFetchResponse()
			want.Topics = []kmsg.FetchResponseTopic{
				{Topic: topic, TopicID: t.TopicID(topic), Partitions: []kmsg.FetchResponseTopicPartition{
					unknown(-1), partition(0, nil, 3, 1, stored), partition(1, nil, 0, 0, []byte{}),
					partition(2, kerr.OffsetOutOfRange, -1, -1, []byte{}), unknown(3),
				}},
				{Topic: other, TopicID: t.TopicID(other), Partitions: []kmsg.FetchResponseTopicPartition{partition(0, nil, 0, 0, []byte{}), unknown(1)}},
				{Topic: missing, TopicID: scenario.NoTopic, Partitions: []kmsg.FetchResponseTopicPartition{unknown(1)}},
			}
			if v >= 13 {
				want.Topics[2].Partitions[0] = partition(1, kerr.UnknownTopicID, -1, -1, []byte{})
			}
			scenario.Whole(t, "isolation level "+strconv.Itoa(int(isolation)), got, fetchedInOrder(want))
		}
	})
}
