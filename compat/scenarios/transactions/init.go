package transactions

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// initScenarios are about transactional ids and their producers.
var initScenarios = []scenario.Scenario{
	{ID: "transactions.timeout", Says: "A transaction's timeout of 0, below, or above transaction.max.timeout.ms is INVALID_TRANSACTION_TIMEOUT.", Refs: []string{"redpanda PR 21504", "case T03"}, Run: transactionTimeout},
	{ID: "transactions.unknown-id", Says: "A transactional id that nobody initialized is INVALID_PRODUCER_ID_MAPPING.", Refs: []string{"redpanda PR 22912", "case T05"}, Run: unknownTransactionalID},
	{ID: "transactions.init.whole-answer", Says: "InitProducerId gives an id and an epoch; a producer that is not who it says it is is fenced.", Refs: []string{"KIP-98", "KIP-360", "KIP-588"}, Run: initAnswers},
}

func transactionTimeout(t *scenario.T) {
	limit := int64(900000)
	if s := t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), "transaction.max.timeout.ms"); s != "900000" {
		t.NotApplicable("transaction.max.timeout.ms is %s", s)
	}
	txnID := t.TransactionalID()
	t.Each(kmsg.InitProducerID, 0, 4, func(v int16) {
		for _, ms := range []int32{3600000, int32(limit) + 1, 0, -1} {
			resp := t.InitTransactions(v, txnID, ms)
			t.Code("a timeout of "+scenario.Plain(ms), resp.ErrorCode, kerr.InvalidTransactionTimeout)
			scenario.Equal(t, "producer id", resp.ProducerID, -1)
		}
		t.OK("the longest timeout", t.InitTransactions(v, txnID, int32(limit)).ErrorCode)
	})
}

func unknownTransactionalID(t *scenario.T) {
	topic := t.Topic(1)
	id, epoch := t.ProducerID()
	p := &scenario.Transactor{T: t, TxnID: t.TransactionalID(), ID: id, Epoch: epoch}
	t.Each(kmsg.AddPartitionsToTxn, 0, 3, func(v int16) {
		var code int16
		t.Until("an answer of the coordinator", func() bool {
			resp := scenario.Ask[*kmsg.AddPartitionsToTxnResponse](t, v, p.EnterRequest(topic, 0))
			code = scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions).ErrorCode
			return !scenario.CoordinatorBusy(code)
		})
		t.Code("AddPartitionsToTxn", code, kerr.InvalidProducerIDMapping)
	})
	t.Each(kmsg.EndTxn, 0, 5, func(v int16) {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.TxnID, id, epoch, true
		t.Code("EndTxn", scenario.Ask[*kmsg.EndTxnResponse](t, v, req).ErrorCode, kerr.InvalidProducerIDMapping)
	})
}

// fencedCode is what a fenced producer is told by a version of an API that tells
// producers so from since on.
func fencedCode(version, since int16) int16 {
	if version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return kerr.ProducerFenced.Code
}

func initAnswers(t *scenario.T) {
	t.Each(kmsg.InitProducerID, 0, 5, func(v int16) {
		initialize := func(what string, id *string, producer int64, epoch int16, want kmsg.InitProducerIDResponse) *kmsg.InitProducerIDResponse {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = id, 60000, producer, epoch
			got := scenario.Calm(t, v, req, func(r *kmsg.InitProducerIDResponse) []int16 { return []int16{r.ErrorCode} })
			if want.ErrorCode == 0 && want.ProducerID == 0 {
				if got.ProducerID < 0 {
					t.Fatalf("%s: producer id %d", what, got.ProducerID)
				}
				want.ProducerID = got.ProducerID
			}
			scenario.Whole(t, what, got, &want)
			return got
		}
		refused := func(code int16) kmsg.InitProducerIDResponse {
			return kmsg.InitProducerIDResponse{ErrorCode: code, ProducerID: -1, ProducerEpoch: -1}
		}
		plainID := initialize("no transactional id", nil, -1, -1, kmsg.InitProducerIDResponse{}).ProducerID
		scenario.Equal(t, "another producer has another id", initialize("again", nil, -1, -1, kmsg.InitProducerIDResponse{}).ProducerID != plainID, true)
		initialize("an empty transactional id", new(""), -1, -1, refused(kerr.InvalidRequest.Code))
		txnID := t.TransactionalID()
		first := initialize("a new transactional id", &txnID, -1, -1, kmsg.InitProducerIDResponse{})
		id := first.ProducerID
		initialize("the same again", &txnID, -1, -1, kmsg.InitProducerIDResponse{ProducerID: id, ProducerEpoch: 1})
		if v < 3 {
			return
		}
		for _, name := range []*string{nil, &txnID} {
			initialize("an id without an epoch", name, id, -1, refused(kerr.InvalidRequest.Code))
			initialize("an epoch without an id", name, -1, 1, refused(kerr.InvalidRequest.Code))
		}
		initialize("who it was", &txnID, id, 1, kmsg.InitProducerIDResponse{ProducerID: id, ProducerEpoch: 2})
		initialize("who it was, repeated", &txnID, id, 1, kmsg.InitProducerIDResponse{ProducerID: id, ProducerEpoch: 2})
		initialize("who it was before that", &txnID, id, 0, refused(fencedCode(v, 4)))
		initialize("who it will be", &txnID, id, 3, refused(fencedCode(v, 4)))
		initialize("somebody else", &txnID, plainID, 2, refused(fencedCode(v, 4)))
	})
}
