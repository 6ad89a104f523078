package compat

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordAnswers are about every field of what those are answered who write and read
// records.
var recordAnswers = []Scenario{
	{ID: "produce.whole-answer", Says: "Produce answers every field of each partition of several topics, also of those one behind the last, in every version.", Run: produceAnswers},
	{ID: "produce.whole-answer.refused", Says: "A batch that does not follow its producer's, or has a record that cannot be, is answered with the log start, and with the records at fault from version 8.", Refs: []string{"KIP-467"}, Run: produceRefusedAnswers},
	{ID: "produce.tags", Says: "Unknown tagged fields of a Produce's partitions, topics and of itself are skipped, in a transaction too.", Refs: []string{"KIP-482"}, Run: produceTags},
	{ID: "produce.transactional.whole-answer", Says: "A transactional Produce of several topics answers each partition, those one behind the last too, and what was written becomes part of the transaction.", Refs: []string{"KIP-98", "KIP-890"}, Run: produceTransactionAnswers},
	{ID: "produce.transactional.refused", Says: "Transactional batches of several producers, or of an epoch that is not the producer's, are refused all together or each by itself.", Refs: []string{"KIP-98"}, Run: produceTransactionRefused},
	{ID: "produce.transactional.not-added", Says: "A partition that was not added to the transaction is INVALID_TXN_STATE, and TRANSACTION_ABORTABLE in version 11.", Refs: []string{"KIP-890"}, Alone: true, Run: produceNotAdded},
	{ID: "fetch.whole-answer", Says: "Fetch tells every field of each partition of several topics, also of those one behind the last, in every version.", Run: fetchAnswers},
	{ID: "fetch.whole-answer.diverging", Says: "A fetch behind the end of its last epoch is told where that ends and nothing else, from version 12.", Refs: []string{"KIP-595"}, Run: fetchDivergingAnswers},
	{ID: "offsets.list.whole-answer", Says: "ListOffsets tells every field of each partition of several topics, also of those one behind the last, in every version.", Run: listOffsetAnswers},
	{ID: "offsets.epoch.whole-answer", Says: "OffsetForLeaderEpoch tells every field of each partition of several topics, also of those one behind the last, in every version.", Refs: []string{"KIP-320"}, Run: epochEndAnswers},
}

// producing is a request of several topics, and a missing one.
func (t *T) producing(version int16, topics map[string][]portion, missing string) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	for name, portions := range topics {
		var rt kmsg.ProduceRequestTopic
		if name == missing {
			rt = kmsg.ProduceRequestTopic{Topic: missing, TopicID: noTopic}
			for _, p := range portions {
				rt.Partitions = append(rt.Partitions, kmsg.ProduceRequestTopicPartition{Partition: p.partition, Records: p.records})
			}
		} else {
			rt = t.produceRequest(version, -1, name, portions...).Topics[0]
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// noTopic is an id that no topic has.
var noTopic = [16]byte{5, 5, 5}

// producedAnswer is an answer with these partitions, by topic.
func (t *T) producedAnswer(topics map[string][]kmsg.ProduceResponseTopicPartition, missing string) *kmsg.ProduceResponse {
	resp := kmsg.NewPtrProduceResponse()
	for name, partitions := range topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID, rt.Partitions = name, noTopic, partitions
		if name != missing {
			rt.TopicID = t.topicID(name)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return producedInOrder(resp)
}

// producedInOrder puts the topics and partitions of an answer in order.
func producedInOrder(resp *kmsg.ProduceResponse) *kmsg.ProduceResponse {
	slices.SortFunc(resp.Topics, func(a, b kmsg.ProduceResponseTopic) int { return cmp.Compare(len(a.Partitions), len(b.Partitions)) })
	for _, rt := range resp.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.ProduceResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
	}
	return resp
}

// wholeProduced is whole for an answer in which any text will do where one is wanted.
func (t *T) wholeProduced(what string, got, want *kmsg.ProduceResponse) {
	for i := range min(len(got.Topics), len(want.Topics)) {
		for j := range min(len(got.Topics[i].Partitions), len(want.Topics[i].Partitions)) {
			g, w := &got.Topics[i].Partitions[j], &want.Topics[i].Partitions[j]
			w.ErrorMessage = anyText(g.ErrorMessage, w.ErrorMessage)
			for k := range min(len(g.ErrorRecords), len(w.ErrorRecords)) {
				w.ErrorRecords[k].ErrorMessage = anyText(g.ErrorRecords[k].ErrorMessage, w.ErrorRecords[k].ErrorMessage)
			}
		}
	}
	whole(t, what, got, want)
}

// anyText is a text that is there, where one is wanted.
func anyText(got, want *string) *string {
	if got != nil && *got != "" && want != nil {
		return got
	}
	return want
}

// written is the answer of a partition that was written to.
func written(n int32, base, start int64) kmsg.ProduceResponseTopicPartition {
	return filled(func(p *kmsg.ProduceResponseTopicPartition) {
		p.Partition, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = n, base, -1, start
	})
}

func notWritten(n int32, e *kerr.Error) kmsg.ProduceResponseTopicPartition {
	return filled(func(p *kmsg.ProduceResponseTopicPartition) {
		p.Partition, p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = n, e.Code, -1, -1, -1
	})
}

func produceAnswers(t *T) {
	missing := t.name("missing")
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		topic, stamped := t.Topic(2), t.Topic(1, "message.timestamp.type=LogAppendTime")
		t.append(topic, plainBatch("a", "b", "c"))
		t.deleteRecords(topic, 2)
		one := func(n int32) portion { return portion{n, plainBatch("x").bytes()} }
		got := producedInOrder(ask[*kmsg.ProduceResponse](t, v, t.producing(v, map[string][]portion{
			topic: {one(0), one(1), one(2), one(-1)}, stamped: {one(0), one(1)}, missing: {one(0)},
		}, missing)))
		at := int64(-1)
		for _, rt := range got.Topics {
			if len(rt.Partitions) == 2 {
				at = rt.Partitions[0].LogAppendTime
				t.recent("append time", at)
			}
		}
		appended := written(0, 0, 0)
		appended.LogAppendTime = at
		unknown := kerr.UnknownTopicOrPartition
		want := map[string][]kmsg.ProduceResponseTopicPartition{
			topic:   {notWritten(-1, unknown), written(0, 3, 2), written(1, 0, 0), notWritten(2, unknown)},
			stamped: {appended, notWritten(1, unknown)},
			missing: {notWritten(0, unknown)},
		}
		if v >= 13 {
			want[missing] = []kmsg.ProduceResponseTopicPartition{notWritten(0, kerr.UnknownTopicID)}
		}
		whole(t, "Produce", got, t.producedAnswer(want, missing))
		equals(t, "records", values(t.read(topic, 3)), []string{"x"})
	})
}

func produceRefusedAnswers(t *T) {
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		topic, compacted := t.Topic(1), t.Topic(1, "cleanup.policy=compact")
		id, epoch := t.producerID()
		first := numbered(id, epoch+1, 0, 3)
		for i := range first.records {
			first.records[i].at = time.Now().UnixMilli() - 5000
		}
		t.append(topic, first)
		t.deleteRecords(topic, 2)
		try := func(what, topic string, b batch, want kmsg.ProduceResponseTopicPartition) {
			got := ask[*kmsg.ProduceResponse](t, v, t.produceRequest(v, -1, topic, portion{0, b.bytes()}))
			t.wholeProduced(what, got, t.producedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {want}}, ""))
		}
		refused := func(e *kerr.Error, start int64) kmsg.ProduceResponseTopicPartition {
			p := notWritten(0, e)
			p.LogStartOffset = start
			return p
		}
		try("a gap", topic, numbered(id, epoch+1, 4, 1), refused(kerr.OutOfOrderSequenceNumber, 2))
		try("an epoch before", topic, numbered(id, epoch, 0, 1), refused(kerr.InvalidProducerEpoch, 2))
		try("a new epoch that does not begin at 0", topic, numbered(id, epoch+2, 1, 1), refused(kerr.OutOfOrderSequenceNumber, 2))
		again := written(0, 0, 2)
		again.LogAppendTime = first.records[2].at // As if it were appended at the time of its records.
		try("the last one again", topic, first, again)
		try("the next", topic, numbered(id, epoch+1, 3, 1), written(0, 3, 2))
		keyless := batch{records: []record{{key: []byte("k"), value: []byte("v")}, {value: []byte("v")}, {value: []byte("w")}}}
		at := refused(kerr.InvalidRecord, 0)
		at.ErrorMessage = new("why")
		for _, i := range []int32{1, 2} {
			at.ErrorRecords = append(at.ErrorRecords, filled(func(e *kmsg.ProduceResponseTopicPartitionErrorRecord) {
				e.RelativeOffset, e.ErrorMessage = i, new("why")
			}))
		}
		try("records without keys", compacted, keyless, at)
		try("a batch with a wrong checksum", compacted, batch{records: plainBatch("a").records, crc: new(uint32(1))}, notWritten(0, kerr.CorruptMessage))
	})
}

func produceTags(t *T) {
	t.each(kmsg.Produce, 9, 13, func(v int16) {
		for _, transactional := range []bool{false, true} {
			topic, other := t.Topic(2), t.Topic(1)
			batches := map[string][]portion{
				topic: {{0, plainBatch("a").bytes()}, {1, plainBatch("b").bytes()}}, other: {{0, plainBatch("c").bytes()}},
			}
			var p *transactor
			if transactional {
				p = &transactor{t: t, modern: v >= 12, txnID: t.transactionalID()}
				p.init()
				for name, portions := range batches {
					for i := range portions {
						p.enter(name, []int32{0, 1}[:len(portions)]...)
						portions[i].records = p.batch(portions[i].partition, 1).bytes()
					}
				}
			}
			req := t.producing(v, batches, "")
			if transactional {
				req.TransactionID = &p.txnID
			}
			tags := func(tags *kmsg.Tags) {
				tags.Set(40, []byte("forty"))
				tags.Set(300, nil)
			}
			tags(&req.UnknownTags)
			for i := range req.Topics {
				tags(&req.Topics[i].UnknownTags)
				for j := range req.Topics[i].Partitions {
					tags(&req.Topics[i].Partitions[j].UnknownTags)
				}
			}
			whole(t, "Produce", t.calmProduce(v, req), t.producedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{
				topic: {written(0, 0, 0), written(1, 0, 0)}, other: {written(0, 0, 0)},
			}, ""))
			if transactional {
				p.end(true, topic, other)
			}
		}
	})
}

// calmProduce repeats a Produce until no coordinator asks to be asked again.
func (t *T) calmProduce(v int16, req *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	return producedInOrder(calm(t, v, req, func(r *kmsg.ProduceResponse) (codes []int16) {
		for _, rt := range r.Topics {
			for _, p := range rt.Partitions {
				codes = append(codes, p.ErrorCode)
			}
		}
		return codes
	}))
}

func produceTransactionAnswers(t *T) {
	missing := t.name("missing")
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		topic, other := t.Topic(2), t.Topic(1)
		p := &transactor{t: t, modern: v >= 12, txnID: t.transactionalID()}
		p.init()
		p.enter(topic, 0, 1)
		p.enter(other, 0)
		one := func(n int32) portion { return portion{n, p.batch(n, 1).bytes()} }
		req := t.producing(v, map[string][]portion{topic: {one(0), one(1), one(2), one(-1)}, other: {one(0), one(1)}, missing: {one(0)}}, missing)
		req.TransactionID = &p.txnID
		unknown := kerr.UnknownTopicOrPartition
		want := map[string][]kmsg.ProduceResponseTopicPartition{
			topic:   {notWritten(-1, unknown), written(0, 0, 0), written(1, 0, 0), notWritten(2, unknown)},
			other:   {written(0, 0, 0), notWritten(1, unknown)},
			missing: {notWritten(0, unknown)},
		}
		if v >= 13 {
			want[missing] = []kmsg.ProduceResponseTopicPartition{notWritten(0, kerr.UnknownTopicID)}
		}
		whole(t, "Produce", t.calmProduce(v, req), t.producedAnswer(want, missing))
		describe := kmsg.NewPtrDescribeTransactionsRequest()
		describe.TransactionalIDs = []string{p.txnID}
		var in []string
		for _, rt := range ask[*kmsg.DescribeTransactionsResponse](t, 0, describe).TransactionStates[0].Topics {
			slices.Sort(rt.Partitions)
			in = append(in, rt.Topic+plain(rt.Partitions))
		}
		slices.Sort(in)
		both := []string{topic + "[0 1]", other + "[0]"}
		slices.Sort(both)
		equals(t, "partitions in the transaction", in, both)
		p.end(true, topic, other)
		equal(t, "stable offset", t.fetchCommitted(topic, 0).LastStableOffset, 2)
	})
}

func produceTransactionRefused(t *T) {
	t.each(kmsg.Produce, 3, 13, func(v int16) {
		topic := t.Topic(2)
		p, q := &transactor{t: t, modern: v >= 12, txnID: t.transactionalID()}, t.older()
		p.init()
		p.init() // There is an epoch before.
		p.enter(topic, 0, 1)
		try := func(what string, a, b batch, want ...kmsg.ProduceResponseTopicPartition) {
			req := t.produceRequest(v, -1, topic, portion{0, a.bytes()}, portion{1, b.bytes()})
			req.TransactionID = &p.txnID
			t.wholeProduced(what, t.calmProduce(v, req), t.producedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: want}, ""))
		}
		fenced := kerr.InvalidProducerEpoch
		mapping := func(n int32) kmsg.ProduceResponseTopicPartition {
			p := notWritten(n, kerr.InvalidProducerIDMapping)
			p.ErrorMessage = new("why")
			return p
		}
		try("two producers", p.batch(0, 1), q.batch(1, 1), mapping(0), mapping(1))
		stale := p.batch(1, 1)
		stale.epoch--
		try("two epochs", p.batch(0, 1), stale, mapping(0), mapping(1))
		both := p.batch(0, 1)
		both.epoch--
		try("the epoch before", both, stale, notWritten(0, fenced), notWritten(1, fenced))
		try("all is well", p.batch(0, 1), p.batch(1, 1), written(0, 0, 0), written(1, 0, 0))
		p.end(true, topic)
	})
}

func produceNotAdded(t *T) {
	t.each(kmsg.Produce, 3, 11, func(v int16) {
		topic := t.Topic(2)
		p := t.older()
		p.enter(topic, 0)
		req := t.produceRequest(v, -1, topic, portion{0, p.batch(0, 1).bytes()}, portion{1, p.batch(1, 1).bytes()})
		req.TransactionID = &p.txnID
		not := notWritten(1, kerr.TransactionAbortable)
		if v < 11 {
			not = notWritten(1, kerr.InvalidTxnState)
			not.ErrorMessage = new("why")
		}
		t.wholeProduced("Produce", t.calmProduce(v, req), t.producedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {written(0, 0, 0), not}}, ""))
		p.end(false, topic)
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

func fetchAnswers(t *T) {
	topic, other, missing := t.Topic(3), t.Topic(1), t.name("missing")
	stored := plainBatch("a", "b", "c").bytes()
	p := t.produce(t.newest(kmsg.Produce, 9), topic, stored)
	t.ok("produce", p.ErrorCode)
	binary.BigEndian.PutUint32(stored[12:], 0) // The leader's epoch.
	t.deleteRecords(topic, 1)
	t.each(kmsg.Fetch, 4, 18, func(v int16) {
		for isolation := range int8(2) {
			req := t.fetchRequest(v, topic, fetching{offset: 1}, fetching{partition: 1}, fetching{partition: 2, offset: 1}, fetching{partition: 3}, fetching{partition: -1})
			req.IsolationLevel = isolation
			gone := req.Topics[0]
			gone.Topic, gone.TopicID, gone.Partitions = missing, noTopic, gone.Partitions[1:2]
			req.Topics = append(req.Topics, gone, t.fetchTopic(v, other, fetching{}, fetching{partition: 1}))
			got := fetchedInOrder(ask[*kmsg.FetchResponse](t, v, req))
			partition := func(n int32, e *kerr.Error, high, start int64, records []byte) kmsg.FetchResponseTopicPartition {
				return filled(func(p *kmsg.FetchResponseTopicPartition) {
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
				{Topic: topic, TopicID: t.topicID(topic), Partitions: []kmsg.FetchResponseTopicPartition{
					unknown(-1), partition(0, nil, 3, 1, stored), partition(1, nil, 0, 0, []byte{}),
					partition(2, kerr.OffsetOutOfRange, -1, -1, []byte{}), unknown(3),
				}},
				{Topic: other, TopicID: t.topicID(other), Partitions: []kmsg.FetchResponseTopicPartition{partition(0, nil, 0, 0, []byte{}), unknown(1)}},
				{Topic: missing, TopicID: noTopic, Partitions: []kmsg.FetchResponseTopicPartition{unknown(1)}},
			}
			if v >= 13 {
				want.Topics[2].Partitions[0] = partition(1, kerr.UnknownTopicID, -1, -1, []byte{})
			}
			whole(t, "isolation level "+strconv.Itoa(int(isolation)), got, fetchedInOrder(want))
		}
	})
}

func fetchDivergingAnswers(t *T) {
	topic := t.Topic(1)
	t.append(topic, plainBatch("a", "b", "c"))
	t.each(kmsg.Fetch, 12, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{offset: 4})
		req.Topics[0].Partitions[0].LastFetchedEpoch = 0
		want := kmsg.NewPtrFetchResponse()
		want.Topics = []kmsg.FetchResponseTopic{{Topic: topic, TopicID: t.topicID(topic), Partitions: []kmsg.FetchResponseTopicPartition{
			filled(func(p *kmsg.FetchResponseTopicPartition) {
				p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.RecordBatches = 3, 3, 0, []byte{}
				p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 0, 3
			}),
		}}}
		whole(t, "Fetch", ask[*kmsg.FetchResponse](t, v, req), want)
	})
}

func listOffsetAnswers(t *T) {
	topic, other, missing := t.OldTopic(), t.Topic(2), t.name("missing")
	t.append(topic, times(codecNone, 1000, 2000, 3000))
	t.each(kmsg.ListOffsets, 1, 11, func(v int16) {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID, req.TimeoutMillis = -1, 5000
		add := func(name string, partitions ...kmsg.ListOffsetsRequestTopicPartition) {
			req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: name, Partitions: partitions})
		}
		at := func(n int32, ms int64, epoch int32) kmsg.ListOffsetsRequestTopicPartition {
			return kmsg.ListOffsetsRequestTopicPartition{Partition: n, Timestamp: ms, CurrentLeaderEpoch: epoch}
		}
		add(topic, at(0, 1500, -1), at(1, -1, -1), at(-1, -1, -1))
		add(other, at(0, -1, 0), at(1, 5, 1))
		add(missing, at(0, -1, -1))
		got := ask[*kmsg.ListOffsetsResponse](t, v, req)
		told := func(n int32, e *kerr.Error, offset, ms int64, epoch int32) kmsg.ListOffsetsResponseTopicPartition {
			return filled(func(p *kmsg.ListOffsetsResponseTopicPartition) {
				p.Partition, p.Offset, p.Timestamp, p.LeaderEpoch = n, offset, ms, epoch
				if e != nil {
					p.ErrorCode = e.Code
				}
			})
		}
		want := kmsg.NewPtrListOffsetsResponse()
		want.Topics = []kmsg.ListOffsetsResponseTopic{
			{Topic: topic, Partitions: []kmsg.ListOffsetsResponseTopicPartition{
				told(-1, kerr.UnknownTopicOrPartition, -1, -1, -1), told(0, nil, 1, 2000, 0), told(1, kerr.UnknownTopicOrPartition, -1, -1, -1),
			}},
			{Topic: other, Partitions: []kmsg.ListOffsetsResponseTopicPartition{told(0, nil, 0, -1, 0), told(1, kerr.UnknownLeaderEpoch, -1, -1, -1)}},
			{Topic: missing, Partitions: []kmsg.ListOffsetsResponseTopicPartition{told(0, kerr.UnknownTopicOrPartition, -1, -1, -1)}},
		}
		if v < 4 { // No epoch is said.
			want.Topics[1].Partitions[1] = told(1, nil, -1, -1, -1)
		}
		for _, r := range []*kmsg.ListOffsetsResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.ListOffsetsResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.ListOffsetsResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
			}
		}
		whole(t, "ListOffsets", got, want)
	})
}

func epochEndAnswers(t *T) {
	topic, missing := t.Topic(3), t.name("missing")
	t.append(topic, plainBatch("a", "b"))
	t.each(kmsg.OffsetForLeaderEpoch, 0, 4, func(v int16) {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		of := func(n, current, epoch int32) kmsg.OffsetForLeaderEpochRequestTopicPartition {
			return kmsg.OffsetForLeaderEpochRequestTopicPartition{Partition: n, CurrentLeaderEpoch: current, LeaderEpoch: epoch}
		}
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{
			{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{of(0, -1, 0), of(1, 0, 1), of(2, 1, 0), of(3, -1, 0), of(-1, -1, 0)}},
			{Topic: missing, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{of(0, -1, 0)}},
		}
		got := ask[*kmsg.OffsetForLeaderEpochResponse](t, v, req)
		told := func(n int32, e *kerr.Error, epoch int32, end int64) kmsg.OffsetForLeaderEpochResponseTopicPartition {
			return filled(func(p *kmsg.OffsetForLeaderEpochResponseTopicPartition) {
				p.Partition, p.LeaderEpoch, p.EndOffset = n, epoch, end
				if e != nil {
					p.ErrorCode = e.Code
				}
			})
		}
		want := kmsg.NewPtrOffsetForLeaderEpochResponse()
		unknown := kerr.UnknownTopicOrPartition
		want.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{
			{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{
				told(-1, unknown, -1, -1), told(0, nil, 0, 2), told(1, nil, -1, -1), told(2, kerr.UnknownLeaderEpoch, -1, -1), told(3, unknown, -1, -1),
			}},
			{Topic: missing, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{told(0, unknown, -1, -1)}},
		}
		if v < 2 { // No current epoch is said.
			want.Topics[0].Partitions[3] = told(2, nil, 0, 0)
		}
		for _, r := range []*kmsg.OffsetForLeaderEpochResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.OffsetForLeaderEpochResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.OffsetForLeaderEpochResponseTopicPartition) int {
					return cmp.Compare(a.Partition, b.Partition)
				})
			}
		}
		whole(t, "OffsetForLeaderEpoch", got, want)
	})
}
