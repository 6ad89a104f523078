package compat

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionAnswers are about every field of what the APIs of transactions answer.
var transactionAnswers = []Scenario{
	{ID: "transactions.init.whole-answer", Says: "InitProducerId gives an id and an epoch; a producer that is not who it says it is is fenced.", Refs: []string{"KIP-98", "KIP-360", "KIP-588"}, Run: initAnswers},
	{ID: "transactions.add-partitions.whole-answer", Says: "AddPartitionsToTxn adds all partitions or none: of one that is not there it says so, of the others that nothing was done.", Refs: []string{"KIP-98"}, Run: addPartitionsAnswers},
	{ID: "transactions.add-partitions.batched", Says: "From version 4 AddPartitionsToTxn adds to several transactions, or tells which partitions are in them.", Refs: []string{"KIP-890"}, Run: addPartitionsBatched},
	{ID: "transactions.add-offsets.whole-answer", Says: "AddOffsetsToTxn adds a group in any version, and refuses producers that are not known or fenced.", Refs: []string{"KIP-98"}, Run: addOffsetsAnswers},
	{ID: "transactions.commit-offsets.whole-answer", Says: "Offsets of a transaction are committed in any version and with every field, each partition that is not there is refused alone.", Refs: []string{"KIP-98", "KIP-447"}, Run: commitOffsetsAnswers},
	{ID: "transactions.commit-offsets.refused", Says: "TxnOffsetCommit refuses groups without a name, producers that are not known or fenced, and members of no group.", Refs: []string{"KIP-447"}, Run: commitOffsetsRefused},
	// Alone: where others ask meanwhile, Kafka tells all of them what the first one knows.
	{ID: "transactions.commit-offsets.not-added", Says: "Offsets of a group that was not added to the transaction are INVALID_TXN_STATE, and TRANSACTION_ABORTABLE in version 4.", Refs: []string{"KIP-890"}, Alone: true, Run: commitOffsetsNotAdded},
	{ID: "transactions.verification-off", Says: "Where transaction.partition.verification.enable is false, a partition that was not added to the transaction is written to.", Refs: []string{"KIP-890"}, Alone: true, Run: verificationOff},
	{ID: "transactions.end.whole-answer", Says: "EndTxn ends a transaction once and may be repeated, but not with the other outcome; fenced producers end none.", Refs: []string{"KIP-98", "KIP-890"}, Run: endAnswers},
	{ID: "transactions.markers.whole-answer", Says: "WriteTxnMarkers ends a producer's transaction in each partition that is there.", Refs: []string{"KIP-98", "KIP-664", "KIP-1228"}, Run: markersAnswers},
	{ID: "transactions.describe.whole-answer", Says: "DescribeTransactions, ListTransactions and DescribeProducers tell all of an open transaction.", Refs: []string{"KIP-664", "KIP-994", "KIP-1152"}, Run: describeTransactionAnswers},
}

// older is a producer that adds its partitions itself.
func (t *T) older() *transactor {
	p := &transactor{t: t, txnID: t.transactionalID()}
	p.init()
	return p
}

// fencedCode is what a fenced producer is told by a version of an API that tells
// producers so from since on.
func fencedCode(version, since int16) int16 {
	if version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return kerr.ProducerFenced.Code
}

// calm repeats a question until its answer has no code of a coordinator that asks
// to be asked again.
func calm[R kmsg.Response](t *T, version int16, req kmsg.Request, codes func(R) []int16) R {
	var resp R
	t.until("an answer of the coordinator", func() bool {
		resp = ask[R](t, version, req)
		return !slices.ContainsFunc(codes(resp), busy)
	})
	return resp
}

func initAnswers(t *T) {
	t.each(kmsg.InitProducerID, 0, 5, func(v int16) {
		initialize := func(what string, id *string, producer int64, epoch int16, want kmsg.InitProducerIDResponse) *kmsg.InitProducerIDResponse {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = id, 60000, producer, epoch
			got := calm(t, v, req, func(r *kmsg.InitProducerIDResponse) []int16 { return []int16{r.ErrorCode} })
			if want.ErrorCode == 0 && want.ProducerID == 0 {
				if got.ProducerID < 0 {
					t.Fatalf("%s: producer id %d", what, got.ProducerID)
				}
				want.ProducerID = got.ProducerID
			}
			whole(t, what, got, &want)
			return got
		}
		refused := func(code int16) kmsg.InitProducerIDResponse {
			return kmsg.InitProducerIDResponse{ErrorCode: code, ProducerID: -1, ProducerEpoch: -1}
		}
		plainID := initialize("no transactional id", nil, -1, -1, kmsg.InitProducerIDResponse{}).ProducerID
		equal(t, "another producer has another id", initialize("again", nil, -1, -1, kmsg.InitProducerIDResponse{}).ProducerID != plainID, true)
		initialize("an empty transactional id", new(""), -1, -1, refused(kerr.InvalidRequest.Code))
		txnID := t.transactionalID()
		first := initialize("a new transactional id", &txnID, -1, -1, kmsg.InitProducerIDResponse{})
		id := first.ProducerID
		initialize("the same again", &txnID, -1, -1, kmsg.InitProducerIDResponse{ProducerID: id, ProducerEpoch: 1})
		if v < 3 {
			return
		}
		for _, name := range []*string{nil, &txnID} {
			initialize("an id without an epoch", name, id, -1, refused(kerr.InvalidRequest.Code))
			initialize("an epoch without an id", name, -1, 1, refused(kerr.InvalidRequest.Code))
		}
		initialize("who it was", &txnID, id, 1, kmsg.InitProducerIDResponse{ProducerID: id, ProducerEpoch: 2})
		initialize("who it was, repeated", &txnID, id, 1, kmsg.InitProducerIDResponse{ProducerID: id, ProducerEpoch: 2})
		initialize("who it was before that", &txnID, id, 0, refused(fencedCode(v, 4)))
		initialize("who it will be", &txnID, id, 3, refused(fencedCode(v, 4)))
		initialize("somebody else", &txnID, plainID, 2, refused(fencedCode(v, 4)))
	})
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
			rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.AddPartitionsToTxnResponseTopicPartition) {
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

func addPartitionsAnswers(t *T) {
	topic, other, missing := t.Topic(2), t.Topic(1), t.name("missing")
	t.each(kmsg.AddPartitionsToTxn, 0, 3, func(v int16) {
		p := t.older()
		add := func(what string, want *kmsg.AddPartitionsToTxnResponse, topics ...kmsg.AddPartitionsToTxnRequestTopic) {
			req := p.enterRequest(topic)
			req.Topics = topics
			whole(t, what, inOrder(calm(t, v, req, func(r *kmsg.AddPartitionsToTxnResponse) (codes []int16) {
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
		id, epoch := p.id, p.epoch
		p.epoch++
		add("an epoch that is to come", addedAnswer(entry{topic, map[int32]int16{0: fencedCode(v, 2)}}), of(topic, 0))
		p.id, p.epoch = id+1, epoch
		add("another producer", addedAnswer(entry{topic, map[int32]int16{0: kerr.InvalidProducerIDMapping.Code}}), of(topic, 0))
		p.id, p.txnID = id, t.transactionalID()
		add("a transactional id that nobody initialized", addedAnswer(entry{topic, map[int32]int16{0: kerr.InvalidProducerIDMapping.Code}}), of(topic, 0))
	})
}

func addPartitionsBatched(t *T) {
	topic := t.Topic(3)
	t.each(kmsg.AddPartitionsToTxn, 4, 5, func(v int16) {
		p, q := t.older(), t.older()
		p.enter(topic, 0)
		transaction := func(of *transactor, verify bool, partitions ...int32) kmsg.AddPartitionsToTxnRequestTransaction {
			return filled(func(x *kmsg.AddPartitionsToTxnRequestTransaction) {
				x.TransactionalID, x.ProducerID, x.ProducerEpoch, x.VerifyOnly = of.txnID, of.id, of.epoch, verify
				x.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}}
			})
		}
		answered := func(of *transactor, codes ...int16) kmsg.AddPartitionsToTxnResponseTransaction {
			return filled(func(x *kmsg.AddPartitionsToTxnResponseTransaction) {
				x.TransactionalID = of.txnID
				rt := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
				rt.Topic = topic
				for i, code := range codes {
					rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.AddPartitionsToTxnResponseTransactionTopicPartition) {
						rp.Partition, rp.ErrorCode = int32(i), code
					}))
				}
				x.Topics = append(x.Topics, rt)
			})
		}
		add := func(what string, req []kmsg.AddPartitionsToTxnRequestTransaction, want ...kmsg.AddPartitionsToTxnResponseTransaction) {
			in := kmsg.NewPtrAddPartitionsToTxnRequest()
			in.Transactions = req
			got := calm(t, v, in, func(r *kmsg.AddPartitionsToTxnResponse) (codes []int16) {
				for _, x := range r.Transactions {
					for _, rp := range x.Topics[0].Partitions {
						codes = append(codes, rp.ErrorCode)
					}
				}
				return codes
			})
			resp := kmsg.NewPtrAddPartitionsToTxnResponse()
			resp.Transactions = want
			whole(t, what, inOrder(got), inOrder(resp))
		}
		list := func(all ...kmsg.AddPartitionsToTxnRequestTransaction) []kmsg.AddPartitionsToTxnRequestTransaction {
			return all
		}
		abortable, unknown, not := kerr.TransactionAbortable.Code, kerr.UnknownTopicOrPartition.Code, kerr.OperationNotAttempted.Code
		add("which partitions are in", list(transaction(p, true, 0, 1), transaction(q, true, 0)), answered(p, 0, abortable), answered(q, abortable))
		add("to two transactions", list(transaction(p, false, 0, 1), transaction(q, false, 0)), answered(p, 0, 0), answered(q, 0))
		add("which are in now", list(transaction(p, true, 0, 1), transaction(q, true, 0, 1)), answered(p, 0, 0), answered(q, 0, abortable))
		add("one behind the last", list(transaction(p, false, 0, 1, 2, 3), transaction(q, false, 0)), answered(p, not, not, not, unknown), answered(q, 0))
		q.epoch++
		add("a fenced one beside", list(transaction(p, false, 0), transaction(q, false, 0)), answered(p, 0), answered(q, kerr.ProducerFenced.Code))
		q.id++
		add("an unknown one beside", list(transaction(p, true, 0), transaction(q, true, 0)), answered(p, 0), answered(q, kerr.InvalidProducerIDMapping.Code))
	})
}

func verificationOff(t *T) {
	const key = "transaction.partition.verification.enable"
	set := func(c *Conn, op kmsg.IncrementalAlterConfigOp) {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: t.nodeName(),
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Op: op, Value: new("false")}},
		}}
		resp := askOn[*kmsg.IncrementalAlterConfigsResponse](t, c, 1, req)
		t.ok("set "+key, one(t, "resources", resp.Resources).ErrorCode)
	}
	set(t.Conn(), 0)
	t.cleanup(func() { set(t.Dial(), 1) })
	t.until("the setting", func() bool { return t.setting(kmsg.ConfigResourceTypeBroker, t.nodeName(), key) == "false" })
	t.each(kmsg.Produce, 3, 11, func(v int16) {
		topic, p := t.Topic(1), t.older()
		req := t.produceRequest(v, -1, topic, portion{0, p.batch(0, 1).bytes()})
		req.TransactionID = &p.txnID
		whole(t, "Produce", t.calmProduce(v, req), t.producedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {written(0, 0, 0)}}, ""))
	})
	t.each(kmsg.Produce, 12, 13, func(v int16) { // Their leaders add them all the same.
		topic, p := t.Topic(1), &transactor{t: t, modern: true, txnID: t.transactionalID()}
		p.init()
		req := t.produceRequest(v, -1, topic, portion{0, p.batch(0, 1).bytes()})
		req.TransactionID = &p.txnID
		whole(t, "Produce", t.calmProduce(v, req), t.producedAnswer(map[string][]kmsg.ProduceResponseTopicPartition{topic: {written(0, 0, 0)}}, ""))
		p.end(true, topic)
	})
}

func endAnswers(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.EndTxn, 0, 5, func(v int16) {
		p := &transactor{t: t, modern: v >= 5, txnID: t.transactionalID()}
		p.init()
		end := func(what string, commit bool, epoch int16, want kmsg.EndTxnResponse) {
			req := kmsg.NewPtrEndTxnRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.txnID, p.id, epoch, commit
			got := calm(t, v, req, func(r *kmsg.EndTxnResponse) []int16 { return []int16{r.ErrorCode} })
			whole(t, what, got, &want)
			clear(p.entered)
		}
		refused := func(code int16) kmsg.EndTxnResponse {
			return kmsg.EndTxnResponse{ErrorCode: code, ProducerID: -1, ProducerEpoch: -1}
		}
		ended := func(epoch int16) kmsg.EndTxnResponse {
			return kmsg.EndTxnResponse{ProducerID: p.id, ProducerEpoch: epoch}
		}
		end("a commit of no transaction", true, p.epoch, refused(kerr.InvalidTxnState.Code))
		p.write(topic, 1, 0)
		end("an epoch that is to come", true, p.epoch+1, refused(fencedCode(v, 2)))
		end("a commit", true, p.epoch, ended(p.epoch+1))
		end("the commit repeated", true, p.epoch, ended(p.epoch+1))
		end("an abort after the commit", false, p.epoch, refused(kerr.InvalidTxnState.Code))
		if p.modern {
			p.epoch++
			clear(p.next) // A new epoch.
		}
		p.write(topic, 1, 0)
		end("an abort", false, p.epoch, ended(p.epoch+1))
		end("the abort repeated", false, p.epoch, ended(p.epoch+1))
		end("a commit after the abort", true, p.epoch, refused(kerr.InvalidTxnState.Code))
		p.id++
		end("another producer", true, p.epoch, refused(kerr.InvalidProducerIDMapping.Code))
	})
}

func markersAnswers(t *T) {
	missing := t.name("missing")
	t.each(kmsg.WriteTxnMarkers, 1, 2, func(v int16) {
		for _, commit := range []bool{false, true} {
			topic, other := t.Topic(2), t.Topic(1)
			p, q := t.older(), t.older()
			p.init() // There is an epoch before.
			p.write(topic, 2, 0, 1)
			q.write(other, 1, 0)
			marker := func(of *transactor, topics ...kmsg.WriteTxnMarkersRequestMarkerTopic) kmsg.WriteTxnMarkersRequestMarker {
				return filled(func(m *kmsg.WriteTxnMarkersRequestMarker) {
					m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch, m.Topics = of.id, of.epoch, commit, 7, topics
				})
			}
			of := func(topic string, partitions ...int32) kmsg.WriteTxnMarkersRequestMarkerTopic {
				return kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: topic, Partitions: partitions}
			}
			answer := func(of *transactor, entries ...entry) kmsg.WriteTxnMarkersResponseMarker {
				return filled(func(m *kmsg.WriteTxnMarkersResponseMarker) {
					m.ProducerID = of.id
					for _, e := range entries {
						rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
						rt.Topic = e.topic
						for _, n := range slices.Sorted(maps.Keys(e.codes)) {
							rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: n, ErrorCode: e.codes[n]})
						}
						m.Topics = append(m.Topics, rt)
					}
				})
			}
			write := func(what string, markers []kmsg.WriteTxnMarkersRequestMarker, want ...kmsg.WriteTxnMarkersResponseMarker) {
				req, resp := kmsg.NewPtrWriteTxnMarkersRequest(), kmsg.NewPtrWriteTxnMarkersResponse()
				req.Markers, resp.Markers = markers, want
				whole(t, what, markersInOrder(ask[*kmsg.WriteTxnMarkersResponse](t, v, req)), markersInOrder(resp))
			}
			list := func(all ...kmsg.WriteTxnMarkersRequestMarker) []kmsg.WriteTxnMarkersRequestMarker { return all }
			unknown := kerr.UnknownTopicOrPartition.Code
			write("nothing", nil)
			write("where there is nothing", list(marker(p, of(missing, 0), of(other, 1))),
				answer(p, entry{missing, map[int32]int16{0: unknown}}, entry{other, map[int32]int16{1: unknown}}))
			old := *p
			old.epoch--
			write("an epoch before", list(marker(&old, of(topic, 0))), answer(&old, entry{topic, map[int32]int16{0: kerr.InvalidProducerEpoch.Code}}))
			equal(t, "end of the log before", t.endOffset(topic), 2)
			write("two producers, and one partition behind the last", list(marker(p, of(topic, 0, 1, 2)), marker(q, of(other, 0))),
				answer(p, entry{topic, map[int32]int16{0: 0, 1: 0, 2: unknown}}), answer(q, entry{other, map[int32]int16{0: 0}}))
			for _, name := range []string{topic, other} {
				got := t.fetchCommitted(name, 0)
				equal(t, "stable offset of "+name, got.LastStableOffset, got.HighWatermark)
				equal(t, "aborted transactions of "+name, len(got.AbortedTransactions) == 0, commit)
				bs := t.batches(got.RecordBatches)
				last := bs[len(bs)-1]
				equals(t, "key and value of the marker", slices.Concat(one(t, "records", last.records).key, last.records[0].value),
					[]byte{0, 0, 0, byte(boolToInt(commit)), 0, 0, 0, 0, 0, 7})
				producers := t.producersOf(name)
				equal(t, "transaction of the producer", producers[0].CurrentTxnStartOffset, -1)
				equal(t, "epoch of its coordinator", producers[0].CoordinatorEpoch, 7)
			}
			lower := marker(p, of(topic, 0))
			lower.CoordinatorEpoch = 6
			write("an epoch of a coordinator before", list(lower), answer(p, entry{topic, map[int32]int16{0: kerr.TransactionCoordinatorFenced.Code}}))
		}
	})
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func markersInOrder(resp *kmsg.WriteTxnMarkersResponse) *kmsg.WriteTxnMarkersResponse {
	slices.SortFunc(resp.Markers, func(a, b kmsg.WriteTxnMarkersResponseMarker) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	for _, m := range resp.Markers {
		slices.SortFunc(m.Topics, func(a, b kmsg.WriteTxnMarkersResponseMarkerTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		for _, rt := range m.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.WriteTxnMarkersResponseMarkerTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
	return resp
}

// producersOf are the producers that partition 0 remembers.
func (t *T) producersOf(topic string) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	got := one(t, "partitions", one(t, "topics", ask[*kmsg.DescribeProducersResponse](t, 0, req).Topics).Partitions)
	t.ok("DescribeProducers", got.ErrorCode)
	return got.ActiveProducers
}

func describeTransactionAnswers(t *T) {
	topic, unknownID := t.Topic(2), t.transactionalID()
	p := t.older()
	p.write(topic, 3, 0, 1)

	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{p.txnID, unknownID}
	got := ask[*kmsg.DescribeTransactionsResponse](t, 0, describe)
	equal(t, "transactions", len(got.TransactionStates), 2)
	state := &got.TransactionStates[0]
	for i := range state.Topics {
		slices.Sort(state.Topics[i].Partitions)
	}
	t.recent("start", state.StartTimestamp)
	want := kmsg.NewPtrDescribeTransactionsResponse()
	want.TransactionStates = []kmsg.DescribeTransactionsResponseTransactionState{
		filled(func(s *kmsg.DescribeTransactionsResponseTransactionState) {
			s.TransactionalID, s.State, s.TimeoutMillis, s.StartTimestamp = p.txnID, "Ongoing", 60000, state.StartTimestamp
			s.ProducerID, s.ProducerEpoch = p.id, p.epoch
			s.Topics = []kmsg.DescribeTransactionsResponseTransactionStateTopic{{Topic: topic, Partitions: []int32{0, 1}}}
		}),
		filled(func(s *kmsg.DescribeTransactionsResponseTransactionState) {
			s.TransactionalID, s.ErrorCode = unknownID, kerr.TransactionalIDNotFound.Code
		}),
	}
	whole(t, "DescribeTransactions", got, want)
	p.describedProducers(topic)
	p.listedTransactions()
	p.end(true, topic)
}

// describedProducers checks what is told of the producer of three records each in
// partitions 0 and 1.
func (p *transactor) describedProducers(topic string) {
	t, missing := p.t, p.t.name("missing")
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{
		{Topic: topic, Partitions: []int32{0, 1, 2, -1}}, {Topic: missing, Partitions: []int32{0}}, {Topic: "a b", Partitions: []int32{0}},
	}
	found := ask[*kmsg.DescribeProducersResponse](t, 0, producers)
	told := kmsg.NewPtrDescribeProducersResponse()
	rt := kmsg.NewDescribeProducersResponseTopic()
	rt.Topic = topic
	for i := range int32(2) {
		at := found.Topics[0].Partitions[i].ActiveProducers[0].LastTimestamp
		rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.DescribeProducersResponseTopicPartition) {
			rp.Partition = i
			rp.ActiveProducers = []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{filled(func(a *kmsg.DescribeProducersResponseTopicPartitionActiveProducer) {
				a.ProducerID, a.ProducerEpoch, a.LastSequence, a.LastTimestamp = p.id, int32(p.epoch), 2, at
				a.CoordinatorEpoch, a.CurrentTxnStartOffset = -1, 0
			})}
		}))
		t.recent("last timestamp", at)
	}
	refused := func(n int32, e *kerr.Error, message *string) kmsg.DescribeProducersResponseTopicPartition {
		return filled(func(rp *kmsg.DescribeProducersResponseTopicPartition) {
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = n, e.Code, message
		})
	}
	rt.Partitions = append(rt.Partitions, refused(2, kerr.UnknownTopicOrPartition, nil), refused(-1, kerr.UnknownTopicOrPartition, nil))
	told.Topics = []kmsg.DescribeProducersResponseTopic{
		rt,
		{Topic: missing, Partitions: []kmsg.DescribeProducersResponseTopicPartition{refused(0, kerr.UnknownTopicOrPartition, &kerr.UnknownTopicOrPartition.Description)}},
		{Topic: "a b", Partitions: []kmsg.DescribeProducersResponseTopicPartition{refused(0, kerr.InvalidTopicException, new("Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"))}},
	}
	whole(t, "DescribeProducers", found, told)
}

// listedTransactions checks how the open transaction is listed.
func (p *transactor) listedTransactions() {
	t := p.t
	t.each(kmsg.ListTransactions, 0, 2, func(v int16) {
		list := kmsg.NewPtrListTransactionsRequest()
		list.StateFilters, list.ProducerIDFilters, list.DurationFilterMillis = []string{"Ongoing", "NoSuchState"}, []int64{p.id}, -1
		wanted := kmsg.NewPtrListTransactionsResponse()
		wanted.UnknownStateFilters = []string{"NoSuchState"}
		wanted.TransactionStates = []kmsg.ListTransactionsResponseTransactionState{filled(func(s *kmsg.ListTransactionsResponseTransactionState) {
			s.TransactionalID, s.ProducerID, s.TransactionState = p.txnID, p.id, "Ongoing"
		})}
		whole(t, "ListTransactions", ask[*kmsg.ListTransactionsResponse](t, v, list), wanted)
		list.StateFilters, wanted.UnknownStateFilters = nil, nil
		whole(t, "ListTransactions of all states", ask[*kmsg.ListTransactionsResponse](t, v, list), wanted)
		none := kmsg.NewPtrListTransactionsResponse()
		if v >= 1 {
			list.DurationFilterMillis = 3600000
			whole(t, "those of an hour", ask[*kmsg.ListTransactionsResponse](t, v, list), none)
			list.DurationFilterMillis = -1
		}
		if v >= 2 {
			list.TransactionalIDPattern = &p.txnID
			whole(t, "those that match", ask[*kmsg.ListTransactionsResponse](t, v, list), wanted)
			list.TransactionalIDPattern = new("no.*")
			whole(t, "those that do not match", ask[*kmsg.ListTransactionsResponse](t, v, list), none)
			list.TransactionalIDPattern = new("(")
			none.ErrorCode = kerr.InvalidRegularExpression.Code
			whole(t, "no pattern", ask[*kmsg.ListTransactionsResponse](t, v, list), none)
		}
	})
}
