package api

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestInitProducerID(t *testing.T) {
	blocks := 0
	ids := NewProducerIDs(func(context.Context) (int64, int32, error) {
		blocks++
		if blocks == 3 {
			return 0, 0, errors.New("no controller")
		}
		return int64(blocks) * 1000, 2, nil
	})
	env := &Env{ProducerID: ids.Next, Transactions: newTxns()}
	for i, want := range []struct {
		id   int64
		code int16
	}{{1000, 0}, {1001, 0}, {2000, 0}, {2001, 0}, {-1, kerr.CoordinatorLoadInProgress.Code}, {4000, 0}} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.ProducerID, req.ProducerEpoch = int16(i), -1, -1
		got := ask(t, env, req).(*kmsg.InitProducerIDResponse)
		epoch := int16(0)
		if want.code != 0 {
			epoch = -1
		}
		if got.ErrorCode != want.code || got.ProducerID != want.id || got.ProducerEpoch != epoch {
			t.Errorf("version %d: %+v", i, got)
		}
	}
	for name, tc := range map[string]struct {
		txn  *string
		id   int64
		want int16
	}{
		"transactional": {kmsg.StringPtr("txn"), -1, kerr.InvalidTransactionTimeout.Code},
		"an empty id":   {kmsg.StringPtr(""), -1, kerr.InvalidRequest.Code},
		"id, no epoch":  {nil, 7, kerr.InvalidRequest.Code},
		"idempotent":    {nil, -1, 0},
	} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 4, tc.txn, tc.id, -1
		if got := ask(t, env, req).(*kmsg.InitProducerIDResponse); got.ErrorCode != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	env.Authorize = func(_ *Conn, _ kmsg.ACLOperation, kind kmsg.ACLResourceType, _ string) bool {
		return kind == kmsg.ACLResourceTypeGroup
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.ProducerID, req.ProducerEpoch = 4, -1, -1
	if got := ask(t, env, req).(*kmsg.InitProducerIDResponse); got.ErrorCode != kerr.ClusterAuthorizationFailed.Code {
		t.Errorf("without the right: %+v", got)
	}
}
