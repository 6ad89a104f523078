package compat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// foundScenarios are what differential fuzzing (compat/differential) found and no
// scenario had.
var foundScenarios = []Scenario{
	{ID: "groups.offset-delete.nothing-left", Says: "OffsetDelete of an unknown group is GROUP_ID_NOT_FOUND even if it names no partition that there is.", Refs: []string{"KIP-496"}, Run: offsetDeleteNothing},
	{ID: "groups.offset-delete.topic-once", Says: "OffsetDelete answers a topic once, the partitions that do not exist first.", Refs: []string{"KIP-496"}, Run: offsetDeleteTopicOnce},
	{ID: "groups.offset-fetch.nothing-left", Says: "OffsetFetch as a wrong member of a consumer group is refused for the group even if it names no topic that there is; else topics that are not there are answered last.", Refs: []string{"KIP-848"}, Since: "4.2", Run: offsetFetchNothing},
	{ID: "groups.consumer.describe-empty-id", Says: "ConsumerGroupDescribe of the empty group id is INVALID_GROUP_ID.", Refs: []string{"KIP-848"}, Since: "3.8", Run: describeNoGroup},
	{ID: "metadata.operations.unknown-topic", Says: "Authorized operations are told of topics that there are not, too.", Refs: []string{"KIP-430"}, Run: operationsOfUnknown},
	{ID: "topics.create.refused-has-no-configs", Says: "A topic that was not made is answered with an empty list of settings from version 5, not with null.", Refs: []string{"KIP-525"}, Run: refusedConfigs},
	{ID: "transactions.list.unknown-state-once", Says: "ListTransactions names a state filter that it does not know once, however often it was sent.", Refs: []string{"KIP-664"}, Since: "3.0", Run: unknownStateOnce},
	{ID: "topics.describe-partitions.limit-before-unknown", Says: "When the limit of partitions is reached, the cursor names the next topic whether there is one or not.", Refs: []string{"KIP-966"}, Since: "3.8", Run: limitBeforeUnknown},
	{ID: "configs.describe.one-bad-type", Says: "A kind of resource that does not exist fails the whole DescribeConfigs.", Run: oneBadType},
	{ID: "configs.describe.doubles", Says: "A setting that is a double is described as Java prints it.", Run: describedDoubles},
	{ID: "produce.refuse.unfit-before-transaction", Says: "Whether a partition is in the transaction is asked only of a batch that its version of Produce may bring.", Refs: []string{"KIP-890"}, Since: "3.6", Run: unfitInTransaction},
	{ID: "produce.refuse.cut-transactional", Says: "The beginning of a transactional batch is INVALID_RECORD for its partition; it needs no transactional id.", Refs: []string{"KIP-98"}, Run: cutTransactional},
	{ID: "produce.refuse.unfit-before-acks", Says: "A batch that its version of Produce may not bring is refused as such even with acks that there are not.", Run: unfitBeforeAcks},
	{ID: "fetch.session.deleted-topic", Says: "In a session that was begun with topic ids a deleted topic is UNKNOWN_TOPIC_OR_PARTITION, and one that was made again INCONSISTENT_TOPIC_ID.", Refs: []string{"KIP-516"}, Since: "3.1", Run: sessionDeletedTopic},
	{ID: "transactions.aborted-without-records", Says: "Who reads committed records is told of aborted transactions even where the limit of the fetch leaves no room for records.", Refs: []string{"KIP-98"}, Run: byBoth(abortedWithoutRecords)},
	{ID: "fetch.limits.cut-first", Says: "A first batch that what is left of the limits would cut is left out, and so are the aborted transactions.", Run: cutFirst},
	{ID: "transactions.log-append-time", Says: "The marker of a transaction bears the timestamp type of its topic.", Refs: []string{"KIP-32", "KIP-98"}, Run: byBoth(markerAppendTime)},
	{ID: "groups.commit.refused-makes-group", Says: "A commit whose offsets are all refused for their metadata makes its group all the same.", Run: refusedMakesGroup},
}

func offsetDeleteNothing(t *T) {
	top, _ := t.offsetDelete(t.Group(), t.name("missing"), 0)
	t.code("unknown group and topic", top, kerr.GroupIDNotFound)
	top, _ = t.offsetDelete(t.Group(), t.Topic(1), 7)
	t.code("unknown group and partition", top, kerr.GroupIDNotFound)
}

func describeNoGroup(t *T) {
	t.each(kmsg.ConsumerGroupDescribe, 0, 1, func(v int16) {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups = []string{""}
		g := one(t, "groups", ask[*kmsg.ConsumerGroupDescribeResponse](t, v, req).Groups)
		t.code("describe", g.ErrorCode, kerr.InvalidGroupID)
	})
}

func operationsOfUnknown(t *T) {
	name := t.name("missing")
	t.each(kmsg.Metadata, 8, 13, func(v int16) {
		req := kmsg.NewPtrMetadataRequest()
		req.IncludeTopicAuthorizedOperations = true
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		req.Topics = append(req.Topics, rt)
		got := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
		t.code("metadata", got.ErrorCode, kerr.UnknownTopicOrPartition)
		equal(t, "operations", got.AuthorizedOperations, topicOperations)
	})
}

func refusedConfigs(t *T) {
	t.each(kmsg.CreateTopics, 5, 7, func(v int16) {
		resp := ask[*kmsg.CreateTopicsResponse](t, v, createTopic("not/a/name", 1))
		got := one(t, "topics", resp.Topics)
		t.code("create", got.ErrorCode, kerr.InvalidTopicException)
		if got.Configs == nil {
			t.Fatalf("the settings are null")
		}
		equal(t, "settings", len(got.Configs), 0)
	})
}

func unknownStateOnce(t *T) {
	t.each(kmsg.ListTransactions, 0, 2, func(v int16) {
		req := kmsg.NewPtrListTransactionsRequest()
		req.StateFilters = []string{"Odd", "Odd"}
		resp := ask[*kmsg.ListTransactionsResponse](t, v, req)
		t.ok("list", resp.ErrorCode)
		equal(t, "state", one(t, "unknown states", resp.UnknownStateFilters), "Odd")
	})
}

func unfitInTransaction(t *T) {
	topic, id := t.Topic(1), t.name("x")
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60000
	version := t.newest(kmsg.InitProducerID, 4)
	var p *kmsg.InitProducerIDResponse
	t.until("a producer id", func() bool {
		p = ask[*kmsg.InitProducerIDResponse](t, version, init)
		return p.ErrorCode == 0
	})
	b := numbered(p.ProducerID, p.ProducerEpoch, 0, 1)
	b.attrs |= attrTransactional
	send := func(v int16, records []byte) int16 {
		req := t.produceRequest(v, -1, topic, portion{0, records})
		req.TransactionID = &id
		return one(t, "partitions", one(t, "topics", ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions).ErrorCode
	}
	t.code("not in the transaction", send(5, b.bytes()), kerr.InvalidTxnState)
	t.code("two batches", send(5, append(b.bytes(), b.bytes()...)), kerr.InvalidRecord)
	b.codec = codecZstd
	t.code("zstd before version 7", send(5, b.bytes()), kerr.UnsupportedCompressionType)
}

func cutTransactional(t *T) {
	topic := t.Topic(2)
	b := numbered(12345, 0, 0, 1)
	b.attrs = attrTransactional
	cut := b.bytes()[:len(b.bytes())-3]
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		req := t.produceRequest(v, -1, topic, portion{0, cut}, portion{1, plainBatch("a").bytes()})
		ps := one(t, "topics", ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions
		equal(t, "partitions", len(ps), 2)
		for _, p := range ps {
			if p.Partition == 0 {
				t.code("the cut batch", p.ErrorCode, kerr.InvalidRecord)
			} else {
				t.ok("the other", p.ErrorCode)
			}
		}
	})
	equal(t, "end of the log", t.endOffset(topic), 0)
}

func unfitBeforeAcks(t *T) {
	topic := t.Topic(1)
	zstd := plainBatch("a")
	zstd.codec = codecZstd
	refused := func(v int16, topic string, acks int16, records []byte, want *kerr.Error) {
		req := t.produceRequest(v, acks, topic, portion{0, records})
		p := one(t, "partitions", one(t, "topics", ask[*kmsg.ProduceResponse](t, v, req).Topics).Partitions)
		t.code("produce", p.ErrorCode, want)
	}
	refused(6, topic, 2, zstd.bytes(), kerr.UnsupportedCompressionType)
	refused(7, topic, 2, zstd.bytes(), kerr.InvalidRequiredAcks)
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		refused(v, topic, 2, twoBatches(), kerr.InvalidRecord)
		refused(v, topic, 2, plainBatch("a").bytes()[:70], kerr.InvalidRecord)
	})
	t.Group() // __consumer_offsets is there.
	refused(6, "__consumer_offsets", 1, twoBatches(), kerr.InvalidRecord)
	equal(t, "end of the log", t.endOffset(topic), 0)
}

func sessionDeletedTopic(t *T) {
	topic := t.Topic(1)
	s, _ := t.session(13, topic, fetching{})
	told := func(want *kerr.Error) {
		t.until("the code "+want.Message, func() bool {
			resp := s.poll(nil)
			t.ok("fetch", resp.ErrorCode)
			return len(resp.Topics) == 1 && resp.Topics[0].Partitions[0].ErrorCode == want.Code
		})
	}
	t.ok("delete", t.delete(topic))
	told(kerr.UnknownTopicOrPartition)
	t.create(topic, 1)
	told(kerr.InconsistentTopicID)
}

func limitBeforeUnknown(t *T) {
	topic := t.Topic(2)
	missing := topic + "-missing" // It comes next.
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 2
	for _, name := range []string{missing, topic} {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](t, 0, req)
	got := one(t, "topics", resp.Topics)
	equal(t, "partitions", len(got.Partitions), 2)
	if resp.NextCursor == nil {
		t.Fatalf("there is no cursor")
	}
	equal(t, "the cursor's topic", resp.NextCursor.Topic, missing)
	equal(t, "the cursor's partition", resp.NextCursor.Partition, 0)
}

func oneBadType(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.DescribeConfigs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, kind := range []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeTopic, 3} {
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = kind, topic
			req.Resources = append(req.Resources, rr)
		}
		resp := ask[*kmsg.DescribeConfigsResponse](t, v, req)
		equal(t, "resources", len(resp.Resources), 2)
		for _, r := range resp.Resources {
			t.code("describe", r.ErrorCode, kerr.InvalidRequest)
			equal(t, "settings", len(r.Configs), 0)
		}
	})
}

func describedDoubles(t *T) {
	for given, want := range map[string]string{"1": "1.0", "0": "0.0", "0.25": "0.25", "0.0005": "5.0E-4", "0.50": "0.5"} {
		topic := t.Topic(1, "min.cleanable.dirty.ratio="+given)
		got := t.describeConfigs(t.newest(kmsg.DescribeConfigs, 4), kmsg.ConfigResourceTypeTopic, topic, []string{"min.cleanable.dirty.ratio"}, nil)
		t.ok("describe", got.ErrorCode)
		c := one(t, "settings", got.Configs)
		if c.Value == nil || *c.Value != want {
			t.Fatalf("%s is described as %s, want %s", given, plain(c.Value), want)
		}
	}
}

func offsetDeleteTopicOnce(t *T) {
	group, topic := t.Group(), t.Topic(1)
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{offset: 5})
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic = topic
	for _, n := range []int32{0, 7} {
		rp := kmsg.NewOffsetDeleteRequestTopicPartition()
		rp.Partition = n
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.OffsetDeleteResponse](t, 0, req)
	t.ok("delete", resp.ErrorCode)
	parts := one(t, "topics", resp.Topics).Partitions
	equal(t, "partitions", len(parts), 2)
	equal(t, "the first", parts[0].Partition, 7)
	t.code("the first", parts[0].ErrorCode, kerr.UnknownTopicOrPartition)
	t.ok("the other", parts[1].ErrorCode)
}

func offsetFetchNothing(t *T) {
	group, topic := t.Group(), t.Topic(1)
	join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	join.Group, join.MemberID, join.RebalanceTimeoutMillis, join.SubscribedTopicNames = group, "member", 5000, []string{topic}
	join.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	joined := ask[*kmsg.ConsumerGroupHeartbeatResponse](t, 1, join)
	t.ok("join", joined.ErrorCode)
	fetch := func(member string, ids ...[16]byte) kmsg.OffsetFetchResponseGroup {
		req := t.offsetFetchRequest(10, group, topic, 0)
		rg := &req.Groups[0]
		rg.MemberID, rg.MemberEpoch, rg.Topics = &member, joined.MemberEpoch, nil
		for _, id := range ids {
			rt := kmsg.NewOffsetFetchRequestGroupTopic()
			rt.TopicID, rt.Partitions = id, []int32{0}
			rg.Topics = append(rg.Topics, rt)
		}
		return one(t, "groups", ask[*kmsg.OffsetFetchResponse](t, 10, req).Groups)
	}
	missing := [16]byte{7}
	got := fetch("nobody", missing)
	t.code("a wrong member", got.ErrorCode, kerr.UnknownMemberID)
	equal(t, "topics", len(got.Topics), 0)
	got = fetch("member", missing)
	t.ok("the member", got.ErrorCode)
	t.code("its topic", one(t, "partitions", one(t, "topics", got.Topics).Partitions).ErrorCode, kerr.UnknownTopicID)
	got = fetch("member", missing, t.topicID(topic))
	t.ok("the member", got.ErrorCode)
	equal(t, "topics", len(got.Topics), 2)
	equal(t, "the last topic", got.Topics[1].TopicID, missing)

	join.MemberEpoch, join.RebalanceTimeoutMillis, join.SubscribedTopicNames, join.Topics = -1, -1, nil, nil
	t.ok("leave", ask[*kmsg.ConsumerGroupHeartbeatResponse](t, 1, join).ErrorCode)
}

func abortedWithoutRecords(p *transactor) {
	t := p.t
	topic := t.Topic(2)
	t.appendTo(topic, 1, plainBatch("a"))
	id := p.id
	p.write(topic, 2, 0)
	p.end(false, topic)
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		for offset, want := range []int{1, 1, 1, 0} {
			req := t.fetchRequest(v, topic, fetching{partition: 1}, fetching{partition: 0, offset: int64(offset)})
			req.MaxBytes, req.IsolationLevel = 1, 1
			got := one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions
			equal(t, "partitions", len(got), 2)
			second := got[0]
			if second.Partition != 0 {
				second = got[1]
			}
			equal(t, "records of the second", len(second.RecordBatches), 0)
			equal(t, "aborted transactions", len(second.AbortedTransactions), want)
			for _, a := range second.AbortedTransactions {
				equal(t, "the producer", a.ProducerID, id)
				equal(t, "the first offset", a.FirstOffset, 0)
			}
		}
	})
}

func cutFirst(t *T) {
	topic := t.Topic(2)
	t.appendTo(topic, 0, plainBatch("a"))
	t.appendTo(topic, 1, plainBatch("b"))
	size := len(t.fetch(11, topic, 0).RecordBatches)
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		for room, want := range map[int]int{0: 0, 1: 0, size - 1: 0, size: size, size + 1: size} {
			for isolation := range int8(2) {
				// The first answer is whole whatever the limits are; what they leave is the other's.
				req := t.fetchRequest(v, topic, fetching{partition: 1}, fetching{partition: 0})
				req.MaxBytes, req.IsolationLevel = int32(size+room), isolation
				parts := one(t, "topics", ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions
				other := parts[slices.IndexFunc(parts, func(p kmsg.FetchResponseTopicPartition) bool { return p.Partition == 0 })]
				equal(t, fmt.Sprintf("bytes with room for %d of %d", room, size), len(other.RecordBatches), want)
				told := isolation == 1 && (room == 0 || want > 0)
				equal(t, fmt.Sprintf("aborted transactions are not null, with room for %d of %d", room, size), other.AbortedTransactions != nil, told)
			}
		}
	})
}

func markerAppendTime(p *transactor) {
	t := p.t
	for settings, stamped := range map[string]int16{"CreateTime": 0, "LogAppendTime": attrLogAppendTime} {
		topic := t.Topic(1, "message.timestamp.type="+settings)
		before := time.Now().Add(-time.Hour).UnixMilli()
		p.write(topic, 1, 0)
		p.end(true, topic)
		bs := t.batches(t.fetch(11, topic, 0).RecordBatches)
		equal(t, "batches", len(bs), 2)
		marker := bs[1]
		equal(t, "attributes of the marker", marker.attrs, attrControl|attrTransactional|stamped)
		equal(t, "its record was written today", one(t, "records", marker.records).at > before, true)
	}
}

func refusedMakesGroup(t *T) {
	group, topic := t.Group(), t.Topic(1)
	long := strings.Repeat("x", 4097)
	t.each(kmsg.OffsetCommit, 0, 10, func(v int16) {
		refused := func() {
			code := one(t, "partitions", t.commit(v, group, topic, committing{0, 7, &long}))
			t.code("4097 bytes", code, kerr.OffsetMetadataTooLarge)
		}
		refused()
		version := t.newest(kmsg.DeleteGroups, 1)
		t.ok("delete", t.deleteGroup(version, group))
		t.code("delete again", t.deleteGroup(version, group), kerr.GroupIDNotFound)
		refused()
		top, _ := t.offsetDelete(group, topic, 0)
		t.ok("delete offsets", top)
		of := t.commitRequest(v, group, topic, committing{offset: 1})
		of.MemberID, of.Generation = "nobody", 1
		if v > 0 { // Before, there are no generations.
			t.code("of a generation", one(t, "partitions", t.commitCodes(v, of)), kerr.UnknownMemberID)
		}
		t.ok("delete", t.deleteGroup(version, group))
	})
}
