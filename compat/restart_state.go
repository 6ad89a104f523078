package compat

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// restartScenarios are about what a broker knows after it was stopped and started,
// whichever way it was stopped.
var restartScenarios = []Scenario{
	{ID: "restart.records", Says: "What was acknowledged is there after a restart, byte for byte, and found by time.", Restarts: true, Run: restartRecords},
	{ID: "restart.topics", Says: "Topics, their ids, partitions and settings are there after a restart, and those that were deleted are not.", Restarts: true, Run: restartTopics},
	{ID: "restart.leader-epochs", Says: "What was written before and after a restart is told apart by the leader epoch, which does not fall.", Refs: []string{"KIP-101", "KIP-320"}, Restarts: true, Run: restartLeaderEpochs},
	{ID: "restart.producer", Says: "The last batch of an idempotent producer is known after a restart: it is not written twice, nor a later one with a gap.", Refs: []string{"KIP-98"}, Restarts: true, Run: restartProducer},
	{ID: "restart.transaction", Says: "A transaction that is open while the broker restarts can be committed or aborted afterwards.", Refs: []string{"KIP-98"}, Restarts: true, Run: byBoth(restartTransaction)},
	{ID: "restart.offsets", Says: "Committed offsets and their metadata are there after a restart, and those that were deleted are not.", Restarts: true, Run: restartOffsets},
	{ID: "restart.group", Says: "The members of a classic group go on after a restart in the same generation, with what they were assigned.", Refs: []string{"KAFKA-8500"}, Restarts: true, Run: restartGroup},
	{ID: "restart.consumer-group", Says: "The members of a consumer group go on after a restart in the same epoch, with what they were assigned.", Refs: []string{"KIP-848"}, Since: "4.0", Restarts: true, Run: restartConsumerGroup},
	{ID: "restart.settings", Says: "Settings that were changed at run time, of topics and of groups, hold after a restart.", Restarts: true, Run: restartSettings},
	{ID: "restart.fetch-session", Says: "A fetch session is not known after a restart.", Refs: []string{"KIP-227"}, Restarts: true, Run: restartFetchSession},
}

func restartRecords(t *T) {
	topic := t.Topic(1)
	start := time.Now().UnixMilli()
	var want []string
	for turn := range 2 {
		for codec := range int16(5) {
			b := times(codec, start+int64(len(want)), start+int64(len(want))+1)
			for i := range b.records {
				b.records[i].key = fmt.Append(nil, "key ", len(want))
				b.records[i].value = []byte(strings.Repeat(fmt.Sprint("value ", len(want), " "), 100))
				want = append(want, string(b.records[i].value))
			}
			equal(t, "base offset", t.append(topic, b), int64(len(want)-2))
		}
		before := t.fetch(11, topic, 0).RecordBatches
		t.Restart()
		t.served(topic, 1)
		got := t.fetch(11, topic, 0)
		equal(t, fmt.Sprint("bytes are the same after restart ", turn+1), string(got.RecordBatches) == string(before), true)
		equals(t, "values", values(t.records(got.RecordBatches)), want)
		equal(t, "end", t.endOffset(topic), int64(len(want)))
		equal(t, "offset by time", t.offsetOf(topic, start+3).Offset, 3)
		equal(t, "offset of the largest time", t.offsetOf(topic, -3).Offset, int64(len(want)-1))
	}
}

func restartTopics(t *T) {
	kept, gone, again := t.Topic(2, "retention.ms=777777"), t.name("gone"), t.name("again")
	t.create(gone, 1)
	t.create(again, 1)
	id, old := t.topicID(kept), t.topicID(again)
	t.append(again, plainBatch("of the first one"))
	t.ok("delete", t.delete(gone))
	t.ok("delete", t.delete(again))
	t.until("the end of a topic", func() bool { return !t.exists(again) })
	t.ForgetTopicIDs()
	t.create(again, 1)
	second := t.topicID(again)
	equal(t, "a topic that is made again has its old id", second == old, false)
	t.append(again, plainBatch("of the second one"))
	t.ok("partitions", t.createPartitions(1, kept, 3, nil).ErrorCode)
	t.Restart()
	t.ForgetTopicIDs()
	t.served(kept, 3)
	t.served(again, 1)
	equal(t, "id", t.topicID(kept), id)
	equal(t, "id of what was made again", t.topicID(again), second)
	equals(t, "values of what was made again", values(t.read(again, 0)), []string{"of the second one"})
	equal(t, "the deleted one is there", t.exists(gone), false)
	equal(t, "partitions", len(t.metadataOf(9, kept).Partitions), 3)
	equal(t, "retention.ms", t.topicSetting(kept, "retention.ms"), "777777")
}

func restartLeaderEpochs(t *T) {
	topic := t.Topic(1)
	epoch := func() int32 { return t.metadataOf(9, topic).Partitions[0].LeaderEpoch }
	first := epoch()
	t.append(topic, plainBatch("a", "b", "c"))
	t.Restart()
	t.served(topic, 1)
	second := epoch()
	if second < first {
		t.Fatalf("the leader epoch was %d and is %d", first, second)
	}
	t.append(topic, plainBatch("d", "e"))
	batches := t.batches(t.fetch(11, topic, 0).RecordBatches)
	equals(t, "epochs of the batches", []int32{batches[0].leaderEpoch, batches[len(batches)-1].leaderEpoch}, []int32{first, second})
	end := int64(5)
	if second > first {
		end = 3
		t.code("a fetch with the old epoch", t.fetchCode(topic, first), kerr.FencedLeaderEpoch)
	}
	p := t.epochEnd(t.newest(kmsg.OffsetForLeaderEpoch, 4), topic, 0, -1, first)
	t.ok("end of the first epoch", p.ErrorCode)
	equal(t, "end of the first epoch", [2]int64{int64(p.LeaderEpoch), p.EndOffset}, [2]int64{int64(first), end})
	t.code("a fetch with an epoch that is still to come", t.fetchCode(topic, second+1), kerr.UnknownLeaderEpoch)
	t.ok("a fetch with the epoch as it is", t.fetchCode(topic, second))
}

// fetchCode is the code of a fetch by who knows of a leader epoch.
func (t *T) fetchCode(topic string, epoch int32) int16 {
	version := t.newest(kmsg.Fetch, 11)
	req := t.fetchRequest(version, topic, fetching{})
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
	return one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions).ErrorCode
}

func restartProducer(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	for s := range int32(3) {
		t.ok("produce", t.produceNumbered(topic, id, epoch, 2*s, 2).ErrorCode)
	}
	t.Restart()
	t.served(topic, 1)
	p := t.produceNumbered(topic, id, epoch, 4, 2)
	t.ok("the last batch once more", p.ErrorCode)
	equal(t, "its base offset", p.BaseOffset, 4)
	equal(t, "end", t.endOffset(topic), 6)
	t.code("a batch after a gap", t.produceNumbered(topic, id, epoch, 7, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	p = t.produceNumbered(topic, id, epoch, 6, 1)
	t.ok("the next batch", p.ErrorCode)
	equal(t, "its base offset", p.BaseOffset, 6)
	t.code("a batch of an older epoch", t.produceNumbered(topic, id, epoch-1, 7, 1).ErrorCode, kerr.InvalidProducerEpoch)
	other, _ := t.producerID()
	equal(t, "a producer id is given out again", other == id, false)
}

func restartTransaction(p *transactor) {
	t := p.t
	for _, commit := range []bool{true, false} {
		topic := t.Topic(1)
		p.write(topic, 2, 0)
		t.Restart()
		t.served(topic, 1)
		got := t.fetchCommitted(topic, 0)
		equal(t, "stable offset of an open transaction", got.LastStableOffset, 0)
		equal(t, "records that are committed", len(t.records(got.RecordBatches)), 0)
		p.write(topic, 1, 0)
		p.end(commit, topic)
		got = t.fetchCommitted(topic, 0)
		equal(t, "stable offset", got.LastStableOffset, 4)
		equal(t, "aborted transactions", len(got.AbortedTransactions), map[bool]int{true: 0, false: 1}[commit])
	}
}

func restartOffsets(t *T) {
	group, topic := t.Group(), t.Topic(3)
	version := t.newest(kmsg.OffsetCommit, 8)
	for partition, metadata := range []*string{new("what it means"), new(""), new("gone")} {
		t.ok("commit", one(t, "partitions", t.commit(version, group, topic, committing{int32(partition), int64(10 + partition), metadata})))
	}
	top, part := t.offsetDelete(group, topic, 2)
	t.ok("delete", top)
	t.ok("delete", part)
	t.Restart()
	fetch := t.newest(kmsg.OffsetFetch, 7)
	t.until("the coordinator", func() bool {
		return !busy(ask[*kmsg.OffsetFetchResponse](t, fetch, t.offsetFetchRequest(fetch, group, topic, 0)).ErrorCode)
	})
	for partition, want := range []string{"10 what it means", "11 ", "-1 "} {
		got := t.committed(fetch, group, topic, int32(partition))
		equal(t, fmt.Sprint("partition ", partition), fmt.Sprint(got.Offset, " ", *got.Metadata), want)
	}
}

func restartGroup(t *T) {
	group := t.Group()
	leader, follower := t.settledPair(group)
	alone := t.member(t.Group())
	alone.instance = new("instance")
	alone.settle()
	t.Restart()
	for _, m := range []*member{leader, follower, alone} {
		m.c = t.Dial()
		t.until("the coordinator", func() bool { // One that still loads answers a heartbeat with NONE.
			return !busy(t.describe(t.newest(kmsg.DescribeGroups, 5), m.group).ErrorCode)
		})
		t.ok("heartbeat", m.beat())
	}
	g := t.describe(t.newest(kmsg.DescribeGroups, 5), group)
	equal(t, "state", g.State, "Stable")
	assigned := map[string]string{}
	for _, m := range g.Members {
		assigned[m.MemberID] = string(m.MemberAssignment)
	}
	equal(t, "assignment of the leader", assigned[leader.id], "for the leader")
	equal(t, "assignment of the follower", assigned[follower.id], "for the follower")
	equal(t, "members", len(assigned), 2)

	again := t.member(alone.group)
	again.instance = alone.instance
	again.leaveAtEnd()
	again.join()
	equal(t, "generation of the static member that comes back", again.generation, alone.generation)
	equal(t, "its assignment", string(again.sync(nil).MemberAssignment), "assigned to "+alone.id)
}

func restartConsumerGroup(t *T) {
	topic, group := t.Topic(4), t.Group()
	a, b := t.consumerMember(group, "a", topic), t.consumerMember(group, "b", topic)
	settleAll(t, []*consumerMember{a}, 4)
	settleAll(t, []*consumerMember{a, b}, 2, 2)
	epoch, had := a.epoch, plain(a.has)
	t.Restart()
	for _, m := range []*consumerMember{a, b} {
		m.c = t.Dial()
		var resp *kmsg.ConsumerGroupHeartbeatResponse
		t.until("the coordinator", func() bool { resp = m.tryBeat(nil); return !busy(resp.ErrorCode) })
		t.ok("heartbeat", resp.ErrorCode)
		equal(t, "epoch", resp.MemberEpoch, epoch)
	}
	settleAll(t, []*consumerMember{a, b}, 2, 2)
	equal(t, "what the first has", plain(a.has), had)
	g := t.describeConsumers(group)
	equal(t, "state", g.State, "Stable")
	equal(t, "epoch of the group", g.Epoch, epoch)
}

func restartSettings(t *T) {
	topic, group := t.Topic(1, "retention.ms=111111"), t.Group()
	kind := kmsg.ConfigResourceTypeGroupConfig
	t.ok("alter", t.alter(1, kind, group, set("consumer.session.timeout.ms", "50000")).ErrorCode)
	t.unsetAtEnd(1, kind, group, "consumer.session.timeout.ms")
	t.alterTopic(topic, set("max.message.bytes", "5555"))
	t.alterTopic(topic, unset("retention.ms"))
	t.Restart()
	t.served(topic, 1)
	equal(t, "max.message.bytes", t.topicSetting(topic, "max.message.bytes"), "5555")
	equal(t, "a setting that was taken back is there", t.topicSetting(topic, "retention.ms") == "111111", false)
	equal(t, "consumer.session.timeout.ms", t.setting(kind, group, "consumer.session.timeout.ms"), "50000")
	t.code("a batch over the limit", t.produce(t.newest(kmsg.Produce, 9), topic, big(10000).bytes()).ErrorCode, kerr.MessageTooLarge)
}

func restartFetchSession(t *T) {
	topic := t.Topic(1)
	s, _ := t.session(11, topic, fetching{})
	t.Restart()
	t.served(topic, 1)
	t.code("fetch", s.poll(nil).ErrorCode, kerr.FetchSessionIDNotFound)
}
