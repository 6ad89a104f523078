package produce

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// answersScenarios are about every field of what Produce answers, in and outside of
// transactions.
var answersScenarios = []scenario.Scenario{
	{ID: "produce.whole-answer", Says: "Produce answers every field of each partition of several topics, also of those one behind the last, in every version.", Run: produceAnswers},
	{ID: "produce.whole-answer.refused", Says: "A batch that does not follow its producer's, or has a record that cannot be, is answered with the log start, and with the records at fault from version 8.", Refs: []string{"KIP-467"}, Run: produceRefusedAnswers},
	{ID: "produce.tags", Says: "Unknown tagged fields of a Produce's partitions, topics and of itself are skipped, in a transaction too.", Refs: []string{"KIP-482"}, Run: produceTags},
	{ID: "produce.transactional.whole-answer", Says: "A transactional Produce of several topics answers each partition, those one behind the last too, and what was written becomes part of the transaction.", Refs: []string{"KIP-98", "KIP-890"}, Run: produceTransactionAnswers},
	{ID: "produce.transactional.refused", Says: "Transactional batches of several producers, or of an epoch that is not the producer's, are refused all together or each by itself.", Refs: []string{"KIP-98"}, Run: produceTransactionRefused},
	{ID: "produce.transactional.not-added", Says: "A partition that was not added to the transaction is INVALID_TXN_STATE, and TRANSACTION_ABORTABLE in version 11.", Refs: []string{"KIP-890"}, Alone: true, Run: produceNotAdded},
}

// producing is a request of several topics, and a missing one.
func producing(t *scenario.T, version int16, topics map[string][]scenario.Portion, missing string) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	for name, portions := range topics {
		var rt kmsg.ProduceRequestTopic
		if name == missing {
			rt = kmsg.ProduceRequestTopic{Topic: missing, TopicID: scenario.NoTopic}
			for _, p := range portions {
				rt.Partitions = append(rt.Partitions, kmsg.ProduceRequestTopicPartition{Partition: p.Partition, Records: p.Records})
			}
		} else {
			rt = t.ProduceRequest(version, -1, name, portions...).Topics[0]
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// wholeProduced is whole for an answer in which any text will do where one is wanted.
func wholeProduced(t *scenario.T, what string, got, want *kmsg.ProduceResponse) {
	for i := range min(len(got.Topics), len(want.Topics)) {
		for j := range min(len(got.Topics[i].Partitions), len(want.Topics[i].Partitions)) {
			g, w := &got.Topics[i].Partitions[j], &want.Topics[i].Partitions[j]
			w.ErrorMessage = anyText(g.ErrorMessage, w.ErrorMessage)
			for k := range min(len(g.ErrorRecords), len(w.ErrorRecords)) {
				w.ErrorRecords[k].ErrorMessage = anyText(g.ErrorRecords[k].ErrorMessage, w.ErrorRecords[k].ErrorMessage)
			}
		}
	}
	scenario.Whole(t, what, got, want)
}

// anyText is a text that is there, where one is wanted.
func anyText(got, want *string) *string {
	if got != nil && *got != "" && want != nil {
		return got
	}
	return want
}

func notWritten(n int32, e *kerr.Error) kmsg.ProduceResponseTopicPartition {
	return scenario.Filled(func(p *kmsg.ProduceResponseTopicPartition) {
		p.Partition, p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = n, e.Code, -1, -1, -1
	})
}

func produceAnswers(t *scenario.T) {
	missing := t.Name("missing")
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		topic, stamped := t.Topic(2), t.Topic(1, "message.timestamp.type=LogAppendTime")
		t.Append(topic, scenario.PlainBatch("a", "b", "c"))
		t.DeleteRecords(topic, 2)
		one := func(n int32) scenario.Portion {
			return scenario.Portion{Partition: n, Records: scenario.PlainBatch("x").Bytes()}
		}
		got := scenario.ProducedInOrder(scenario.Ask[*kmsg.ProduceResponse](t, v, producing(t, v, map[string][]scenario.Portion{
			topic: {one(0), one(1), one(2), one(-1)}, stamped: {one(0), one(1)}, missing: {one(0)},
		}, missing)))
		at := int64(-1)
		for _, rt := range got.Topics {
			if len(rt.Partitions) == 2 {
				at = rt.Partitions[0].LogAppendTime
				t.Recent("append time", at)
			}
		}
		appended := scenario.Written(0, 0, 0)
		appended.LogAppendTime = at
		unknown := kerr.UnknownTopicOrPartition
		want := map[string][]kmsg.ProduceResponseTopicPartition{
			topic:   {notWritten(-1, unknown), scenario.Written(0, 3, 2), scenario.Written(1, 0, 0), notWritten(2, unknown)},
			stamped: {appended, notWritten(1, unknown)},
			missing: {notWritten(0, unknown)},
		}
		if v >= 13 {
			want[missing] = []kmsg.ProduceResponseTopicPartition{notWritten(0, kerr.UnknownTopicID)}
		}
		scenario.Whole(t, "Produce", got, t.ProducedAnswer(want, missing))
		scenario.EqualLists(t, "records", scenario.Values(t.Read(topic, 3)), []string{"x"})
	})
}

func produceRefusedAnswers(t *scenario.T) {
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		topic, compacted := t.Topic(1), t.Topic(1, "cleanup.policy=compact")
		id, epoch := t.ProducerID()
		first := scenario.NumberedBatch(id, epoch+1, 0, 3)
		for i := range first.Records {
			first.Records[i].At = time.Now().UnixMilli() - 5000
		}
		t.Append(topic, first)
		t.DeleteRecords(topic, 2)
		try := func(what, topic string, b scenario.Batch, want kmsg.ProduceResponseTopicPartition) {
			got := scenario.Ask[*kmsg.ProduceResponse](t, v, t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: b.Bytes()}))
			wholeProduced(t, what, got, t.ProducedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {want}}, ""))
		}
		refused := func(e *kerr.Error, start int64) kmsg.ProduceResponseTopicPartition {
			p := notWritten(0, e)
			p.LogStartOffset = start
			return p
		}
		try("a gap", topic, scenario.NumberedBatch(id, epoch+1, 4, 1), refused(kerr.OutOfOrderSequenceNumber, 2))
		try("an epoch before", topic, scenario.NumberedBatch(id, epoch, 0, 1), refused(kerr.InvalidProducerEpoch, 2))
		try("a new epoch that does not begin at 0", topic, scenario.NumberedBatch(id, epoch+2, 1, 1), refused(kerr.OutOfOrderSequenceNumber, 2))
		again := scenario.Written(0, 0, 2)
		again.LogAppendTime = first.Records[2].At // As if it were appended at the time of its records.
		try("the last one again", topic, first, again)
		try("the next", topic, scenario.NumberedBatch(id, epoch+1, 3, 1), scenario.Written(0, 3, 2))
		keyless := scenario.Batch{Records: []scenario.Record{{Key: []byte("k"), Value: []byte("v")}, {Value: []byte("v")}, {Value: []byte("w")}}}
		at := refused(kerr.InvalidRecord, 0)
		at.ErrorMessage = new("why")
		for _, i := range []int32{1, 2} {
			at.ErrorRecords = append(at.ErrorRecords, scenario.Filled(func(e *kmsg.ProduceResponseTopicPartitionErrorRecord) {
				e.RelativeOffset, e.ErrorMessage = i, new("why")
			}))
		}
		try("records without keys", compacted, keyless, at)
		try("a batch with a wrong checksum", compacted, scenario.Batch{Records: scenario.PlainBatch("a").Records, CRC: new(uint32(1))}, notWritten(0, kerr.CorruptMessage))
	})
}

func produceTags(t *scenario.T) {
	t.Each(kmsg.Produce, 9, 13, func(v int16) {
		for _, transactional := range []bool{false, true} {
			topic, other := t.Topic(2), t.Topic(1)
			batches := map[string][]scenario.Portion{
				topic: {{Partition: 0, Records: scenario.PlainBatch("a").Bytes()}, {Partition: 1, Records: scenario.PlainBatch("b").Bytes()}}, other: {{Partition: 0, Records: scenario.PlainBatch("c").Bytes()}},
			}
			var p *scenario.Transactor
			if transactional {
				p = &scenario.Transactor{T: t, Modern: v >= 12, TxnID: t.TransactionalID()}
				p.Init()
				for name, portions := range batches {
					for i := range portions {
						p.Enter(name, []int32{0, 1}[:len(portions)]...)
						portions[i].Records = p.Batch(portions[i].Partition, 1).Bytes()
					}
				}
			}
			req := producing(t, v, batches, "")
			if transactional {
				req.TransactionID = &p.TxnID
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
			scenario.Whole(t, "Produce", t.CalmProduce(v, req), t.ProducedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{
				topic: {scenario.Written(0, 0, 0), scenario.Written(1, 0, 0)}, other: {scenario.Written(0, 0, 0)},
			}, ""))
			if transactional {
				p.End(true, topic, other)
			}
		}
	})
}

func produceTransactionAnswers(t *scenario.T) {
	missing := t.Name("missing")
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		topic, other := t.Topic(2), t.Topic(1)
		p := &scenario.Transactor{T: t, Modern: v >= 12, TxnID: t.TransactionalID()}
		p.Init()
		p.Enter(topic, 0, 1)
		p.Enter(other, 0)
		one := func(n int32) scenario.Portion { return scenario.Portion{Partition: n, Records: p.Batch(n, 1).Bytes()} }
		req := producing(t, v, map[string][]scenario.Portion{topic: {one(0), one(1), one(2), one(-1)}, other: {one(0), one(1)}, missing: {one(0)}}, missing)
		req.TransactionID = &p.TxnID
		unknown := kerr.UnknownTopicOrPartition
		want := map[string][]kmsg.ProduceResponseTopicPartition{
			topic:   {notWritten(-1, unknown), scenario.Written(0, 0, 0), scenario.Written(1, 0, 0), notWritten(2, unknown)},
			other:   {scenario.Written(0, 0, 0), notWritten(1, unknown)},
			missing: {notWritten(0, unknown)},
		}
		if v >= 13 {
			want[missing] = []kmsg.ProduceResponseTopicPartition{notWritten(0, kerr.UnknownTopicID)}
		}
		scenario.Whole(t, "Produce", t.CalmProduce(v, req), t.ProducedAnswer(want, missing))
		describe := kmsg.NewPtrDescribeTransactionsRequest()
		describe.TransactionalIDs = []string{p.TxnID}
		var in []string
		for _, rt := range scenario.Ask[*kmsg.DescribeTransactionsResponse](t, 0, describe).TransactionStates[0].Topics {
			slices.Sort(rt.Partitions)
			in = append(in, rt.Topic+scenario.Plain(rt.Partitions))
		}
		slices.Sort(in)
		both := []string{topic + "[0 1]", other + "[0]"}
		slices.Sort(both)
		scenario.EqualLists(t, "partitions in the transaction", in, both)
		p.End(true, topic, other)
		scenario.Equal(t, "stable offset", t.FetchCommitted(topic, 0).LastStableOffset, 2)
	})
}

func produceTransactionRefused(t *scenario.T) {
	t.Each(kmsg.Produce, 3, 13, func(v int16) {
		topic := t.Topic(2)
		p, q := &scenario.Transactor{T: t, Modern: v >= 12, TxnID: t.TransactionalID()}, t.OlderTransactor()
		p.Init()
		p.Init() // There is an epoch before.
		p.Enter(topic, 0, 1)
		try := func(what string, a, b scenario.Batch, want ...kmsg.ProduceResponseTopicPartition) {
			req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: a.Bytes()}, scenario.Portion{Partition: 1, Records: b.Bytes()})
			req.TransactionID = &p.TxnID
			wholeProduced(t, what, t.CalmProduce(v, req), t.ProducedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: want}, ""))
		}
		fenced := kerr.InvalidProducerEpoch
		mapping := func(n int32) kmsg.ProduceResponseTopicPartition {
			p := notWritten(n, kerr.InvalidProducerIDMapping)
			p.ErrorMessage = new("why")
			return p
		}
		try("two producers", p.Batch(0, 1), q.Batch(1, 1), mapping(0), mapping(1))
		stale := p.Batch(1, 1)
		stale.Epoch--
		try("two epochs", p.Batch(0, 1), stale, mapping(0), mapping(1))
		both := p.Batch(0, 1)
		both.Epoch--
		try("the epoch before", both, stale, notWritten(0, fenced), notWritten(1, fenced))
		try("all is well", p.Batch(0, 1), p.Batch(1, 1), scenario.Written(0, 0, 0), scenario.Written(1, 0, 0))
		p.End(true, topic)
	})
}

func produceNotAdded(t *scenario.T) {
	t.Each(kmsg.Produce, 3, 11, func(v int16) {
		topic := t.Topic(2)
		p := t.OlderTransactor()
		p.Enter(topic, 0)
		req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: p.Batch(0, 1).Bytes()}, scenario.Portion{Partition: 1, Records: p.Batch(1, 1).Bytes()})
		req.TransactionID = &p.TxnID
		not := notWritten(1, kerr.TransactionAbortable)
		if v < 11 {
			not = notWritten(1, kerr.InvalidTxnState)
			not.ErrorMessage = new("why")
		}
		wholeProduced(t, "Produce", t.CalmProduce(v, req), t.ProducedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {scenario.Written(0, 0, 0), not}}, ""))
		p.End(false, topic)
	})
}
