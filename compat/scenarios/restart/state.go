package restart

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// stateScenarios are about what is there after a restart.
var stateScenarios = []scenario.Scenario{
	{ID: "restart.records", Says: "What was acknowledged is there after a restart, byte for byte, and found by time.", Restarts: true, Run: restartRecords},
	{ID: "restart.topics", Says: "Topics, their ids, partitions and settings are there after a restart, and those that were deleted are not.", Restarts: true, Run: restartTopics},
	{ID: "restart.leader-epochs", Says: "What was written before and after a restart is told apart by the leader epoch, which does not fall.", Refs: []string{"KIP-101", "KIP-320"}, Restarts: true, Run: restartLeaderEpochs},
	{ID: "restart.producer", Says: "The last batch of an idempotent producer is known after a restart: it is not written twice, nor a later one with a gap.", Refs: []string{"KIP-98"}, Restarts: true, Run: restartProducer},
	{ID: "restart.transaction", Says: "A transaction that is open while the broker restarts can be committed or aborted afterwards.", Refs: []string{"KIP-98"}, Restarts: true, Run: scenario.ByBoth(restartTransaction)},
	{ID: "restart.settings", Says: "Settings that were changed at run time, of topics and of groups, hold after a restart.", Restarts: true, Run: restartSettings},
	{ID: "restart.fetch-session", Says: "A fetch session is not known after a restart.", Refs: []string{"KIP-227"}, Restarts: true, Run: restartFetchSession},
}

func restartRecords(t *scenario.T) {
	topic := t.Topic(1)
	start := time.Now().UnixMilli()
	var want []string
	for turn := range 2 {
		for codec := range int16(5) {
			b := scenario.AtTimes(codec, start+int64(len(want)), start+int64(len(want))+1)
			for i := range b.Records {
				b.Records[i].Key = fmt.Append(nil, "key ", len(want))
				b.Records[i].Value = []byte(strings.Repeat(fmt.Sprint("value ", len(want), " "), 100))
				want = append(want, string(b.Records[i].Value))
			}
			scenario.Equal(t, "base offset", t.Append(topic, b), int64(len(want)-2))
		}
		before := t.Fetch(11, topic, 0).RecordBatches
		t.Restart()
		t.Served(topic, 1)
		got := t.Fetch(11, topic, 0)
		scenario.Equal(t, fmt.Sprint("bytes are the same after restart ", turn+1), string(got.RecordBatches) == string(before), true)
		scenario.EqualLists(t, "values", scenario.Values(t.Records(got.RecordBatches)), want)
		scenario.Equal(t, "end", t.EndOffset(topic), int64(len(want)))
		scenario.Equal(t, "offset by time", t.OffsetOf(topic, start+3).Offset, 3)
		scenario.Equal(t, "offset of the largest time", t.OffsetOf(topic, -3).Offset, int64(len(want)-1))
	}
}

func restartTopics(t *scenario.T) {
	kept, gone, again := t.Topic(2, "retention.ms=777777"), t.Name("gone"), t.Name("again")
	t.CreateTopic(gone, 1)
	t.CreateTopic(again, 1)
	id, old := t.TopicID(kept), t.TopicID(again)
	t.Append(again, scenario.PlainBatch("of the first one"))
	t.OK("delete", t.DeleteTopic(gone))
	t.OK("delete", t.DeleteTopic(again))
	t.Until("the end of a topic", func() bool { return !t.TopicExists(again) })
	t.ForgetTopicIDs()
	t.CreateTopic(again, 1)
	second := t.TopicID(again)
	scenario.Equal(t, "a topic that is made again has its old id", second == old, false)
	t.Append(again, scenario.PlainBatch("of the second one"))
	t.OK("partitions", t.CreatePartitions(1, kept, 3, nil).ErrorCode)
	t.Restart()
	t.ForgetTopicIDs()
	t.Served(kept, 3)
	t.Served(again, 1)
	scenario.Equal(t, "id", t.TopicID(kept), id)
	scenario.Equal(t, "id of what was made again", t.TopicID(again), second)
	scenario.EqualLists(t, "values of what was made again", scenario.Values(t.Read(again, 0)), []string{"of the second one"})
	scenario.Equal(t, "the deleted one is there", t.TopicExists(gone), false)
	scenario.Equal(t, "partitions", len(t.MetadataOf(9, kept).Partitions), 3)
	scenario.Equal(t, "retention.ms", t.TopicSetting(kept, "retention.ms"), "777777")
}

func restartLeaderEpochs(t *scenario.T) {
	topic := t.Topic(1)
	epoch := func() int32 { return t.MetadataOf(9, topic).Partitions[0].LeaderEpoch }
	first := epoch()
	t.Append(topic, scenario.PlainBatch("a", "b", "c"))
	t.Restart()
	t.Served(topic, 1)
	second := epoch()
	if second < first {
		t.Fatalf("the leader epoch was %d and is %d", first, second)
	}
	t.Append(topic, scenario.PlainBatch("d", "e"))
	batches := t.Batches(t.Fetch(11, topic, 0).RecordBatches)
	scenario.EqualLists(t, "epochs of the batches", []int32{batches[0].LeaderEpoch, batches[len(batches)-1].LeaderEpoch}, []int32{first, second})
	end := int64(5)
	if second > first {
		end = 3
		t.Code("a fetch with the old epoch", fetchCode(t, topic, first), kerr.FencedLeaderEpoch)
	}
	p := t.EndOfEpoch(t.Newest(kmsg.OffsetForLeaderEpoch, 4), topic, 0, -1, first)
	t.OK("end of the first epoch", p.ErrorCode)
	scenario.Equal(t, "end of the first epoch", [2]int64{int64(p.LeaderEpoch), p.EndOffset}, [2]int64{int64(first), end})
	t.Code("a fetch with an epoch that is still to come", fetchCode(t, topic, second+1), kerr.UnknownLeaderEpoch)
	t.OK("a fetch with the epoch as it is", fetchCode(t, topic, second))
}

// fetchCode is the code of a fetch by who knows of a leader epoch.
func fetchCode(t *scenario.T, topic string, epoch int32) int16 {
	version := t.Newest(kmsg.Fetch, 11)
	req := t.FetchRequest(version, topic, scenario.Fetching{})
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
	return scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, version, req).Topics).Partitions).ErrorCode
}

func restartProducer(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	for s := range int32(3) {
		t.OK("produce", t.ProduceNumbered(topic, id, epoch, 2*s, 2).ErrorCode)
	}
	t.Restart()
	t.Served(topic, 1)
	p := t.ProduceNumbered(topic, id, epoch, 4, 2)
	t.OK("the last batch once more", p.ErrorCode)
	scenario.Equal(t, "its base offset", p.BaseOffset, 4)
	scenario.Equal(t, "end", t.EndOffset(topic), 6)
	t.Code("a batch after a gap", t.ProduceNumbered(topic, id, epoch, 7, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
	p = t.ProduceNumbered(topic, id, epoch, 6, 1)
	t.OK("the next batch", p.ErrorCode)
	scenario.Equal(t, "its base offset", p.BaseOffset, 6)
	t.Code("a batch of an older epoch", t.ProduceNumbered(topic, id, epoch-1, 7, 1).ErrorCode, kerr.InvalidProducerEpoch)
	other, _ := t.ProducerID()
	scenario.Equal(t, "a producer id is given out again", other == id, false)
}

func restartTransaction(p *scenario.Transactor) {
	t := p.T
	for _, commit := range []bool{true, false} {
		topic := t.Topic(1)
		p.Write(topic, 2, 0)
		t.Restart()
		t.Served(topic, 1)
		got := t.FetchCommitted(topic, 0)
		scenario.Equal(t, "stable offset of an open transaction", got.LastStableOffset, 0)
		scenario.Equal(t, "records that are committed", len(t.Records(got.RecordBatches)), 0)
		p.Write(topic, 1, 0)
		p.End(commit, topic)
		got = t.FetchCommitted(topic, 0)
		scenario.Equal(t, "stable offset", got.LastStableOffset, 4)
		scenario.Equal(t, "aborted transactions", len(got.AbortedTransactions), map[bool]int{true: 0, false: 1}[commit])
	}
}

func restartSettings(t *scenario.T) {
	topic, group := t.Topic(1, "retention.ms=111111"), t.Group()
	kind := kmsg.ConfigResourceTypeGroupConfig
	t.OK("alter", t.Alter(1, kind, group, scenario.Set("consumer.session.timeout.ms", "50000")).ErrorCode)
	t.UnsetAtEnd(1, kind, group, "consumer.session.timeout.ms")
	t.AlterTopic(topic, scenario.Set("max.message.bytes", "5555"))
	t.AlterTopic(topic, scenario.Unset("retention.ms"))
	t.Restart()
	t.Served(topic, 1)
	scenario.Equal(t, "max.message.bytes", t.TopicSetting(topic, "max.message.bytes"), "5555")
	scenario.Equal(t, "a setting that was taken back is there", t.TopicSetting(topic, "retention.ms") == "111111", false)
	scenario.Equal(t, "consumer.session.timeout.ms", t.Setting(kind, group, "consumer.session.timeout.ms"), "50000")
	t.Code("a batch over the limit", t.Produce(t.Newest(kmsg.Produce, 9), topic, scenario.BigBatch(10000).Bytes()).ErrorCode, kerr.MessageTooLarge)
}

func restartFetchSession(t *scenario.T) {
	topic := t.Topic(1)
	s, _ := t.Session(11, topic, scenario.Fetching{})
	t.Restart()
	t.Served(topic, 1)
	t.Code("fetch", s.Poll(nil).ErrorCode, kerr.FetchSessionIDNotFound)
}
