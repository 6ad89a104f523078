package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

// addPartitionsBrokers is the AddPartitionsToTxn version from which on brokers send
// it, for many transactions at a time (KIP-890).
const addPartitionsBrokers = 4

// addPartitionsToTxn serves AddPartitionsToTxn (24), versions 0 to 5: a transaction
// will write to partitions. Up to version 3 the producer says so before it writes;
// version 2 knows PRODUCER_FENCED. From version 4 on the leaders of the partitions
// do, or ask whether the producer did; 5 knows TRANSACTION_ABORTABLE.
func addPartitionsToTxn(ctx context.Context, env *Env, call *Call, req *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error) {
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if req.Version >= addPartitionsBrokers {
		if !env.MayCluster(call.Conn, kmsg.ACLOperationClusterAction) {
			resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
			return resp, nil
		}
		for _, t := range req.Transactions {
			out, err := env.addToTxnIfThere(ctx, txn.Add{AddPartitionsToTxnRequestTransaction: t, ClientVersion: 2}, nil)
			if err != nil {
				return resp, err
			}
			resp.Transactions = append(resp.Transactions, *out)
		}
		return resp, nil
	}
	in := kmsg.NewAddPartitionsToTxnRequestTransaction()
	in.TransactionalID, in.ProducerID, in.ProducerEpoch = req.TransactionalID, req.ProducerID, req.ProducerEpoch
	for _, t := range req.Topics {
		in.Topics = append(in.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	out, err := env.addClientsPartitions(ctx, call, in)
	if err != nil {
		return resp, err
	}
	for _, t := range out.Topics {
		rt := kmsg.NewAddPartitionsToTxnResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, fencedBefore(2, req.Version, p.ErrorCode)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, nil
}

// addClientsPartitions adds what a client asks for, if it may write there. Internal
// topics are nobody's to write to.
func (e *Env) addClientsPartitions(ctx context.Context, call *Call, in kmsg.AddPartitionsToTxnRequestTransaction) (*kmsg.AddPartitionsToTxnResponseTransaction, error) {
	if !e.MayTransactionalID(call.Conn, kmsg.ACLOperationWrite, in.TransactionalID) {
		return addResults(in, func(string, int32) int16 { return kerr.TransactionalIDAuthorizationFailed.Code }), nil
	}
	return e.addToTxnIfThere(ctx, txn.Add{AddPartitionsToTxnRequestTransaction: in}, func(topic string) bool {
		return !isInternal(topic) && e.MayTopic(call.Conn, kmsg.ACLOperationWrite, topic)
	})
}

// addToTxnIfThere adds partitions if all of them exist and may be written to: one
// that is wrong is told so, and the others that nothing was done.
func (e *Env) addToTxnIfThere(ctx context.Context, in txn.Add, may func(topic string) bool) (*kmsg.AddPartitionsToTxnResponseTransaction, error) {
	im, sound := e.Image(), true
	wrong := func(topic string, n int32) int16 {
		if may != nil && !may(topic) {
			return kerr.TopicAuthorizationFailed.Code
		}
		if _, ok := im.Partition(topic, n); !ok {
			return kerr.UnknownTopicOrPartition.Code
		}
		return 0
	}
	out := addResults(in.AddPartitionsToTxnRequestTransaction, func(topic string, n int32) int16 {
		if c := wrong(topic, n); c != 0 {
			sound = false
			return c
		}
		return kerr.OperationNotAttempted.Code
	})
	if !sound {
		return out, nil
	}
	return e.addToTxn(ctx, in)
}

// addToTxn asks the coordinator of a transaction to add partitions to it, or whether
// they are in it. When no shard answers each partition gets the code for that.
func (e *Env) addToTxn(ctx context.Context, in txn.Add) (*kmsg.AddPartitionsToTxnResponseTransaction, error) {
	out, err := e.Transactions.Ask(ctx, in.TransactionalID, in)
	switch {
	case err == nil:
		return out.(*kmsg.AddPartitionsToTxnResponseTransaction), nil
	case ctx.Err() != nil:
		return nil, ctx.Err() // The client is gone: nobody reads an answer.
	}
	return addResults(in.AddPartitionsToTxnRequestTransaction, func(string, int32) int16 { return coordinatorCode(err) }), nil
}

// addResults answers each partition with its code.
func addResults(in kmsg.AddPartitionsToTxnRequestTransaction, code func(topic string, n int32) int16) *kmsg.AddPartitionsToTxnResponseTransaction {
	out := kmsg.NewAddPartitionsToTxnResponseTransaction()
	out.TransactionalID = in.TransactionalID
	for _, t := range in.Topics {
		rt := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		rt.Topic = t.Topic
		for _, n := range t.Partitions {
			rp := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			rp.Partition, rp.ErrorCode = n, code(t.Topic, n)
			rt.Partitions = append(rt.Partitions, rp)
		}
		out.Topics = append(out.Topics, rt)
	}
	return &out
}
