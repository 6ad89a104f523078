package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// listed is what ListOffsets answers for one partition.
type listed struct {
	Code              int16
	Offset, Timestamp int64
}

func askOffset(t *testing.T, n *node1, version int16, topic string, timestamp int64) listed {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = timestamp, -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	got := ask(t, n.Env, req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	return listed{got.ErrorCode, got.Offset, got.Timestamp}
}

// TestListOffsets is cases F11, F13 and F17 among others.
func TestListOffsets(t *testing.T) {
	n := newNode(t, 2)
	n.topic("t", 1, 1)
	n.topic("empty", 2, 1)
	n.topic("elsewhere", 3, 1, 2)
	now := time.Now().UnixMilli()
	b := batch.NewBuilder(batch.Plain(0, -1))
	for _, ago := range []int64{300, 100, 200} {
		b.Append(now-1000+ago, []byte("k"), []byte("v"))
	}
	if _, err := n.partition("t", 0).Produce(time.Now(), b.Build(), replica.ProduceOptions{Acks: replica.AcksLeader}); err != nil {
		t.Fatal(err)
	}
	unsupported := listed{kerr.UnsupportedVersion.Code, -1, -1}
	none := listed{0, -1, -1}
	for name, tc := range map[string]struct {
		version   int16
		topic     string
		timestamp int64
		want      listed
	}{
		"latest":                   {11, "t", -1, listed{0, 3, -1}},
		"earliest":                 {11, "t", -2, listed{0, 0, -1}},
		"newest timestamp":         {11, "t", -3, listed{0, 0, now - 700}},
		"earliest local":           {11, "t", -4, listed{0, 0, -1}},
		"latest tiered":            {11, "t", -5, none},
		"earliest pending":         {11, "t", -6, none},
		"no such constant":         {11, "t", -7, unsupported},
		"newest, too old a client": {6, "t", -3, unsupported},
		"local, too old a client":  {7, "t", -4, unsupported},
		"tiered, too old a client": {8, "t", -5, unsupported},
		"pending, too old":         {10, "t", -6, unsupported},
		"latest in version 1":      {1, "t", -1, listed{0, 3, -1}},
		"a time between":           {11, "t", now - 750, listed{0, 0, now - 700}},
		"a time past all":          {11, "t", now + 1, none},
		"a time of nothing":        {11, "empty", now, none},
		"the end of nothing":       {11, "empty", -1, listed{0, 0, -1}},
		"an unknown topic":         {11, "nope", -1, listed{kerr.UnknownTopicOrPartition.Code, -1, -1}},
		"another broker's":         {11, "elsewhere", -1, listed{kerr.NotLeaderForPartition.Code, -1, -1}},
	} {
		if got := askOffset(t, n, tc.version, tc.topic, tc.timestamp); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestListOffsetsTwice: a partition named twice is refused and a topic named
// twice is not, and each is answered once.
func TestListOffsetsTwice(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 3)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	for _, named := range [][]int32{{0, 1, 0}, {}, {2, 0}} {
		topic := kmsg.ListOffsetsRequestTopic{Topic: "t"}
		for _, i := range named {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = i, -1, -1
			topic.Partitions = append(topic.Partitions, p)
		}
		req.Topics = append(req.Topics, topic)
	}
	type answer struct {
		Topic     string
		Partition int32
		Code      int16
	}
	var got []answer
	resp := ask(t, n.Env, req).(*kmsg.ListOffsetsResponse)
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			got = append(got, answer{rt.Topic, p.Partition, p.ErrorCode})
		}
	}
	want := []answer{{"t", 0, kerr.InvalidRequest.Code}, {"t", 1, 0}, {"t", 2, 0}}
	if diff := cmp.Diff(want, got); diff != "" || len(resp.Topics) != 1 {
		t.Errorf("%d topics: %s", len(resp.Topics), diff)
	}
}
