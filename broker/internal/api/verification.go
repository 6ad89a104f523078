package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator/txn"
	"github.com/moldau-broker/moldau/logstore/producer"
)

// admission is how partitions come into a producer's transaction (KIP-890). The
// version of its request says which.
type admission int8

const (
	// verifyPlain: the producer has added them, which is verified; it does not know
	// TRANSACTION_ABORTABLE.
	verifyPlain admission = iota
	// verifyAbortable: it knows that.
	verifyAbortable
	// addPartitions: their leaders add them.
	addPartitions
)

// admissionOf tells the versions of an API apart: those before abortable, and those
// from add on.
func admissionOf(version, abortable, add int16) admission {
	switch {
	case version >= add:
		return addPartitions
	case version >= abortable:
		return verifyAbortable
	}
	return verifyPlain
}

// entering is a partition that a transaction may be about to begin in.
type entering struct {
	topic   string
	n       int32
	replica *replica.Partition
	seq     int32 // Of the first batch; -1 if it has none.

	// What came of it: the guard to append with, or a code.
	guard producer.Guard
	code  int16
}

// enter sees to it that the coordinator knows of every partition in which the
// producer's transaction begins, and fills in the results. An error is ctx's.
func (e *Env) enter(ctx context.Context, id string, who producer.Verification, how admission, parts []entering) error {
	if how != addPartitions && !e.Settings().Bool("transaction.partition.verification.enable") {
		for i := range parts {
			parts[i].guard = producer.Trusted
		}
		return nil
	}
	who.EpochBump = how == addPartitions
	in := kmsg.NewAddPartitionsToTxnRequestTransaction()
	in.TransactionalID, in.ProducerID, in.ProducerEpoch = id, who.ProducerID, who.Epoch
	in.VerifyOnly = how != addPartitions
	now := time.Now()
	byTopic := make(map[string]int)
	for i := range parts {
		p := &parts[i]
		who.FirstSequence = p.seq
		var err error
		p.guard, err = p.replica.Verify(now, who)
		if p.code = code(err); p.code != 0 || p.guard == producer.NoGuard {
			continue
		}
		t, ok := byTopic[p.topic]
		if !ok {
			t = len(in.Topics)
			byTopic[p.topic] = t
			in.Topics = append(in.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: p.topic})
		}
		in.Topics[t].Partitions = append(in.Topics[t].Partitions, p.n)
	}
	if len(in.Topics) == 0 {
		return nil // All are open.
	}
	out, err := e.addToTxn(ctx, txn.Add{AddPartitionsToTxnRequestTransaction: in, ClientVersion: 2})
	if err != nil {
		return err
	}
	codes := make(map[entered]int16)
	for _, t := range out.Topics {
		for _, p := range t.Partitions {
			codes[entered{t.Topic, p.Partition}] = p.ErrorCode
		}
	}
	for i := range parts {
		p := &parts[i]
		if p.code == 0 && p.guard != producer.NoGuard {
			p.code = admissionCode(codes[entered{p.topic, p.n}], how)
		}
	}
	return nil
}

type entered struct {
	topic string
	n     int32
}

// admissionCode is what a producer is told of its coordinator's code: that it was
// fenced by the code with which it can go on, and of what it does not know by one
// that it does.
func admissionCode(c int16, how admission) int16 {
	switch {
	case c == kerr.ProducerFenced.Code:
		return kerr.InvalidProducerEpoch.Code
	case c == kerr.TransactionAbortable.Code && how == verifyPlain:
		return kerr.InvalidTxnState.Code
	}
	return c
}
