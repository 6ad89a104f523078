package api

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestManyTopicsAreMergedInTime: a request may name very many topics, and each of them
// must not be looked for among all others. With half as many that took 5 to 20
// seconds; the test would run for minutes.
func TestManyTopicsAreMergedInTime(t *testing.T) {
	const topics = maxElements / 3
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.Version, commit.TransactionalID, commit.Group = 3, "id", "g"
	plain := kmsg.NewPtrOffsetCommitRequest()
	plain.Version, plain.Group = 9, "g"
	remove := kmsg.NewPtrOffsetDeleteRequest()
	remove.Group = "g"
	for i := range topics {
		name := fmt.Sprint(i)
		commit.Topics = append(commit.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: name, Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)})
		plain.Topics = append(plain.Topics, kmsg.OffsetCommitRequestTopic{Topic: name, Partitions: make([]kmsg.OffsetCommitRequestTopicPartition, 1)})
		remove.Topics = append(remove.Topics, kmsg.OffsetDeleteRequestTopic{Topic: name, Partitions: make([]kmsg.OffsetDeleteRequestTopicPartition, 1)})
	}
	env := rightsNode(t)
	if got := len(ask(t, env, commit).(*kmsg.TxnOffsetCommitResponse).Topics); got != topics {
		t.Errorf("TxnOffsetCommit answers %d topics", got)
	}
	if got := len(ask(t, env, plain).(*kmsg.OffsetCommitResponse).Topics); got != topics {
		t.Errorf("OffsetCommit answers %d topics", got)
	}
	if got := len(ask(t, env, remove).(*kmsg.OffsetDeleteResponse).Topics); got != topics {
		t.Errorf("OffsetDelete answers %d topics", got)
	}
}
