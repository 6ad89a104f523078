package api

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// produce serves Produce (0), versions 3 to 13: it appends one batch to each
// partition, each succeeding or failing by itself, and with acks=all answers
// when they are committed.
//
// Version 5 tells the log start, 7 may bring zstd, 8 says which records of a
// batch are at fault, 9 is flexible, 10 tells a client that asked the wrong
// broker who leads (KIP-951), 12 stands for transactions of version 2, 13 names
// topics by id. Versions 0 to 2 are advertised, as Kafka does for old releases of
// librdkafka (KAFKA-18659), and close the connection as any unserved version.
//
// A large request is appended while it arrives. If it then turns out to be
// malformed, or never arrives, what was appended stays, as after an answer that
// was lost; and records that cannot be read have only the partitions from there on
// refused, where Kafka refuses all. A transactional one is looked at as a whole
// first, as small ones are: its partitions are refused together.
func produce(ctx context.Context, env *Env, call *Call) (Answer, error) {
	p := producing{clusterView: env.view(call), q: produceRequests.Get().(*produceRequest)}
	defer p.q.recycle()
	if err := p.append(ctx); err != nil {
		if errors.Is(err, protocol.ErrFrameEnd) || errors.Is(err, errMalformed) || errors.Is(err, errTooMany) {
			err = &DecodeError{Key: call.Key, Version: call.Version, Reason: err.Error()}
		}
		return Answer{}, err
	}
	p.waitCommitted(ctx)
	p.tellLeaders()
	return p.answer(), nil
}

var produceRequests = sync.Pool{New: func() any { return new(produceRequest) }}

// recycle lets another request use q's memory, unless it is very much.
func (q *produceRequest) recycle() {
	if cap(q.parts) > 4096 {
		return
	}
	clear(q.topics)
	clear(q.parts)
	*q = produceRequest{topics: q.topics[:0], parts: q.parts[:0]}
	produceRequests.Put(q)
}

// producing is one Produce call under way.
type producing struct {
	clusterView
	q     *produceRequest
	now   time.Time
	nodes []node // Leaders that the client should have asked.

	whole    bool                  // All of the request was looked at before anything is appended.
	refusal  int16                 // Of all partitions from here on,
	because  *string               // and why, if the client is told.
	elements int                   // Topics, and their partitions so far.
	memory   int                   // Of results, not yet asked for.
	mayTxn   bool                  // There is a transactional batch, and the right to what it is in.
	entered  map[entered]*entering // The partitions of transactional batches.
	waiting  []committing
}

// append appends to all partitions: as the request arrives, or when it is known
// to be sound.
func (p *producing) append(ctx context.Context) error {
	in := p.call.Stream
	if in == nil || p.transactional(in) {
		body := memory(p.call.Body)
		if in != nil {
			var err error
			if body, err = in.Peek(in.Left()); err != nil {
				return err
			}
			in.Skip(len(body)) // It stays where it is; but a client that leaves from now on is seen.
		}
		if err := p.look(body); err != nil {
			return err
		}
		if p.mayTxn {
			if err := p.enter(ctx, body); err != nil {
				return err
			}
		}
		in = &body
	}
	r := newProduceReader(in, p.call.Version)
	topics := r.header(p.q)
	p.elements = topics
	p.now = time.Now()
	for ; topics > 0 && r.err == nil; topics-- {
		p.appendTopic(&r)
	}
	r.tags()
	return r.err
}

// transactional says whether a request begins with a transactional id. An error
// shows again when the id is read.
func (p *producing) transactional(in Stream) bool {
	if p.call.Version >= 9 {
		b, _ := in.Peek(1)
		return len(b) == 1 && b[0] != 0
	}
	b, _ := in.Peek(2)
	return len(b) == 2 && b[0] != 0xff
}

// look looks at a whole request before anything of it is appended.
func (p *producing) look(body memory) error {
	head := body
	r := newProduceReader(&head, p.call.Version)
	r.header(p.q)
	_, _, err := scanProduce(body, p.call.Version, func(_ int32, records []byte) { p.check(records) })
	p.whole = true
	return err
}

// check looks for the first transactional batch of a request, which needs a
// transactional id and the right to use it. If not, or if records before it cannot be
// read, the partitions from here on are refused; of a request that is looked at as a
// whole, all of them. Records after it cannot be read to their own harm only: Kafka
// looks no further.
func (p *producing) check(records []byte) {
	if p.mayTxn || p.refusal != 0 {
		return
	}
	transactional, bad := begins(records)
	id := p.q.txnID
	switch {
	case bad != nil:
		p.refuse(code(bad), "the request has records that cannot be read: "+bad.Reason)
	case !transactional:
	case id == nil || !p.env.May(p.call.Conn, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, *id):
		p.refusal = kerr.TransactionalIDAuthorizationFailed.Code
	default:
		p.mayTxn = true
	}
}

// refuse refuses all partitions from here on.
func (p *producing) refuse(errorCode int16, because string) {
	p.refusal, p.because = errorCode, &because
}

// begins says whether records begin with a transactional batch. The beginning of one is
// none: there is nothing that could come into a transaction. An error says that no
// batch of any format begins there, as far as Kafka finds out before it asks for
// rights: one that is shorter than its header is a batch to it.
func begins(records []byte) (transactional bool, bad *batch.CorruptError) {
	b, _, err := batch.Next(records)
	bad, ok := errors.AsType[*batch.CorruptError](err)
	switch {
	case !ok:
		return err == nil && b.Transactional(), nil
	case bad.Legacy:
		return false, nil
	}
	b = batch.Batch(records)
	if b.Size() < minBatchBytes || b.Magic() != batch.Magic {
		return false, bad
	}
	return b.Size() <= len(records) && b.Transactional(), nil
}

// minBatchBytes is the size of the smallest batch of any format that Kafka ever had.
// The attributes of a batch of today lie within.
const minBatchBytes = 26

// appendTopic appends to the partitions of the topic that r stands before.
func (p *producing) appendTopic(r *produceReader) {
	t := r.topic()
	if p.elements += t.parts; p.elements > maxElements {
		r.err = cmp.Or(r.err, errTooMany)
	}
	if err := p.reserve(produceTopicMemory + t.parts*producePartMemory); err != nil {
		r.err = cmp.Or(r.err, err)
	}
	topic, refusal := p.topic(&t)
	use := func(index int32, records []byte) {
		if !p.whole {
			p.check(records)
		}
		part := producePart{index, failed(cmp.Or(p.refusal, refusal))}
		part.message = p.because
		if part.code == 0 {
			p.appendOne(topic, &part, records)
		}
		p.q.parts = append(p.q.parts, part)
	}
	for i := 0; i < t.parts && r.err == nil; i++ {
		r.part(use)
	}
	p.q.topics = append(p.q.topics, t)
	r.tags()
}

// freeProduceMemory is how much the results of a request may take without being
// counted: some hundreds of partitions.
const freeProduceMemory = 64 << 10

// reserve asks for the memory of results, now and then.
func (p *producing) reserve(n int) error {
	if p.memory += n; p.memory <= freeProduceMemory || p.call.Reserve == nil {
		return nil
	}
	n, p.memory = p.memory, 0
	return p.call.Reserve(int64(n))
}

// topic finds a topic of the request in the image; a code says that nothing can
// be appended to any of its partitions.
func (p *producing) topic(t *produceTopic) (*controller.Topic, int16) {
	var topic *controller.Topic
	var ok bool
	if p.q.version >= 13 {
		if topic, ok = p.image.TopicByID(t.id); !ok {
			return nil, kerr.UnknownTopicID.Code
		}
		t.name = topic.Name // For the hint of who leads.
	} else {
		topic, ok = p.image.Topic(t.name)
	}
	if !p.env.MayTopic(p.call.Conn, kmsg.ACLOperationWrite, t.name) {
		return nil, kerr.TopicAuthorizationFailed.Code
	}
	if !ok {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	return topic, 0
}

// appendOne appends to one partition and fills in its result.
func (p *producing) appendOne(topic *controller.Topic, part *producePart, records []byte) {
	refuse := func(c int16) { part.produceResult = failed(c) }
	if part.index < 0 || int(part.index) >= len(topic.Partitions) {
		refuse(kerr.UnknownTopicOrPartition.Code)
		return
	}
	if err := p.q.fit(records); err != nil {
		refuse(code(err))
		return
	}
	switch {
	case p.q.acks < -1 || p.q.acks > 1:
		refuse(kerr.InvalidRequiredAcks.Code)
		return
	case isInternal(topic.Name) && p.call.Client() != adminClient:
		refuse(kerr.InvalidTopicException.Code)
		return
	}
	r, err := p.partition(topic, part.index)
	if err != nil {
		refuse(code(err))
		return
	}
	var guard producer.Guard
	if e := p.entered[entered{topic.Name, part.index}]; e != nil {
		if e.code != 0 {
			part.produceResult = notEntered(e.code, admissionOf(p.q.version, produceAbortable, produceAdd))
			return
		}
		guard = e.guard
	}
	a, err := r.Produce(p.now, records, replica.ProduceOptions{
		Acks: replica.Acks(p.q.acks), AllowZstd: p.q.allowsZstd(), Guard: guard,
	})
	if err != nil {
		part.produceResult = refusedBatch(err, r)
		return
	}
	part.baseOffset, part.appendTimeMs, part.logStart = a.Base, a.AppendTimeMs, a.LogStart
	if p.q.acks == -1 {
		p.waiting = append(p.waiting, committing{r, len(p.q.parts), a.Last + 1})
	}
}

// adminClient is the client id of Kafka's own admin clients, who alone may
// produce to internal topics.
const adminClient = "__admin_client"

// refusedBatch is the result of a batch that was not appended. What the log or
// its state of producers found wrong comes with the log's start, as Kafka tells
// it then, and faults of single records with a message.
func refusedBatch(err error, r *replica.Partition) produceResult {
	res := failed(code(err))
	switch res.code {
	case kerr.InvalidProducerEpoch.Code, kerr.OutOfOrderSequenceNumber.Code, kerr.InvalidTxnState.Code, kerr.NotEnoughReplicas.Code:
		res.logStart = r.LogStart()
	}
	e, ok := errors.AsType[*batch.RecordsError](err)
	if !ok {
		return res
	}
	res.logStart = r.LogStart()
	if len(e.Records) > 0 {
		res.message, res.recordErrors = &e.Message, e.Records
	}
	return res
}

// fit says why records cannot be what this version of Produce may bring to a
// partition, whatever they hold. Kafka refuses them before it looks at the
// transaction, the acks and who leads.
func (q *produceRequest) fit(records []byte) error {
	_, err := batch.Only(records, q.allowsZstd())
	return err
}

func (q *produceRequest) allowsZstd() bool { return q.version >= 7 }

// committing is a batch that is appended and not known to be committed.
type committing struct {
	replica *replica.Partition
	part    int   // Its place among the request's parts.
	end     int64 // What has to be committed.
}

// waitCommitted waits until the batches are committed, together no longer than
// the request allows. What is not by then stays in the log: the client does not
// know, and is told so.
func (p *producing) waitCommitted(ctx context.Context) {
	// Most often all is committed by now, and no timer is needed.
	for _, w := range p.waiting {
		if w.replica.HighWatermark() < w.end {
			limited, cancel := context.WithTimeout(ctx, time.Duration(max(p.q.timeoutMs, 0))*time.Millisecond)
			defer cancel()
			p.awaitAll(limited)
			return
		}
	}
	p.awaitAll(ctx)
}

// awaitAll waits for each within ctx. What is committed costs no wait, even late.
func (p *producing) awaitAll(ctx context.Context) {
	for _, w := range p.waiting {
		if err := w.replica.WaitCommitted(ctx, w.end); err != nil {
			p.q.parts[w.part].code = code(err)
		}
	}
}

// tellLeaders adds who leads the partitions that this broker does not.
func (p *producing) tellLeaders() {
	if p.q.version < 10 {
		return
	}
	parts := p.q.parts
	for _, t := range p.q.topics {
		for i := range parts[:t.parts] {
			if parts[i].code == kerr.NotLeaderForPartition.Code {
				parts[i].currentLeader, p.nodes = p.leader(t.name, parts[i].index, p.nodes)
			}
		}
		parts = parts[t.parts:]
	}
}

// answer is the response. With acks=0 there is none; an error then closes the
// connection, which is how the client learns that it should look at its
// metadata.
func (p *producing) answer() Answer {
	if p.q.acks == 0 {
		a := Answer{None: true}
		for i := range p.q.parts {
			a.Close = a.Close || p.q.parts[i].code != 0
		}
		return a
	}
	buf := p.env.buffer(0)
	out := beginFrame(buf.B[:0], p.call, p.call.Version)
	out = p.q.appendTo(out, 0, p.nodes)
	endFrame(out, 0)
	return Answer{Parts: []Part{{Bytes: out}}, Release: p.env.giveBack(buf)}
}
