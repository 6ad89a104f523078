package differential

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var dataActions = []action{
	{kmsg.Produce, 10, (*gen).producePlain},
	{kmsg.Produce, 8, (*gen).produceIdempotent},
	{kmsg.Fetch, 8, (*gen).fetch},
	{kmsg.Fetch, 5, (*gen).fetchSession},
	{kmsg.ListOffsets, 5, (*gen).listOffsets},
	{kmsg.OffsetForLeaderEpoch, 3, (*gen).offsetForLeaderEpoch},
	{kmsg.DeleteRecords, 3, (*gen).deleteRecords},
	{kmsg.DescribeProducers, 2, (*gen).describeProducers},
	{kmsg.DescribeLogDirs, 1, (*gen).describeLogDirs},
}

// at names one partition.
type at struct {
	topic     string
	partition int32
}

func (a at) String() string { return fmt.Sprintf("%s-%d", a.topic, a.partition) }

func (g *gen) place() at {
	t := g.topic()
	return at{t, g.partition(t)}
}

// places draws a few partitions, none twice.
func (g *gen) places(n int) []at { return unique(some(g, n, g.place)) }

// batch draws a batch, mostly sound.
func (g *gen) batch() batch {
	b := batch{count: 1 + g.IntN(3), at: g.Int64N(1000), tag: len(g.steps) + 1}
	if g.one(2) {
		b.codec = int16(g.IntN(5))
	}
	if g.one(8) {
		b.size = 400
	}
	if g.one(10) {
		b.fault = pick(g, faultCRC, faultCount, faultDelta, faultMagic, faultEmpty, faultControl, faultTwice, faultCut, faultLogTime, faultSequence, faultKey)
	}
	return b
}

func (g *gen) producePlain() {
	places := g.places(3)
	batches := make([]batch, len(places))
	for i := range batches {
		batches[i] = g.batch()
	}
	acks := pick(g, int16(-1), -1, -1, -1, 1)
	if g.one(30) {
		acks = 2
	}
	g.produce(acks, nil, places, batches, nil)
}

func (g *gen) produceIdempotent() {
	name := pick(g, idempotentNames...)
	if !g.began[name] {
		g.began[name] = true
		g.initProducer(name, "", 0)
	}
	b := g.batch()
	if g.one(3) {
		b.fault = faultNone
	}
	b.producer = name
	if g.one(5) {
		b.sequence = pick(g, int32(-1), 1, -2, -int32(b.count))
	}
	if g.one(15) {
		b.epoch = pick(g, int16(-1), 1)
	}
	place := g.place()
	g.produce(-1, nil, []at{place}, []batch{b}, sent(b, place))
}

// sent takes down that a batch was appended, where it was the next.
func sent(b batch, place at) func(*view, kmsg.Response) {
	if b.sequence != 0 || b.epoch != 0 {
		return nil
	}
	return func(v *view, resp kmsg.Response) {
		for _, t := range resp.(*kmsg.ProduceResponse).Topics {
			for _, p := range t.Partitions {
				if next := v.producers[b.producer].next; p.ErrorCode == 0 && next != nil {
					next[place.String()] += int32(b.count)
				}
			}
		}
	}
}

// produce sends a batch to each of several partitions.
func (g *gen) produce(acks int16, txn *string, places []at, batches []batch, learn func(*view, kmsg.Response)) {
	g.ask(kmsg.Produce, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = acks, 10000
		if txn != nil {
			id := v.name(*txn)
			req.TransactionID = &id
		}
		for _, topic := range v.told(topicsIn(places), version >= 13) {
			t := kmsg.NewProduceRequestTopic()
			if version >= 13 {
				t.TopicID = v.topicID(topic)
			} else {
				t.Topic = v.name(topic)
			}
			for i, place := range places {
				if place.topic == topic {
					p := kmsg.NewProduceRequestTopicPartition()
					p.Partition, p.Records = place.partition, batches[i].bytes(v, place.String())
					t.Partitions = append(t.Partitions, p)
				}
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, learn)
}

// told are the topics that a request can tell apart: by id, one that has none.
func (v *view) told(topics []string, byID bool) []string {
	strange := false
	return slices.DeleteFunc(topics, func(name string) bool {
		if !byID || v.topicID(name) != strangerTopic {
			return false
		}
		again := strange
		strange = true
		return again
	})
}

// topicsIn are the topics of partitions, as they first come.
func topicsIn(places []at) []string {
	var names []string
	for _, p := range places {
		names = append(names, p.topic)
	}
	return unique(names)
}

// partitionsIn are the partitions of one topic among them.
func partitionsIn(places []at, topic string) []int32 {
	var all []int32
	for _, p := range places {
		if p.topic == topic {
			all = append(all, p.partition)
		}
	}
	return all
}

// fetched is one partition as it is fetched.
type fetched struct {
	at
	offset         int64
	max            int32
	current, epoch int32
}

func (g *gen) fetched() []fetched {
	var all []fetched
	for _, p := range g.places(3) {
		f := fetched{at: p, offset: g.offset(), max: 1 << 20, current: -1, epoch: -1}
		if g.one(2) {
			f.offset = 0
		}
		if g.one(6) {
			f.max = pick(g, int32(0), 1, 200)
		}
		if g.one(6) {
			f.current = pick(g, int32(0), 0, 1)
		}
		if g.one(8) {
			f.epoch = pick(g, int32(0), 0, 1)
		}
		all = append(all, f)
	}
	return all
}

func fetchTopics(v *view, version int16, parts []fetched) []kmsg.FetchRequestTopic {
	var topics []kmsg.FetchRequestTopic
	var named []at
	for _, f := range parts {
		named = append(named, f.at)
	}
	told := v.told(topicsIn(named), version >= 13)
	for _, f := range parts {
		if !slices.Contains(told, f.topic) {
			continue
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = f.partition, f.offset, f.max
		p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.LogStartOffset = f.current, f.epoch, -1
		name, id := v.name(f.topic), v.topicID(f.topic)
		found := false
		for i := range topics {
			if topics[i].Topic == name {
				topics[i].Partitions, found = append(topics[i].Partitions, p), true
			}
		}
		if !found {
			t := kmsg.NewFetchRequestTopic()
			t.Topic = name
			if version >= 13 {
				t.TopicID = id
			}
			t.Partitions = append(t.Partitions, p)
			topics = append(topics, t)
		}
	}
	return topics
}

func (g *gen) fetch() {
	parts, isolation, bytes := g.fetched(), int8(g.IntN(2)), pick(g, int32(50<<20), 50<<20, 1, 0)
	g.ask(kmsg.Fetch, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxBytes, req.IsolationLevel, req.SessionEpoch = -1, bytes, isolation, -1
		req.Topics = fetchTopics(v, version, parts)
		return req
	}, nil)
	g.steps[len(g.steps)-1].Reads = true
}

// fetchSession begins a fetch session or goes on with it.
func (g *gen) fetchSession() {
	name := pick(g, "s0", "s1")
	parts := g.fetched()
	begin, none, strange, off := !g.began[name] || g.one(6), g.one(2), g.one(20), g.off()
	g.began[name] = true
	var forget []fetched
	if g.one(4) {
		forget = g.fetched()
	}
	isolation, last := int8(g.IntN(2)), g.one(12)
	version := max(7, g.version(kmsg.Fetch))
	g.askAt(kmsg.Fetch, version, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxBytes, req.IsolationLevel = -1, 50<<20, isolation
		s := v.sessions[name]
		req.SessionID, req.SessionEpoch = s.id, s.epoch
		switch {
		case begin:
			req.SessionID, req.SessionEpoch = 0, 0
		case last:
			req.SessionEpoch = -1
		case strange:
			req.SessionID = strangerSession
		default:
			req.SessionEpoch += off
		}
		if begin || !none {
			req.Topics = fetchTopics(v, version, parts)
		}
		if !begin {
			for _, t := range fetchTopics(v, version, forget) {
				f := kmsg.NewFetchRequestForgottenTopic()
				f.Topic, f.TopicID = t.Topic, t.TopicID
				for _, p := range t.Partitions {
					f.Partitions = append(f.Partitions, p.Partition)
				}
				req.ForgottenTopics = append(req.ForgottenTopics, f)
			}
		}
		return req
	}, func(v *view, resp kmsg.Response) {
		r := resp.(*kmsg.FetchResponse)
		if r.ErrorCode != 0 {
			return
		}
		switch s := v.sessions[name]; {
		case r.SessionID != 0 && r.SessionID != s.id:
			v.sessions[name] = session{r.SessionID, 1}
		case r.SessionID != 0 && off == 0:
			v.sessions[name] = session{s.id, s.epoch + 1}
		}
	})
}

func (g *gen) listOffsets() {
	type asked struct {
		at
		when    int64
		literal bool
		epoch   int32
	}
	var parts []asked
	for _, p := range g.places(3) {
		a := asked{at: p, when: g.Int64N(1100), epoch: -1}
		if !g.one(3) {
			a.when, a.literal = pick(g, int64(-1), -2, -3, -1, -2, -4, -5), true
		}
		if g.one(20) {
			a.when, a.literal = pick(g, int64(-6), -7, -100, 0), true
		}
		if g.one(6) {
			a.epoch = pick(g, int32(0), 1)
		}
		parts = append(parts, a)
	}
	isolation := int8(g.IntN(2))
	g.ask(kmsg.ListOffsets, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID, req.IsolationLevel, req.TimeoutMillis = -1, isolation, 5000
		for _, a := range parts {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = a.partition, a.when, a.epoch
			if !a.literal {
				p.Timestamp += v.base
			}
			found := false
			for i := range req.Topics {
				if req.Topics[i].Topic == v.name(a.topic) {
					req.Topics[i].Partitions, found = append(req.Topics[i].Partitions, p), true
				}
			}
			if !found {
				t := kmsg.NewListOffsetsRequestTopic()
				t.Topic, t.Partitions = v.name(a.topic), append(t.Partitions, p)
				req.Topics = append(req.Topics, t)
			}
		}
		return req
	}, nil)
}

func (g *gen) offsetForLeaderEpoch() {
	places := g.places(3)
	epoch, current := pick(g, int32(0), 0, 0, 1, -1), pick(g, int32(-1), -1, 0, 1)
	g.ask(kmsg.OffsetForLeaderEpoch, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		for _, topic := range topicsIn(places) {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = v.name(topic)
			for _, n := range partitionsIn(places, topic) {
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.Partition, p.LeaderEpoch, p.CurrentLeaderEpoch = n, epoch, current
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) deleteRecords() {
	places := g.places(2)
	offset := pick(g, int64(-1), 0, 1, 2, 3, 1000, -2)
	g.ask(kmsg.DeleteRecords, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = 10000
		for _, topic := range topicsIn(places) {
			t := kmsg.NewDeleteRecordsRequestTopic()
			t.Topic = v.name(topic)
			for _, n := range partitionsIn(places, topic) {
				p := kmsg.NewDeleteRecordsRequestTopicPartition()
				p.Partition, p.Offset = n, offset
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) describeProducers() {
	names := g.topicsOf(2)
	partitions := g.partitions(names[0])
	g.ask(kmsg.DescribeProducers, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeProducersRequest()
		for _, n := range names {
			t := kmsg.NewDescribeProducersRequestTopic()
			t.Topic, t.Partitions = v.name(n), partitions
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}

func (g *gen) describeLogDirs() {
	names := g.topicsOf(2)
	partitions := g.partitions(names[0])
	g.ask(kmsg.DescribeLogDirs, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		for _, n := range names {
			t := kmsg.NewDescribeLogDirsRequestTopic()
			t.Topic, t.Partitions = v.name(n), partitions
			req.Topics = append(req.Topics, t)
		}
		return req
	}, nil)
}
