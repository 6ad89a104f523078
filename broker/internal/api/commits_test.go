package api

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCommitsOfWhatIsThere: each topic has one entry in the answer, whether all of its
// partitions, some, or none are there; and no group is asked about nothing.
func TestCommitsOfWhatIsThere(t *testing.T) {
	const missing = `UNKNOWN_TOPIC_OR_PARTITION`
	for name, tc := range map[string]struct {
		topic      string
		partitions []int32
		want       string
		asked      bool
	}{
		"all":               {"t", []int32{0}, `{Topics:[{Topic:"t" Partitions:[{}]}]}`, true},
		"some":              {"t", []int32{1, 0, -1}, `{Topics:[{Topic:"t" Partitions:[{Partition:1 ` + missing + `} {Partition:-1 ` + missing + `} {}]}]}`, true},
		"none":              {"t", []int32{1, -1}, `{Topics:[{Topic:"t" Partitions:[{Partition:1 ` + missing + `} {Partition:-1 ` + missing + `}]}]}`, false},
		"no partition":      {"t", nil, `{}`, false},
		"of no topic there": {"none", []int32{0}, `{Topics:[{Topic:"none" Partitions:[{` + missing + `}]}]}`, false},
	} {
		plain := kmsg.NewPtrOffsetCommitRequest()
		plain.Version, plain.Group = 9, "g"
		pt := kmsg.NewOffsetCommitRequestTopic()
		inTxn := kmsg.NewPtrTxnOffsetCommitRequest()
		inTxn.Version, inTxn.Group, inTxn.TransactionalID = 3, "g", "id"
		tt := kmsg.NewTxnOffsetCommitRequestTopic()
		pt.Topic, tt.Topic = tc.topic, tc.topic
		for _, n := range tc.partitions {
			pp, tp := kmsg.NewOffsetCommitRequestTopicPartition(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
			pp.Partition, tp.Partition = n, n
			pt.Partitions, tt.Partitions = append(pt.Partitions, pp), append(tt.Partitions, tp)
		}
		plain.Topics, inTxn.Topics = []kmsg.OffsetCommitRequestTopic{pt}, []kmsg.TxnOffsetCommitRequestTopic{tt}
		for kind, req := range map[string]kmsg.Request{"plain": plain, "in a transaction": inTxn} {
			env := rightsNode(t)
			if !tc.asked {
				env.Groups = silentGroups{err: errors.New("the group was asked")}
			}
			if diff := cmp.Diff(tc.want, shownAll(ask(t, env, req))); diff != "" {
				t.Errorf("%s, %s: %s", name, kind, diff)
			}
		}
	}
}

// TestOffsetFetchOfTopicsWithoutID: of all topics that a group has offsets of, those are
// told by id that there are.
func TestOffsetFetchOfTopicsWithoutID(t *testing.T) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = 10
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	req.Groups = append(req.Groups, g)
	want := `{Groups:[{Group:"g" Topics:[{TopicID:id1 Partitions:[{Offset:5}]} {TopicID:id2 Partitions:[{Offset:5}]}]}]}`
	if diff := cmp.Diff(want, shownAll(ask(t, rightsNode(t), req))); diff != "" {
		t.Error(diff)
	}
	n := newNode(t, 1)
	n.topic("u", 2, 1)
	n.Groups = obligingGroups{} // Which has offsets of t still.
	want = `{Groups:[{Group:"g" Topics:[{TopicID:id2 Partitions:[{Offset:5}]}]}]}`
	if diff := cmp.Diff(want, shownAll(ask(t, n.Env, req))); diff != "" {
		t.Error(diff)
	}
}

// TestOffsetFetchOfNoTopics: an empty list is none, and not all as null is.
func TestOffsetFetchOfNoTopics(t *testing.T) {
	for version := int16(2); version < 8; version++ {
		if got := shownAll(ask(t, rightsNode(t), oldFetching(version, []kmsg.OffsetFetchRequestTopic{}))); got != "{}" {
			t.Errorf("version %d: %s", version, got)
		}
	}
}
