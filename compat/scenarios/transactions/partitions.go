package transactions

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// partitionsScenarios are about what is written in transactions.
var partitionsScenarios = []scenario.Scenario{
	{ID: "transactions.topic-deleted", Says: "A topic that is deleted while a transaction has written to it does not hold up the transaction.", Refs: []string{"redpanda#3544", "kop#1386", "case T07"}, Run: scenario.ByBoth(topicDeletedInTransaction)},
	{ID: "transactions.sequence-restarts", Says: "After a transactional id is initialized again sequences begin at 0 in every partition.", Refs: []string{"redpanda#4261", "case T09"}, Run: scenario.ByBoth(sequenceRestarts)},
	{ID: "transactions.plain-batch-within", Says: "A batch outside of a transaction from a producer with an open one is INVALID_TXN_STATE.", Refs: []string{"franz-go kfake@60b88eaa", "case T17"}, Run: scenario.ByBoth(plainBatchWithin)},
	{ID: "transactions.add-partitions.whole-answer", Says: "AddPartitionsToTxn adds all partitions or none: of one that is not there it says so, of the others that nothing was done.", Refs: []string{"KIP-98"}, Run: addPartitionsAnswers},
	{ID: "transactions.add-partitions.batched", Says: "From version 4 AddPartitionsToTxn adds to several transactions, or tells which partitions are in them.", Refs: []string{"KIP-890"}, Run: addPartitionsBatched},
	{ID: "transactions.verification-off", Says: "Where transaction.partition.verification.enable is false, a partition that was not added to the transaction is written to.", Refs: []string{"KIP-890"}, Alone: true, Run: verificationOff},
}

func topicDeletedInTransaction(p *scenario.Transactor) {
	t := p.T
	kept, gone := t.Topic(1), t.Name("gone")
	t.CreateTopic(gone, 1)
	p.Write(kept, 1, 0)
	next := p.Next
	p.Next = map[int32]int32{}
	p.Write(gone, 1, 0)
	p.Next = next
	t.OK("delete", t.DeleteTopic(gone))
	p.End(true, kept)
	got := t.FetchCommitted(kept, 0)
	scenario.Equal(t, "stable offset", got.LastStableOffset, 2)
	scenario.Equal(t, "aborted transactions", len(got.AbortedTransactions), 0)
	p.Write(kept, 1, 0)
	p.End(true, kept)
	scenario.Equal(t, "end after the next transaction", t.EndOffset(kept), 4)
}

func sequenceRestarts(p *scenario.Transactor) {
	t, topic := p.T, p.T.Topic(3)
	all := []int32{0, 1, 2}
	id := p.ID
	for round := range int64(3) {
		p.Write(topic, 2, all...)
		p.Write(topic, 1, all...)
		p.End(round != 1, topic)
		p.Init() // Sequences begin at 0 again.
		scenario.Equal(t, "producer id", p.ID, id)
	}
	for _, partition := range all {
		resp := t.ListOffsetOf(t.Newest(kmsg.ListOffsets, 8), topic, partition, -1, -1)
		scenario.Equal(t, "end of the log", resp.Offset, 12) // Of three rounds of three records and a marker.
	}
}

func plainBatchWithin(p *scenario.Transactor) {
	t, topic := p.T, p.T.Topic(1)
	p.Write(topic, 1, 0)
	b := scenario.NumberedBatch(p.ID, p.Epoch, 1, 1)
	t.Code("a plain batch", t.Produce(t.Newest(kmsg.Produce, 9), topic, b.Bytes()).ErrorCode, kerr.InvalidTxnState)
	p.End(false, topic)
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 2)
}

// entry is a topic of an answer: the codes of its partitions.
type entry struct {
	topic string
	codes map[int32]int16
}

// addedAnswer is an AddPartitionsToTxn answer of old versions.
func addedAnswer(entries ...entry) *kmsg.AddPartitionsToTxnResponse {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	for _, e := range entries {
		rt := kmsg.NewAddPartitionsToTxnResponseTopic()
		rt.Topic = e.topic
		for p, code := range e.codes {
			rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.AddPartitionsToTxnResponseTopicPartition) {
				rp.Partition, rp.ErrorCode = p, code
			}))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return inOrder(resp)
}

// inOrder sorts what an answer tells in any order.
func inOrder(resp *kmsg.AddPartitionsToTxnResponse) *kmsg.AddPartitionsToTxnResponse {
	slices.SortFunc(resp.Topics, func(a, b kmsg.AddPartitionsToTxnResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	for _, rt := range resp.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.AddPartitionsToTxnResponseTopicPartition) int {
			return cmp.Compare(a.Partition, b.Partition)
		})
	}
	slices.SortFunc(resp.Transactions, func(a, b kmsg.AddPartitionsToTxnResponseTransaction) int {
		return cmp.Compare(a.TransactionalID, b.TransactionalID)
	})
	for _, x := range resp.Transactions {
		slices.SortFunc(x.Topics, func(a, b kmsg.AddPartitionsToTxnResponseTransactionTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		for _, rt := range x.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.AddPartitionsToTxnResponseTransactionTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
	return resp
}

func addPartitionsAnswers(t *scenario.T) {
	topic, other, missing := t.Topic(2), t.Topic(1), t.Name("missing")
	t.Each(kmsg.AddPartitionsToTxn, 0, 3, func(v int16) {
		p := t.OlderTransactor()
		add := func(what string, want *kmsg.AddPartitionsToTxnResponse, topics ...kmsg.AddPartitionsToTxnRequestTopic) {
			req := p.EnterRequest(topic)
			req.Topics = topics
			scenario.Whole(t, what, inOrder(scenario.Calm(t, v, req, func(r *kmsg.AddPartitionsToTxnResponse) (codes []int16) {
				for _, rt := range r.Topics {
					for _, rp := range rt.Partitions {
						codes = append(codes, rp.ErrorCode)
					}
				}
				return codes
			})), want)
		}
		of := func(topic string, partitions ...int32) kmsg.AddPartitionsToTxnRequestTopic {
			return kmsg.AddPartitionsToTxnRequestTopic{Topic: topic, Partitions: partitions}
		}
		unknown, not := kerr.UnknownTopicOrPartition.Code, kerr.OperationNotAttempted.Code
		add("one behind the last, and one below the first",
			addedAnswer(entry{topic, map[int32]int16{-1: unknown, 0: not, 1: not, 2: unknown}}, entry{other, map[int32]int16{0: not}}),
			of(topic, 0, 1, 2, -1), of(other, 0))
		add("a topic that is not there",
			addedAnswer(entry{topic, map[int32]int16{0: not}}, entry{missing, map[int32]int16{0: unknown}}), of(topic, 0), of(missing, 0))
		t.Group() // There is an internal topic.
		add("an internal topic", addedAnswer(
			entry{"__consumer_offsets", map[int32]int16{0: kerr.TopicAuthorizationFailed.Code}}, entry{topic, map[int32]int16{0: not}}),
			of(topic, 0), of("__consumer_offsets", 0))
		added := addedAnswer(entry{topic, map[int32]int16{0: 0, 1: 0}}, entry{other, map[int32]int16{0: 0}})
		add("all are there", added, of(topic, 0, 1), of(other, 0))
		add("all again", added, of(topic, 0, 1), of(other, 0))
		id, epoch := p.ID, p.Epoch
		p.Epoch++
		add("an epoch that is to come", addedAnswer(entry{topic, map[int32]int16{0: fencedCode(v, 2)}}), of(topic, 0))
		p.ID, p.Epoch = id+1, epoch
		add("another producer", addedAnswer(entry{topic, map[int32]int16{0: kerr.InvalidProducerIDMapping.Code}}), of(topic, 0))
		p.ID, p.TxnID = id, t.TransactionalID()
		add("a transactional id that nobody initialized", addedAnswer(entry{topic, map[int32]int16{0: kerr.InvalidProducerIDMapping.Code}}), of(topic, 0))
	})
}

func addPartitionsBatched(t *scenario.T) {
	topic := t.Topic(3)
	t.Each(kmsg.AddPartitionsToTxn, 4, 5, func(v int16) {
		p, q := t.OlderTransactor(), t.OlderTransactor()
		p.Enter(topic, 0)
		transaction := func(of *scenario.Transactor, verify bool, partitions ...int32) kmsg.AddPartitionsToTxnRequestTransaction {
			return scenario.Filled(func(x *kmsg.AddPartitionsToTxnRequestTransaction) {
				x.TransactionalID, x.ProducerID, x.ProducerEpoch, x.VerifyOnly = of.TxnID, of.ID, of.Epoch, verify
				x.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}}
			})
		}
		answered := func(of *scenario.Transactor, codes ...int16) kmsg.AddPartitionsToTxnResponseTransaction {
			return scenario.Filled(func(x *kmsg.AddPartitionsToTxnResponseTransaction) {
				x.TransactionalID = of.TxnID
				rt := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
				rt.Topic = topic
				for i, code := range codes {
					rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.AddPartitionsToTxnResponseTransactionTopicPartition) {
						rp.Partition, rp.ErrorCode = int32(i), code
					}))
				}
				x.Topics = append(x.Topics, rt)
			})
		}
		add := func(what string, req []kmsg.AddPartitionsToTxnRequestTransaction, want ...kmsg.AddPartitionsToTxnResponseTransaction) {
			in := kmsg.NewPtrAddPartitionsToTxnRequest()
			in.Transactions = req
			got := scenario.Calm(t, v, in, func(r *kmsg.AddPartitionsToTxnResponse) (codes []int16) {
				for _, x := range r.Transactions {
					for _, rp := range x.Topics[0].Partitions {
						codes = append(codes, rp.ErrorCode)
					}
				}
				return codes
			})
			resp := kmsg.NewPtrAddPartitionsToTxnResponse()
			resp.Transactions = want
			scenario.Whole(t, what, inOrder(got), inOrder(resp))
		}
		list := func(all ...kmsg.AddPartitionsToTxnRequestTransaction) []kmsg.AddPartitionsToTxnRequestTransaction {
			return all
		}
		abortable, unknown, not := kerr.TransactionAbortable.Code, kerr.UnknownTopicOrPartition.Code, kerr.OperationNotAttempted.Code
		add("which partitions are in", list(transaction(p, true, 0, 1), transaction(q, true, 0)), answered(p, 0, abortable), answered(q, abortable))
		add("to two transactions", list(transaction(p, false, 0, 1), transaction(q, false, 0)), answered(p, 0, 0), answered(q, 0))
		add("which are in now", list(transaction(p, true, 0, 1), transaction(q, true, 0, 1)), answered(p, 0, 0), answered(q, 0, abortable))
		add("one behind the last", list(transaction(p, false, 0, 1, 2, 3), transaction(q, false, 0)), answered(p, not, not, not, unknown), answered(q, 0))
		q.Epoch++
		add("a fenced one beside", list(transaction(p, false, 0), transaction(q, false, 0)), answered(p, 0), answered(q, kerr.ProducerFenced.Code))
		q.ID++
		add("an unknown one beside", list(transaction(p, true, 0), transaction(q, true, 0)), answered(p, 0), answered(q, kerr.InvalidProducerIDMapping.Code))
	})
}

func verificationOff(t *scenario.T) {
	const key = "transaction.partition.verification.enable"
	set := func(c *scenario.Conn, op kmsg.IncrementalAlterConfigOp) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: t.NodeName(),
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Op: op, Value: new("false")}},
		}}
		resp := scenario.AskOn[*kmsg.IncrementalAlterConfigsResponse](t, c, 1, req)
		t.OK("set "+key, scenario.One(t, "resources", resp.Resources).ErrorCode)
	}
	set(t.Conn(), 0)
	t.Cleanup(func() { set(t.Dial(), 1) })
	t.Until("the setting", func() bool { return t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), key) == "false" })
	t.Each(kmsg.Produce, 3, 11, func(v int16) {
		topic, p := t.Topic(1), t.OlderTransactor()
		req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: p.Batch(0, 1).Bytes()})
		req.TransactionID = &p.TxnID
		scenario.Whole(t, "Produce", t.CalmProduce(v, req), t.ProducedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {scenario.Written(0, 0, 0)}}, ""))
	})
	t.Each(kmsg.Produce, 12, 13, func(v int16) { // Their leaders add them all the same.
		topic, p := t.Topic(1), &scenario.Transactor{T: t, Modern: true, TxnID: t.TransactionalID()}
		p.Init()
		req := t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: p.Batch(0, 1).Bytes()})
		req.TransactionID = &p.TxnID
		scenario.Whole(t, "Produce", t.CalmProduce(v, req), t.ProducedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {scenario.Written(0, 0, 0)}}, ""))
		p.End(true, topic)
	})
}
