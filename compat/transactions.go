package compat

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionScenarios are about transactions, by both versions of the protocol:
// that whose producers add partitions themselves (KIP-98), and that whose
// partitions are added by their leaders (KIP-890).
var transactionScenarios = []Scenario{
	{ID: "transactions.committed-readers", Says: "Readers of what is committed see nothing from the first open transaction on; when it is aborted it is listed as such.", Refs: []string{"KIP-98", "redpanda@498031126c", "kop PR 1856", "case T01", "case F05"}, Run: byBoth(committedReaders)},
	{ID: "transactions.timeout", Says: "A transaction's timeout of 0, below, or above transaction.max.timeout.ms is INVALID_TRANSACTION_TIMEOUT.", Refs: []string{"redpanda PR 21504", "case T03"}, Run: transactionTimeout},
	{ID: "transactions.unknown-id", Says: "A transactional id that nobody initialized is INVALID_PRODUCER_ID_MAPPING.", Refs: []string{"redpanda PR 22912", "case T05"}, Run: unknownTransactionalID},
	{ID: "transactions.topic-deleted", Says: "A topic that is deleted while a transaction has written to it does not hold up the transaction.", Refs: []string{"redpanda#3544", "kop#1386", "case T07"}, Run: byBoth(topicDeletedInTransaction)},
	{ID: "transactions.sequence-restarts", Says: "After a transactional id is initialized again sequences begin at 0 in every partition.", Refs: []string{"redpanda#4261", "case T09"}, Run: byBoth(sequenceRestarts)},
	{ID: "transactions.metadata-too-large", Says: "An offset whose metadata is too large is refused alone, and the group's offsets are stable when the transaction ends.", Refs: []string{"KAFKA-16371", "case T11"}, Run: byBoth(metadataTooLargeInTransaction)},
	{ID: "transactions.control-record", Says: "A transaction ends with a batch of one control record: key version and type, value version and coordinator epoch.", Refs: []string{"KIP-98", "redpanda#179", "quix-streams#1017", "case T13", "case C07"}, Run: byBoth(controlRecord)},
	{ID: "transactions.listed", Says: "An open transaction is listed and described as Ongoing, and its partitions' producers with where it began.", Refs: []string{"KIP-664", "redpanda#11947", "redpanda#15247", "case T15"}, Run: byBoth(transactionsListed)},
	{ID: "transactions.plain-batch-within", Says: "A batch outside of a transaction from a producer with an open one is INVALID_TXN_STATE.", Refs: []string{"franz-go kfake@60b88eaa", "case T17"}, Run: byBoth(plainBatchWithin)},
}

// transactor is a transactional producer that speaks one of the two protocols.
type transactor struct {
	t       *T
	modern  bool
	txnID   string
	id      int64
	epoch   int16
	next    map[int32]int32 // The next sequence of each partition.
	entered map[string]bool // What the open transaction has been told of.
}

// byBoth plays a scenario with each protocol that the broker speaks.
func byBoth(run func(p *transactor)) func(t *T) {
	return func(t *T) {
		for _, modern := range []bool{false, true} {
			t.Part("partitions added by the producer")
			if modern {
				t.Part("partitions added by their leaders")
				if !t.has(kmsg.EndTxn, 5) || !t.has(kmsg.Produce, 12) {
					continue
				}
			}
			p := &transactor{t: t, modern: modern, txnID: t.transactionalID()}
			p.init()
			run(p)
		}
		t.Part("")
	}
}

// busy are the codes of a coordinator that asks to be asked again: one that was
// just made, and one that still ends the transaction before.
func busy(code int16) bool {
	return slices.Contains([]int16{kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code, kerr.ConcurrentTransactions.Code}, code)
}

// transactionalID names a transactional id whose coordinator answers.
func (t *T) transactionalID() string {
	id := t.name("txn")
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKey = 1, id
	version := t.newest(kmsg.FindCoordinator, 3)
	t.until("a coordinator of "+id, func() bool {
		resp := ask[*kmsg.FindCoordinatorResponse](t, version, req)
		if resp.ErrorCode == kerr.CoordinatorNotAvailable.Code {
			return false
		}
		t.ok("FindCoordinator", resp.ErrorCode)
		return true
	})
	return id
}

// initTransactions initializes a transactional id, once its coordinator serves it.
func (t *T) initTransactions(version int16, txnID string, timeoutMs int32) *kmsg.InitProducerIDResponse {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &txnID, timeoutMs
	req.ProducerID, req.ProducerEpoch = -1, -1
	var resp *kmsg.InitProducerIDResponse
	t.until("an answer of the coordinator", func() bool {
		resp = ask[*kmsg.InitProducerIDResponse](t, version, req)
		return !busy(resp.ErrorCode)
	})
	return resp
}

// init initializes the transactional id, which begins anew.
func (p *transactor) init() {
	resp := p.t.initTransactions(p.t.newest(kmsg.InitProducerID, 4), p.txnID, 60000)
	p.t.ok("InitProducerId", resp.ErrorCode)
	p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
	p.next, p.entered = map[int32]int32{}, map[string]bool{}
}

// enter adds a topic's partitions to the transaction, as producers of the older
// protocol do.
func (p *transactor) enter(topic string, partitions ...int32) {
	if p.modern || p.entered[topic] {
		return
	}
	p.entered[topic] = true
	version := p.t.newest(kmsg.AddPartitionsToTxn, 3)
	p.t.until("adding "+topic, func() bool {
		resp := ask[*kmsg.AddPartitionsToTxnResponse](p.t, version, p.enterRequest(topic, partitions...))
		for _, rp := range one(p.t, "topics", resp.Topics).Partitions {
			if busy(rp.ErrorCode) {
				return false
			}
			p.t.ok("add "+topic, rp.ErrorCode)
		}
		return true
	})
}

// enterRequest is an AddPartitionsToTxn of one topic.
func (p *transactor) enterRequest(topic string, partitions ...int32) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.txnID, p.id, p.epoch
	rt := kmsg.NewAddPartitionsToTxnRequestTopic()
	rt.Topic, rt.Partitions = topic, partitions
	req.Topics = append(req.Topics, rt)
	return req
}

// batch is the next one of a partition.
func (p *transactor) batch(partition int32, n int) batch {
	b := numbered(p.id, p.epoch, p.next[partition], n)
	b.attrs |= attrTransactional
	return b
}

func (p *transactor) version() int16 {
	if p.modern {
		return 12
	}
	return p.t.newest(kmsg.Produce, 9)
}

// write produces one batch to each partition of a topic, within the transaction.
func (p *transactor) write(topic string, n int, partitions ...int32) {
	p.enter(topic, partitions...)
	var portions []portion
	for _, i := range partitions {
		portions = append(portions, portion{i, p.batch(i, n).bytes()})
	}
	req := p.t.produceRequest(p.version(), -1, topic, portions...)
	req.TransactionID = &p.txnID
	p.t.until("producing to "+topic, func() bool {
		resp := ask[*kmsg.ProduceResponse](p.t, p.version(), req)
		for _, rp := range one(p.t, "topics", resp.Topics).Partitions {
			if busy(rp.ErrorCode) { // The transaction before still ends.
				return false
			}
			p.t.ok("produce to "+topic, rp.ErrorCode)
		}
		return true
	})
	for _, i := range partitions {
		p.next[i] += int32(n)
	}
}

// end ends the transaction, and waits until its partitions know.
func (p *transactor) end(commit bool, topics ...string) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.txnID, p.id, p.epoch, commit
	version := p.t.newest(kmsg.EndTxn, 3)
	if p.modern {
		version = 5
	}
	var resp *kmsg.EndTxnResponse
	p.t.until("the coordinator", func() bool {
		resp = ask[*kmsg.EndTxnResponse](p.t, version, req)
		return !busy(resp.ErrorCode)
	})
	p.t.ok("EndTxn", resp.ErrorCode)
	clear(p.entered)
	if p.modern {
		p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
		clear(p.next) // A new epoch.
	}
	for _, topic := range topics {
		p.t.until("the end of the transaction in "+topic, func() bool {
			got := p.t.fetch(11, topic, 0)
			return got.LastStableOffset == got.HighWatermark
		})
	}
}

// fetchCommitted reads partition 0 as a reader of what is committed.
func (t *T) fetchCommitted(topic string, offset int64) kmsg.FetchResponseTopicPartition {
	req := t.fetchRequest(11, topic, fetching{offset: offset})
	req.IsolationLevel = 1
	got := one(t, "partitions", one(t, "topics", ask[*kmsg.FetchResponse](t, 11, req).Topics).Partitions)
	t.ok("fetch", got.ErrorCode)
	return got
}

func committedReaders(p *transactor) {
	t, topic := p.t, p.t.Topic(1)
	p.write(topic, 5, 0)
	equal(t, "offset of a plain record", t.append(topic, plainBatch("plain")), 5)
	got := t.fetchCommitted(topic, 0)
	equal(t, "committed records while the transaction is open", len(t.records(got.RecordBatches)), 0)
	equal(t, "stable offset", got.LastStableOffset, 0)
	equal(t, "high watermark", got.HighWatermark, 6)
	equal(t, "aborted transactions", len(got.AbortedTransactions), 0)
	equal(t, "uncommitted records", len(t.read(topic, 0)), 6)
	req := listOffsetsRequest(topic, 0, -1, -1)
	req.IsolationLevel = 1
	listed := one(t, "partitions", one(t, "topics", ask[*kmsg.ListOffsetsResponse](t, t.newest(kmsg.ListOffsets, 8), req).Topics).Partitions)
	equal(t, "latest committed offset", listed.Offset, 0)

	id, epoch := p.id, p.epoch
	p.end(false, topic)
	got = t.fetchCommitted(topic, 0)
	equal(t, "stable offset", got.LastStableOffset, 7)
	aborted := one(t, "aborted transactions", got.AbortedTransactions)
	equal(t, "aborted producer", aborted.ProducerID, id)
	equal(t, "first aborted offset", aborted.FirstOffset, 0)
	var visible []int64 // As a client filters.
	for _, b := range t.batches(got.RecordBatches) {
		switch {
		case b.attrs&attrControl != 0:
			equal(t, "offset of the marker", b.base, 6)
		case b.attrs&attrTransactional != 0:
			equal(t, "producer of a batch in a transaction", b.producer, id)
			equal(t, "its epoch", b.epoch, epoch)
		default:
			visible = append(visible, offsets(b.records)...)
		}
	}
	equals(t, "visible offsets", visible, []int64{5})
	if uncommitted := t.fetch(11, topic, 0); uncommitted.AbortedTransactions != nil {
		t.Fatalf("a reader of what is not committed is told of aborted transactions: %v", plain(uncommitted.AbortedTransactions))
	}
}

func transactionTimeout(t *T) {
	limit := int64(900000)
	if s := t.setting(kmsg.ConfigResourceTypeBroker, t.nodeName(), "transaction.max.timeout.ms"); s != "900000" {
		t.NotApplicable("transaction.max.timeout.ms is %s", s)
	}
	txnID := t.transactionalID()
	t.each(kmsg.InitProducerID, 0, 4, func(v int16) {
		for _, ms := range []int32{3600000, int32(limit) + 1, 0, -1} {
			resp := t.initTransactions(v, txnID, ms)
			t.code("a timeout of "+plain(ms), resp.ErrorCode, kerr.InvalidTransactionTimeout)
			equal(t, "producer id", resp.ProducerID, -1)
		}
		t.ok("the longest timeout", t.initTransactions(v, txnID, int32(limit)).ErrorCode)
	})
}

func unknownTransactionalID(t *T) {
	topic := t.Topic(1)
	id, epoch := t.producerID()
	p := &transactor{t: t, txnID: t.transactionalID(), id: id, epoch: epoch}
	t.each(kmsg.AddPartitionsToTxn, 0, 3, func(v int16) {
		var code int16
		t.until("an answer of the coordinator", func() bool {
			resp := ask[*kmsg.AddPartitionsToTxnResponse](t, v, p.enterRequest(topic, 0))
			code = one(t, "partitions", one(t, "topics", resp.Topics).Partitions).ErrorCode
			return !busy(code)
		})
		t.code("AddPartitionsToTxn", code, kerr.InvalidProducerIDMapping)
	})
	t.each(kmsg.EndTxn, 0, 5, func(v int16) {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.txnID, id, epoch, true
		t.code("EndTxn", ask[*kmsg.EndTxnResponse](t, v, req).ErrorCode, kerr.InvalidProducerIDMapping)
	})
}

func topicDeletedInTransaction(p *transactor) {
	t := p.t
	kept, gone := t.Topic(1), t.name("gone")
	t.create(gone, 1)
	p.write(kept, 1, 0)
	next := p.next
	p.next = map[int32]int32{}
	p.write(gone, 1, 0)
	p.next = next
	t.ok("delete", t.delete(gone))
	p.end(true, kept)
	got := t.fetchCommitted(kept, 0)
	equal(t, "stable offset", got.LastStableOffset, 2)
	equal(t, "aborted transactions", len(got.AbortedTransactions), 0)
	p.write(kept, 1, 0)
	p.end(true, kept)
	equal(t, "end after the next transaction", t.endOffset(kept), 4)
}

func sequenceRestarts(p *transactor) {
	t, topic := p.t, p.t.Topic(3)
	all := []int32{0, 1, 2}
	id := p.id
	for round := range int64(3) {
		p.write(topic, 2, all...)
		p.write(topic, 1, all...)
		p.end(round != 1, topic)
		p.init() // Sequences begin at 0 again.
		equal(t, "producer id", p.id, id)
	}
	for _, partition := range all {
		resp := t.listOffsetOf(t.newest(kmsg.ListOffsets, 8), topic, partition, -1, -1)
		equal(t, "end of the log", resp.Offset, 12) // Of three rounds of three records and a marker.
	}
}

func metadataTooLargeInTransaction(p *transactor) {
	t, topic, group := p.t, p.t.Topic(2), p.t.Group()
	version := int16(5)
	if !p.modern {
		version = t.newest(kmsg.TxnOffsetCommit, 3)
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.txnID, p.id, p.epoch, group
		t.until("adding the group's offsets", func() bool {
			resp := ask[*kmsg.AddOffsetsToTxnResponse](t, t.newest(kmsg.AddOffsetsToTxn, 3), req)
			if busy(resp.ErrorCode) {
				return false
			}
			t.ok("AddOffsetsToTxn", resp.ErrorCode)
			return true
		})
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.txnID, group, p.id, p.epoch, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = topic
	for i, metadata := range []string{strings.Repeat("m", 10<<10), "ok"} {
		rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = int32(i), 7, &metadata
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	codes := map[int32]int16{}
	t.until("an answer of the group's coordinator", func() bool {
		resp := ask[*kmsg.TxnOffsetCommitResponse](t, version, req)
		clear(codes)
		for _, rp := range one(t, "topics", resp.Topics).Partitions {
			codes[rp.Partition] = rp.ErrorCode
		}
		return !busy(codes[1])
	})
	t.code("too much metadata", codes[0], kerr.OffsetMetadataTooLarge)
	t.ok("some metadata", codes[1])

	fetch := t.offsetFetchRequest(8, group, topic, 0, 1)
	fetch.RequireStable = true
	stable := func() map[int32]kmsg.OffsetFetchResponseTopicPartition {
		got := map[int32]kmsg.OffsetFetchResponseTopicPartition{}
		for _, rp := range t.committedBy(8, fetch) {
			got[rp.Partition] = rp
		}
		equal(t, "partitions", len(got), 2)
		return got
	}
	open := stable()
	t.ok("the refused offset while the transaction is open", open[0].ErrorCode)
	t.code("the other while the transaction is open", open[1].ErrorCode, kerr.UnstableOffsetCommit)
	p.end(true)
	t.until("a stable offset", func() bool { return stable()[1].ErrorCode == 0 })
	ended := stable()
	t.ok("the refused offset", ended[0].ErrorCode)
	equal(t, "the refused offset", ended[0].Offset, -1)
	equal(t, "the committed offset", ended[1].Offset, 7)
}

func controlRecord(p *transactor) {
	t := p.t
	for commit, kind := range map[bool]int16{false: 0, true: 1} {
		topic := t.Topic(1)
		before := time.Now().Add(-time.Hour).UnixMilli()
		p.write(topic, 2, 0)
		id, epoch := p.id, p.epoch
		p.end(commit, topic)
		bs := t.batches(t.fetch(11, topic, 0).RecordBatches)
		equal(t, "batches", len(bs), 2)
		marker := bs[1]
		// The last offset below the high watermark is no record: it is read all the same.
		equal(t, "offset of what a fetch of the marker begins with", one(t, "batches", t.batches(t.fetch(11, topic, 2).RecordBatches)).base, 2)
		behind := t.fetch(11, topic, 3)
		t.ok("a fetch behind the marker", behind.ErrorCode)
		equal(t, "bytes behind the marker", len(behind.RecordBatches), 0)
		equal(t, "high watermark", behind.HighWatermark, 3)
		equal(t, "offset", marker.base, 2)
		equal(t, "last offset delta", marker.lastDelta, 0)
		equal(t, "attributes: control and transactional", marker.attrs, int16(attrControl|attrTransactional))
		equal(t, "producer id", marker.producer, id)
		if p.modern {
			equal(t, "epoch, which ends with the transaction", marker.epoch, epoch+1)
		} else {
			equal(t, "epoch", marker.epoch, epoch)
		}
		equal(t, "sequence", marker.sequence, -1)
		r := one(t, "records", marker.records)
		equal(t, "headers", len(r.headers), 0)
		equal(t, "it was written today", r.at > before, true)
		equal(t, "length of the key", len(r.key), 4)
		equal(t, "version of the key", binary.BigEndian.Uint16(r.key), 0)
		equal(t, "type", int16(binary.BigEndian.Uint16(r.key[2:])), kind)
		equal(t, "length of the value", len(r.value), 6)
		equal(t, "version of the value", binary.BigEndian.Uint16(r.value), 0)
		if e := int32(binary.BigEndian.Uint32(r.value[2:])); e < 0 {
			t.Fatalf("the coordinator epoch is %d", e)
		}
	}
}

func transactionsListed(p *transactor) {
	t, topic := p.t, p.t.Topic(1)
	describe := func() kmsg.DescribeTransactionsResponseTransactionState {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{p.txnID}
		return one(t, "transactions", ask[*kmsg.DescribeTransactionsResponse](t, 0, req).TransactionStates)
	}
	listed := func(states ...string) []string {
		req := kmsg.NewPtrListTransactionsRequest()
		req.StateFilters, req.ProducerIDFilters = states, []int64{p.id}
		resp := ask[*kmsg.ListTransactionsResponse](t, t.newest(kmsg.ListTransactions, 1), req)
		t.ok("ListTransactions", resp.ErrorCode)
		var all []string
		for _, s := range resp.TransactionStates {
			equal(t, "producer id", s.ProducerID, p.id)
			all = append(all, s.TransactionalID+" "+s.TransactionState)
		}
		return all
	}
	equals(t, "before the first transaction", listed(), []string{p.txnID + " Empty"})
	equals(t, "open ones before the first", listed("Ongoing"), nil)
	equal(t, "state before the first", describe().State, "Empty")

	t.append(topic, plainBatch("plain"))
	p.write(topic, 2, 0)
	equals(t, "open ones", listed("Ongoing"), []string{p.txnID + " Ongoing"})
	got := describe()
	t.ok("describe", got.ErrorCode)
	equal(t, "state", got.State, "Ongoing")
	equal(t, "producer id", got.ProducerID, p.id)
	equal(t, "epoch", got.ProducerEpoch, p.epoch)
	equal(t, "timeout", got.TimeoutMillis, 60000)
	equal(t, "it has begun", got.StartTimestamp > 0, true)
	equal(t, "its topic", one(t, "topics", got.Topics).Topic, topic)

	req := kmsg.NewPtrDescribeProducersRequest()
	rt := kmsg.NewDescribeProducersRequestTopic()
	rt.Topic, rt.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, rt)
	producer := func() kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
		resp := ask[*kmsg.DescribeProducersResponse](t, 0, req)
		described := one(t, "partitions", one(t, "topics", resp.Topics).Partitions)
		t.ok("describe", described.ErrorCode)
		return one(t, "producers", described.ActiveProducers)
	}
	active := producer()
	equal(t, "producer id", active.ProducerID, p.id)
	equal(t, "epoch", active.ProducerEpoch, int32(p.epoch))
	equal(t, "last sequence", active.LastSequence, 1)
	equal(t, "it has a timestamp", active.LastTimestamp > 0, true)
	equal(t, "start of its transaction", active.CurrentTxnStartOffset, 1)
	p.end(true, topic)
	equal(t, "start of its transaction when it has ended", producer().CurrentTxnStartOffset, -1)
	t.until("the end of the transaction", func() bool { return describe().State == "CompleteCommit" })
}

func plainBatchWithin(p *transactor) {
	t, topic := p.t, p.t.Topic(1)
	p.write(topic, 1, 0)
	b := numbered(p.id, p.epoch, 1, 1)
	t.code("a plain batch", t.produce(t.newest(kmsg.Produce, 9), topic, b.bytes()).ErrorCode, kerr.InvalidTxnState)
	p.end(false, topic)
	equal(t, "end of the log", t.endOffset(topic), 2)
}
