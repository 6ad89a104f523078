package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator/controller"
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
func produce(ctx context.Context, env *Env, call *Call) (Answer, error) {
	topics, parts, ok := countProduce(call.Body, call.Version)
	if !ok {
		return Answer{}, &DecodeError{Key: call.Key, Version: call.Version, Reason: "fields do not fit its size"}
	}
	memory := int64(topics*produceTopicMemory + parts*producePartMemory)
	if call.Reserve != nil && memory > freeProduceMemory {
		if err := call.Reserve(memory); err != nil {
			return Answer{}, err
		}
	}
	q := produceRequests.Get().(*produceRequest)
	defer q.recycle()
	q.read(call.Body, call.Version)

	p := producing{clusterView: env.view(call), q: q}
	if errorCode := p.mayBeTransactional(); errorCode != 0 {
		for i := range q.parts {
			q.parts[i].produceResult = failed(errorCode)
		}
	} else {
		p.append(ctx)
	}
	return p.answer(), nil
}

// freeProduceMemory is how much a request's partitions may take without being
// counted: some hundreds of them.
const freeProduceMemory = 64 << 10

var produceRequests = sync.Pool{New: func() any { return new(produceRequest) }}

// recycle lets another request use q's memory, unless it is very much.
func (q *produceRequest) recycle() {
	clear(q.topics)
	clear(q.parts)
	if cap(q.parts) > 4096 {
		return
	}
	*q = produceRequest{topics: q.topics[:0], parts: q.parts[:0]}
	produceRequests.Put(q)
}

// producing is one Produce call under way.
type producing struct {
	clusterView
	q     *produceRequest
	nodes []node // Leaders that the client should have asked.
}

// mayBeTransactional looks for transactional batches, which need a
// transactional id and the right to use it, and all the same producer. It
// returns what is answered for all partitions if not.
func (p *producing) mayBeTransactional() int16 {
	producerID := int64(-1)
	for i := range p.q.parts {
		b := batch.Batch(p.q.parts[i].records)
		if len(b) < batch.HeaderLen || b.Magic() != 2 || !b.Transactional() {
			continue
		}
		if producerID == -1 && (p.q.txnID == nil || !p.env.May(p.call.Conn, kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId, string(p.q.txnID))) {
			return kerr.TransactionalIDAuthorizationFailed.Code
		}
		if producerID != -1 && producerID != b.ProducerID() {
			return kerr.InvalidProducerIDMapping.Code
		}
		producerID = b.ProducerID()
	}
	return 0
}

// append appends to all partitions, and then waits for all of them.
func (p *producing) append(ctx context.Context) {
	now := time.Now()
	waiting := make([]committing, 0, 8)
	parts := p.q.parts
	for i := range p.q.topics {
		t := &p.q.topics[i]
		topic, errorCode := p.topic(t)
		for j := range parts[:t.parts] {
			part := &parts[j]
			if errorCode != 0 {
				part.produceResult = failed(errorCode)
				continue
			}
			if replica := p.appendOne(now, topic, part); replica != nil && p.q.acks == -1 {
				waiting = append(waiting, committing{replica, part})
			}
		}
		parts = parts[t.parts:]
	}
	p.waitCommitted(ctx, now, waiting)
	p.tellLeaders()
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
		t.name = []byte(topic.Name) // For the hint of who leads.
	} else if topic, ok = p.image.Topic(string(t.name)); !ok {
		if !p.env.MayTopic(p.call.Conn, kmsg.ACLOperationWrite, string(t.name)) {
			return nil, kerr.TopicAuthorizationFailed.Code
		}
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	if !p.env.MayTopic(p.call.Conn, kmsg.ACLOperationWrite, topic.Name) {
		return nil, kerr.TopicAuthorizationFailed.Code
	}
	return topic, 0
}

// appendOne appends to one partition and fills in its result. It returns the
// replica that has the batch.
func (p *producing) appendOne(now time.Time, topic *controller.Topic, part *producePart) *replica.Partition {
	if int(part.index) < 0 || int(part.index) >= len(topic.Partitions) {
		part.produceResult = failed(kerr.UnknownTopicOrPartition.Code)
		return nil
	}
	switch {
	case len(part.records) == 0:
		part.produceResult = failed(kerr.InvalidRecord.Code)
		return nil
	case p.q.acks < -1 || p.q.acks > 1:
		part.produceResult = failed(kerr.InvalidRequiredAcks.Code)
		return nil
	case isInternal(topic.Name) && p.call.Client() != adminClient:
		part.produceResult = failed(kerr.InvalidTopicException.Code)
		return nil
	}
	r, err := p.partition(topic, part.index)
	if err != nil {
		part.produceResult = failed(code(err))
		return nil
	}
	if b := batch.Batch(part.records); len(b) >= batch.HeaderLen && b.Magic() == 2 && b.Transactional() {
		// None is coordinated here, so its coordinator knows no such id.
		part.produceResult = failed(kerr.InvalidProducerIDMapping.Code)
		return nil
	}
	a, err := r.Produce(now, part.records, replica.ProduceOptions{
		Acks: replica.Acks(p.q.acks), AllowZstd: p.q.version >= 7,
	})
	if err != nil {
		part.produceResult = refusedBatch(err, part.records, r)
		return nil
	}
	part.baseOffset, part.appendTimeMs, part.logStart, part.end = a.Base, a.AppendTimeMs, a.LogStart, a.Last+1
	return r
}

// adminClient is the client id of Kafka's own admin clients, who alone may
// produce to internal topics.
const adminClient = "__admin_client"

// refusedBatch is the result of a batch that was not appended. What the log or
// its state of producers found wrong comes with the log's start, as Kafka tells
// it then, and faults of single records with a message.
func refusedBatch(err error, in []byte, r *replica.Partition) produceResult {
	res := failed(code(err))
	switch res.code {
	case kerr.InvalidProducerEpoch.Code, kerr.OutOfOrderSequenceNumber.Code, kerr.InvalidTxnState.Code, kerr.NotEnoughReplicas.Code:
		res.logStart = r.LogStart()
	}
	e, ok := errors.AsType[*batch.RecordsError](err)
	if !ok {
		return res
	}
	if isOneBatch(in) {
		res.logStart = r.LogStart()
	}
	if len(e.Records) > 0 {
		res.message, res.recordErrors = &e.Message, e.Records
	}
	return res
}

// isOneBatch says whether there is one whole batch, which Kafka checks before it
// looks for the log.
func isOneBatch(in []byte) bool {
	_, rest, err := batch.Next(in)
	if err != nil {
		return false
	}
	_, _, err = batch.Next(rest)
	return err != nil
}

// committing is a batch that is appended and not known to be committed.
type committing struct {
	replica *replica.Partition
	part    *producePart
}

// waitCommitted waits until the batches are committed, together no longer than
// the request allows. What is not by then stays in the log: the client does not
// know, and is told so.
func (p *producing) waitCommitted(ctx context.Context, now time.Time, waiting []committing) {
	var limited context.Context
	for _, w := range waiting {
		at := ctx
		if w.replica.HighWatermark() < w.part.end {
			if limited == nil {
				var cancel context.CancelFunc
				limited, cancel = context.WithDeadline(ctx, now.Add(time.Duration(max(p.q.timeoutMs, 0))*time.Millisecond))
				defer cancel()
			}
			at = limited
		}
		if err := w.replica.WaitCommitted(at, w.part.end); err != nil {
			w.part.code = code(err)
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
				parts[i].currentLeader, p.nodes = p.leader(string(t.name), parts[i].index, p.nodes)
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
