package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

var transactionActions = []action{
	{kmsg.EndTxn, 8, (*gen).transaction},
	{kmsg.InitProducerID, 3, (*gen).initProducerID},
	{kmsg.AddPartitionsToTxn, 2, (*gen).addPartitions},
	{kmsg.AddOffsetsToTxn, 2, (*gen).addOffsets},
	{kmsg.TxnOffsetCommit, 3, (*gen).txnOffsetCommit},
	{kmsg.EndTxn, 3, (*gen).endTxn},
	{kmsg.DescribeTransactions, 2, (*gen).describeTransactions},
	{kmsg.ListTransactions, 2, (*gen).listTransactions},
}

// transaction is one as it should be, or most of it.
func (g *gen) transaction() {
	name := g.transactional()
	for range 1 + g.IntN(2) {
		place := g.place()
		if g.one(2) {
			g.addPartitionsFor(name, []at{place}, 0)
		}
		g.produceTransactional(name, place)
	}
	if g.one(4) {
		if g.one(2) {
			g.addOffsetsFor(name, pick(g, groupNames...), 0)
		}
		g.txnOffsetCommitFor(name, pick(g, groupNames...), 0)
	}
	if !g.one(4) {
		g.endFor(name, g.one(2), 0)
	}
}

// transactional draws a producer with a transactional id, and makes it.
func (g *gen) transactional() string {
	name := pick(g, transactionalNames...)
	if !g.began[name] {
		g.began[name] = true
		g.initProducer(name, name, 0)
	}
	return name
}

func (g *gen) produceTransactional(name string, place at) {
	b := g.batch()
	if !g.one(3) {
		b.fault = faultNone
	}
	b.producer, b.txn = name, !g.one(15)
	if g.one(12) {
		b.sequence = pick(g, int32(-1), 1, -int32(b.count))
	}
	if g.one(15) {
		b.epoch = pick(g, int16(-1), 1)
	}
	id := name
	if g.one(20) {
		id = pick(g, "x0", "x1", "x9")
	}
	txn := &id
	if g.one(20) {
		txn = nil
	}
	g.produce(-1, txn, []at{place}, []batch{b}, sent(b, place))
}

// initProducer asks for an identity. With owns it says which it has, an epoch off.
func (g *gen) initProducer(name, transactional string, timeout int32) {
	owns, off := transactional != "" && g.one(4), int16(g.off())
	if timeout == 0 {
		timeout = 60000
	}
	g.ask(kmsg.InitProducerID, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = timeout, -1, -1
		if transactional != "" {
			id := v.name(transactional)
			req.TransactionalID = &id
		}
		if p, ok := v.producers[name]; ok && owns && version >= 3 {
			req.ProducerID, req.ProducerEpoch = p.id, p.epoch+off
		}
		return req
	}, func(v *view, resp kmsg.Response) {
		if r := resp.(*kmsg.InitProducerIDResponse); r.ErrorCode == 0 {
			v.given(name, r.ProducerID, r.ProducerEpoch)
		}
	})
}

func (g *gen) initProducerID() {
	if g.one(10) {
		g.initProducer("x0", "!", 0)
		return
	}
	if g.one(10) {
		g.initProducer("x0", "x0", pick(g, int32(-1), 1_000_000_000, 1))
		return
	}
	if g.one(3) {
		name := pick(g, idempotentNames...)
		g.began[name] = true
		g.initProducer(name, "", 0)
		return
	}
	name := pick(g, transactionalNames...)
	g.began[name] = true
	g.initProducer(name, name, 0)
}

// epochOff is an epoch that is now and then one off.
func (g *gen) epochOff() int16 {
	if g.one(6) {
		return pick(g, int16(-1), 1)
	}
	return 0
}

func (g *gen) addPartitions() { g.addPartitionsFor(g.transactional(), g.places(3), g.epochOff()) }

func (g *gen) addPartitionsFor(name string, places []at, off int16) {
	verify, stranger := g.one(6), g.one(30)
	g.ask(kmsg.AddPartitionsToTxn, func(v *view, version int16) kmsg.Request {
		p := v.producer(name)
		if stranger {
			p.id = strangerProducer
		}
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		if version < 4 {
			req.TransactionalID, req.ProducerID, req.ProducerEpoch = v.name(name), p.id, p.epoch+off
			for _, topic := range topicsIn(places) {
				t := kmsg.NewAddPartitionsToTxnRequestTopic()
				t.Topic, t.Partitions = v.name(topic), partitionsIn(places, topic)
				req.Topics = append(req.Topics, t)
			}
			return req
		}
		txn := kmsg.NewAddPartitionsToTxnRequestTransaction()
		txn.TransactionalID, txn.ProducerID, txn.ProducerEpoch, txn.VerifyOnly = v.name(name), p.id, p.epoch+off, verify
		for _, topic := range topicsIn(places) {
			t := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
			t.Topic, t.Partitions = v.name(topic), partitionsIn(places, topic)
			txn.Topics = append(txn.Topics, t)
		}
		req.Transactions = append(req.Transactions, txn)
		return req
	}, nil)
}

func (g *gen) addOffsets() {
	g.addOffsetsFor(g.transactional(), pick(g, groupNames...), g.epochOff())
}

func (g *gen) addOffsetsFor(name, group string, off int16) {
	g.ask(kmsg.AddOffsetsToTxn, func(v *view, _ int16) kmsg.Request {
		p := v.producer(name)
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = v.name(name), p.id, p.epoch+off, v.name(group)
		return req
	}, nil)
}

func (g *gen) txnOffsetCommit() {
	g.txnOffsetCommitFor(g.transactional(), pick(g, groupNames...), g.epochOff())
}

func (g *gen) txnOffsetCommitFor(name, group string, off int16) {
	places, offset := g.places(2), g.Int64N(20)
	as, generation := "", g.off()
	if g.one(3) {
		as = pick(g, memberNames...)
	}
	g.ask(kmsg.TxnOffsetCommit, func(v *view, version int16) kmsg.Request {
		p := v.producer(name)
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = v.name(name), p.id, p.epoch+off, v.name(group)
		req.Generation = -1
		if as != "" && version >= 3 {
			m := v.member(group, as)
			req.MemberID, req.Generation = m.id, m.generation+generation
		}
		for _, topic := range topicsIn(places) {
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic = v.name(topic)
			for _, n := range partitionsIn(places, topic) {
				tp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
				tp.Partition, tp.Offset, tp.LeaderEpoch = n, offset, -1
				t.Partitions = append(t.Partitions, tp)
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) endTxn() { g.endFor(g.transactional(), g.one(2), g.epochOff()) }

func (g *gen) endFor(name string, commit bool, off int16) {
	again := g.one(10)
	version := g.version(kmsg.EndTxn)
	build := func(v *view, _ int16) kmsg.Request {
		p := v.producer(name)
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = v.name(name), p.id, p.epoch+off, commit
		return req
	}
	learn := func(v *view, resp kmsg.Response) {
		if r := resp.(*kmsg.EndTxnResponse); r.ErrorCode == 0 && version >= 5 {
			v.given(name, r.ProducerID, r.ProducerEpoch)
		}
	}
	g.askAt(kmsg.EndTxn, version, build, learn)
	if again {
		g.askAt(kmsg.EndTxn, version, build, learn)
	}
}

func (g *gen) describeTransactions() {
	names := unique(some(g, 2, func() string { return pick(g, "x0", "x1", "x0", "x9") }))
	if g.one(15) {
		names = append(names, "!")
	}
	g.ask(kmsg.DescribeTransactions, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		for _, n := range names {
			req.TransactionalIDs = append(req.TransactionalIDs, v.name(n))
		}
		return req
	}, nil)
}

func (g *gen) listTransactions() {
	var states []string
	if g.one(3) {
		states = some(g, 2, func() string {
			return pick(g, "Ongoing", "CompleteCommit", "CompleteAbort", "Empty", "PrepareCommit", "ongoing", "Odd")
		})
	}
	var of string
	if g.one(4) {
		of = pick(g, transactionalNames...)
	}
	duration := pick(g, int64(-1), -1, 0, 1_000_000)
	pattern := pick(g, "", "", ".*x0", "[", "none")
	g.ask(kmsg.ListTransactions, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrListTransactionsRequest()
		req.StateFilters, req.DurationFilterMillis = states, -1
		if of != "" {
			req.ProducerIDFilters = []int64{v.producer(of).id}
		}
		if version >= 1 {
			req.DurationFilterMillis = duration
		}
		if version >= 2 && pattern != "" {
			req.TransactionalIDPattern = &pattern
		}
		return req
	}, nil)
}
