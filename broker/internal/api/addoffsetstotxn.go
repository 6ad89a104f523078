package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
)

// addOffsetsToTxn serves AddOffsetsToTxn (25), versions 0 to 4: a transaction will
// commit offsets of a group, so the group's partition of the offsets topic becomes
// part of it. Version 2 knows PRODUCER_FENCED, 4 TRANSACTION_ABORTABLE. Producers
// whose partitions are added by their leaders (KIP-890) do not send it.
func addOffsetsToTxn(ctx context.Context, env *Env, call *Call, req *kmsg.AddOffsetsToTxnRequest) (*kmsg.AddOffsetsToTxnResponse, error) {
	resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	switch {
	case !env.MayTransactionalID(call.Conn, kmsg.ACLOperationWrite, req.TransactionalID):
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return resp, nil
	case !env.MayGroup(call.Conn, kmsg.ACLOperationRead, req.Group):
		resp.ErrorCode = kerr.GroupAuthorizationFailed.Code
		return resp, nil
	}
	in := kmsg.NewAddPartitionsToTxnRequestTransaction()
	in.TransactionalID, in.ProducerID, in.ProducerEpoch = req.TransactionalID, req.ProducerID, req.ProducerEpoch
	in.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{
		Topic: consumerOffsets, Partitions: []int32{env.Groups.OffsetsPartition(req.Group)},
	}}
	out, err := env.addToTxn(ctx, txn.Add{AddPartitionsToTxnRequestTransaction: in})
	if err != nil {
		return resp, err
	}
	resp.ErrorCode = fencedBefore(2, req.Version, out.Topics[0].Partitions[0].ErrorCode)
	return resp, nil
}

// fencedBefore is a code for a client of this version: those before since do not
// know PRODUCER_FENCED, and take INVALID_PRODUCER_EPOCH for it.
func fencedBefore(since, version, errorCode int16) int16 {
	if errorCode == kerr.ProducerFenced.Code && version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return errorCode
}
