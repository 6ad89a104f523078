package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/group"
	"github.com/moldau-broker/moldau/logstore/producer"
)

// The TxnOffsetCommit versions that change how the group's partition comes into the
// transaction.
const (
	txnOffsetsAbortable = 4
	txnOffsetsAdd       = 5
)

// txnOffsetCommit serves TxnOffsetCommit (28), versions 0 to 5: how far a group will
// have read once a transaction commits. Version 2 has leader epochs, 3 says which
// member commits, 4 knows TRANSACTION_ABORTABLE, and 5 adds the group's partition
// to the transaction (KIP-890).
func txnOffsetCommit(ctx context.Context, env *Env, call *Call, req *kmsg.TxnOffsetCommitRequest) (*kmsg.TxnOffsetCommitResponse, error) {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	merged := newMerging(func(into *kmsg.TxnOffsetCommitResponseTopic, more kmsg.TxnOffsetCommitResponseTopic) {
		into.Partitions = append(into.Partitions, more.Partitions...)
	})
	defer func() { resp.Topics = merged.topics }()
	refuse := func(topics []kmsg.TxnOffsetCommitRequestTopic, errorCode int16) {
		for _, t := range topics {
			merged.add(t.Topic, refusedTxnCommit(t, errorCode))
		}
	}
	switch {
	case !env.MayTransactionalID(call.Conn, kmsg.ACLOperationWrite, req.TransactionalID):
		refuse(req.Topics, kerr.TransactionalIDAuthorizationFailed.Code)
		return resp, nil
	case !env.MayGroup(call.Conn, kmsg.ACLOperationRead, req.Group):
		refuse(req.Topics, kerr.GroupAuthorizationFailed.Code)
		return resp, nil
	}
	known := env.knownTxnCommits(call, req, refuse)
	if len(known) == 0 {
		return resp, nil
	}
	if req.Group == "" {
		refuse(known, kerr.InvalidGroupID.Code)
		return resp, nil
	}
	body := *req
	body.Topics = known
	out, errorCode, err := env.commitInTxn(ctx, call, &body)
	switch {
	case err != nil:
		return resp, err
	case errorCode != 0:
		refuse(known, txnCommitCode(errorCode, req.Version))
	default:
		for _, t := range out.Topics {
			merged.add(t.Topic, t)
		}
	}
	return resp, nil
}

// knownTxnCommits are the request's partitions that exist and that the client may
// read; the others are refused.
func (e *Env) knownTxnCommits(call *Call, req *kmsg.TxnOffsetCommitRequest, refuse func([]kmsg.TxnOffsetCommitRequestTopic, int16)) []kmsg.TxnOffsetCommitRequestTopic {
	im := e.Image()
	var known []kmsg.TxnOffsetCommitRequestTopic
	for _, t := range req.Topics {
		topic, ok := im.Topic(t.Topic)
		switch {
		case !e.MayTopic(call.Conn, kmsg.ACLOperationRead, t.Topic):
			refuse([]kmsg.TxnOffsetCommitRequestTopic{t}, kerr.TopicAuthorizationFailed.Code)
			continue
		case !ok:
			refuse([]kmsg.TxnOffsetCommitRequestTopic{t}, kerr.UnknownTopicOrPartition.Code)
			continue
		}
		there, gone := t, t
		there.TopicID = topic.ID
		there.Partitions, gone.Partitions = nil, nil
		for _, p := range t.Partitions {
			if p.Partition >= 0 && int(p.Partition) < len(topic.Partitions) {
				there.Partitions = append(there.Partitions, p)
			} else {
				gone.Partitions = append(gone.Partitions, p)
			}
		}
		if len(gone.Partitions) > 0 {
			refuse([]kmsg.TxnOffsetCommitRequestTopic{gone}, kerr.UnknownTopicOrPartition.Code)
		}
		if len(there.Partitions) > 0 {
			known = append(known, there)
		}
	}
	return known
}

// commitInTxn brings the group's partition into the transaction and hands the
// commit to the group's shard. The code is that of the log, or of a coordinator that
// did not answer.
func (e *Env) commitInTxn(ctx context.Context, call *Call, req *kmsg.TxnOffsetCommitRequest) (*kmsg.TxnOffsetCommitResponse, int16, error) {
	n := e.Groups.OffsetsPartition(req.Group)
	p, err := e.view(call).named(consumerOffsets, n)
	if err != nil {
		return nil, kerr.NotCoordinator.Code, nil
	}
	part := []entering{{topic: consumerOffsets, n: n, replica: p, seq: -1}}
	who := producer.Verification{ProducerID: req.ProducerID, Epoch: req.ProducerEpoch}
	how := admissionOf(req.Version, txnOffsetsAbortable, txnOffsetsAdd)
	if err := e.enter(ctx, req.TransactionalID, who, how, part); err != nil || part[0].code != 0 {
		return nil, part[0].code, err
	}
	out, err := e.Groups.Ask(ctx, req.Group, group.Request{
		ClientID: call.Client(), ClientHost: "/" + call.Conn.Host(), Body: req, Guard: uint64(part[0].guard),
	})
	switch {
	case err == nil:
		return out.(*kmsg.TxnOffsetCommitResponse), 0, nil
	case ctx.Err() != nil:
		return nil, 0, ctx.Err() // The client is gone: nobody reads an answer.
	}
	return nil, txnCommitRefusal(err), nil
}

// txnCommitRefusal is the code for a commit that the log did not take, or no shard
// answered.
func txnCommitRefusal(err error) int16 {
	if replicaOrBatch := code(err); replicaOrBatch != kerr.UnknownServerError.Code {
		return replicaOrBatch
	}
	return coordinatorCode(err)
}

// txnCommitCode says what went wrong with a log in the words of a coordinator, and
// to old clients without the one word that they take for fatal (KAFKA-7296).
func txnCommitCode(c, version int16) int16 {
	switch c {
	case kerr.UnknownTopicOrPartition.Code, kerr.NotEnoughReplicas.Code, kerr.NotEnoughReplicasAfterAppend.Code, kerr.RequestTimedOut.Code:
		c = kerr.CoordinatorNotAvailable.Code
	case kerr.NotLeaderForPartition.Code, kerr.KafkaStorageError.Code:
		c = kerr.NotCoordinator.Code
	case kerr.MessageTooLarge.Code, kerr.RecordListTooLarge.Code:
		c = kerr.UnknownServerError.Code
	}
	if c == kerr.CoordinatorLoadInProgress.Code && version < 2 {
		return kerr.CoordinatorNotAvailable.Code
	}
	return c
}

func refusedTxnCommit(t kmsg.TxnOffsetCommitRequestTopic, errorCode int16) kmsg.TxnOffsetCommitResponseTopic {
	rt := kmsg.NewTxnOffsetCommitResponseTopic()
	rt.Topic = t.Topic
	for _, p := range t.Partitions {
		rp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
		rp.Partition, rp.ErrorCode = p.Partition, errorCode
		rt.Partitions = append(rt.Partitions, rp)
	}
	return rt
}
