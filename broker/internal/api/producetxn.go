package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// The Produce versions that change how partitions come into a transaction.
const (
	produceAbortable = 11
	produceAdd       = 12
)

// enter brings the partitions of a transactional request into its transaction: one
// question to its coordinator for all in which it begins. Where the coordinator is
// still busy with the transaction before this one, which is often, it is asked again
// for a while: a client would wait for longer, and send its records again. An error
// is ctx's.
func (p *producing) enter(ctx context.Context, body memory) error {
	who, parts := p.entering(body)
	if len(parts) == 0 {
		return nil
	}
	how := admissionOf(p.q.version, produceAbortable, produceAdd)
	var until time.Time
	var backoff time.Duration
	for {
		if err := p.env.enter(ctx, *p.q.txnID, who, how, parts); err != nil {
			return err
		}
		if how != addPartitions || !concurrent(parts) {
			break
		}
		if until.IsZero() {
			s := p.env.Settings()
			until = time.Now().Add(s.Millis("add.partitions.to.txn.retry.backoff.max.ms"))
			backoff = s.Millis("add.partitions.to.txn.retry.backoff.ms")
		}
		if !time.Now().Before(until) {
			break
		}
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.entered = make(map[entered]*entering, len(parts))
	for i := range parts {
		p.entered[entered{parts[i].topic, parts[i].n}] = &parts[i]
	}
	return nil
}

func concurrent(parts []entering) bool {
	for i := range parts {
		if parts[i].code == kerr.ConcurrentTransactions.Code {
			return true
		}
	}
	return false
}

// entering finds the transactional batches of a request that could be appended, and who
// sends them. A request of several producers, or epochs of one, is refused.
func (p *producing) entering(body memory) (who producer.Verification, parts []entering) {
	r := newProduceReader(&body, p.call.Version)
	var q produceRequest
	first := true
	for topics := r.header(&q); topics > 0 && r.err == nil; topics-- {
		t := r.topic()
		topic, refusal := p.topic(&t)
		use := func(index int32, records []byte) {
			if refusal != 0 || index < 0 || int(index) >= len(topic.Partitions) || p.q.fit(records) != nil {
				return
			}
			b, _, _ := batch.Next(records) // It fits.
			if !b.Transactional() || b.ProducerID() < 0 {
				return
			}
			if first {
				who.ProducerID, who.Epoch, first = b.ProducerID(), b.ProducerEpoch(), false
			}
			if who.ProducerID != b.ProducerID() || who.Epoch != b.ProducerEpoch() {
				p.refuse(kerr.InvalidProducerIDMapping.Code, "the request has transactional batches of more than one producer or epoch")
			}
			if r, err := p.partition(topic, index); err == nil && !isInternal(topic.Name) {
				parts = append(parts, entering{topic: topic.Name, n: index, replica: r, seq: b.BaseSequence()})
			}
		}
		for i := 0; i < t.parts && r.err == nil; i++ {
			r.part(use)
		}
		r.tags()
	}
	if p.refusal != 0 {
		return who, nil
	}
	return who, parts
}

// notEntered is the result of a batch whose partition did not come into the
// transaction. What the client can but repeat is told in a way that makes it do so at
// once, without asking who leads.
func notEntered(c int16, how admission) produceResult {
	say := func(code int16, text string) produceResult {
		res := failed(code)
		res.message = &text
		return res
	}
	again := func() produceResult {
		return say(kerr.NotEnoughReplicas.Code, "the coordinator of the transaction did not confirm the partition: "+kerr.TypedErrorForCode(c).Message)
	}
	switch c {
	case kerr.NetworkException.Code, kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
		return again()
	case kerr.ConcurrentTransactions.Code:
		if how != addPartitions {
			return again()
		}
	case kerr.InvalidTxnState.Code:
		return say(c, "the partition is not in the transaction")
	}
	return failed(c)
}
