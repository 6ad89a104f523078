package scenario

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Transactor is a transactional producer that speaks one of the two protocols.
type Transactor struct {
	T       *T
	Modern  bool
	TxnID   string
	ID      int64
	Epoch   int16
	Next    map[int32]int32 // The next sequence of each partition.
	Entered map[string]bool // What the open transaction has been told of.
}

// ByBoth plays a scenario with each protocol that the broker speaks.
func ByBoth(run func(p *Transactor)) func(t *T) {
	return func(t *T) {
		for _, modern := range []bool{false, true} {
			t.Part("partitions added by the producer")
			if modern {
				t.Part("partitions added by their leaders")
				if !t.Has(kmsg.EndTxn, 5) || !t.Has(kmsg.Produce, 12) {
					continue
				}
			}
			p := &Transactor{T: t, Modern: modern, TxnID: t.TransactionalID()}
			p.Init()
			run(p)
		}
		t.Part("")
	}
}

// CoordinatorBusy are the codes of a coordinator that asks to be asked again: one that was
// just made, and one that still ends the transaction before.
func CoordinatorBusy(code int16) bool {
	return slices.Contains([]int16{kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code, kerr.ConcurrentTransactions.Code}, code)
}

// TransactionalID names a transactional id whose coordinator answers.
func (t *T) TransactionalID() string {
	id := t.Name("txn")
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKey = 1, id
	version := t.Newest(kmsg.FindCoordinator, 3)
	t.Until("a coordinator of "+id, func() bool {
		resp := Ask[*kmsg.FindCoordinatorResponse](t, version, req)
		if resp.ErrorCode == kerr.CoordinatorNotAvailable.Code {
			return false
		}
		t.OK("FindCoordinator", resp.ErrorCode)
		return true
	})
	return id
}

// InitTransactions initializes a transactional id, once its coordinator serves it.
func (t *T) InitTransactions(version int16, txnID string, timeoutMs int32) *kmsg.InitProducerIDResponse {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &txnID, timeoutMs
	req.ProducerID, req.ProducerEpoch = -1, -1
	var resp *kmsg.InitProducerIDResponse
	t.Until("an answer of the coordinator", func() bool {
		resp = Ask[*kmsg.InitProducerIDResponse](t, version, req)
		return !CoordinatorBusy(resp.ErrorCode)
	})
	return resp
}

// Init initializes the transactional id, which begins anew.
func (p *Transactor) Init() {
	resp := p.T.InitTransactions(p.T.Newest(kmsg.InitProducerID, 4), p.TxnID, 60000)
	p.T.OK("InitProducerId", resp.ErrorCode)
	p.ID, p.Epoch = resp.ProducerID, resp.ProducerEpoch
	p.Next, p.Entered = map[int32]int32{}, map[string]bool{}
}

// Enter adds a topic's partitions to the transaction, as producers of the older
// protocol do.
func (p *Transactor) Enter(topic string, partitions ...int32) {
	if p.Modern || p.Entered[topic] {
		return
	}
	p.Entered[topic] = true
	version := p.T.Newest(kmsg.AddPartitionsToTxn, 3)
	p.T.Until("adding "+topic, func() bool {
		resp := Ask[*kmsg.AddPartitionsToTxnResponse](p.T, version, p.EnterRequest(topic, partitions...))
		for _, rp := range One(p.T, "topics", resp.Topics).Partitions {
			if CoordinatorBusy(rp.ErrorCode) {
				return false
			}
			p.T.OK("add "+topic, rp.ErrorCode)
		}
		return true
	})
}

// EnterRequest is an AddPartitionsToTxn of one topic.
func (p *Transactor) EnterRequest(topic string, partitions ...int32) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.TxnID, p.ID, p.Epoch
	rt := kmsg.NewAddPartitionsToTxnRequestTopic()
	rt.Topic, rt.Partitions = topic, partitions
	req.Topics = append(req.Topics, rt)
	return req
}

// Batch is the next one of a partition.
func (p *Transactor) Batch(partition int32, n int) Batch {
	b := NumberedBatch(p.ID, p.Epoch, p.Next[partition], n)
	b.Attrs |= AttrTransactional
	return b
}

func (p *Transactor) version() int16 {
	if p.Modern {
		return 12
	}
	return p.T.Newest(kmsg.Produce, 9)
}

// Write produces one batch to each partition of a topic, within the transaction.
func (p *Transactor) Write(topic string, n int, partitions ...int32) {
	p.Enter(topic, partitions...)
	var portions []Portion
	for _, i := range partitions {
		portions = append(portions, Portion{i, p.Batch(i, n).Bytes()})
	}
	req := p.T.ProduceRequest(p.version(), -1, topic, portions...)
	req.TransactionID = &p.TxnID
	p.T.Until("producing to "+topic, func() bool {
		resp := Ask[*kmsg.ProduceResponse](p.T, p.version(), req)
		for _, rp := range One(p.T, "topics", resp.Topics).Partitions {
			if CoordinatorBusy(rp.ErrorCode) { // The transaction before still ends.
				return false
			}
			p.T.OK("produce to "+topic, rp.ErrorCode)
		}
		return true
	})
	for _, i := range partitions {
		p.Next[i] += int32(n)
	}
}

// End ends the transaction, and waits until its partitions know.
func (p *Transactor) End(commit bool, topics ...string) {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.TxnID, p.ID, p.Epoch, commit
	version := p.T.Newest(kmsg.EndTxn, 3)
	if p.Modern {
		version = 5
	}
	var resp *kmsg.EndTxnResponse
	p.T.Until("the coordinator", func() bool {
		resp = Ask[*kmsg.EndTxnResponse](p.T, version, req)
		return !CoordinatorBusy(resp.ErrorCode)
	})
	p.T.OK("EndTxn", resp.ErrorCode)
	clear(p.Entered)
	if p.Modern {
		p.ID, p.Epoch = resp.ProducerID, resp.ProducerEpoch
		clear(p.Next) // A new epoch.
	}
	for _, topic := range topics {
		p.T.Until("the end of the transaction in "+topic, func() bool {
			got := p.T.Fetch(11, topic, 0)
			return got.LastStableOffset == got.HighWatermark
		})
	}
}

// FetchCommitted reads partition 0 as a reader of what is committed.
func (t *T) FetchCommitted(topic string, offset int64) kmsg.FetchResponseTopicPartition {
	req := t.FetchRequest(11, topic, Fetching{Offset: offset})
	req.IsolationLevel = 1
	got := One(t, "partitions", One(t, "topics", Ask[*kmsg.FetchResponse](t, 11, req).Topics).Partitions)
	t.OK("fetch", got.ErrorCode)
	return got
}

// OlderTransactor is a producer that adds its partitions itself.
func (t *T) OlderTransactor() *Transactor {
	p := &Transactor{T: t, TxnID: t.TransactionalID()}
	p.Init()
	return p
}

// Calm repeats a question until its answer has no code of a coordinator that asks
// to be asked again.
func Calm[R kmsg.Response](t *T, version int16, req kmsg.Request, codes func(R) []int16) R {
	var resp R
	t.Until("an answer of the coordinator", func() bool {
		resp = Ask[R](t, version, req)
		return !slices.ContainsFunc(codes(resp), CoordinatorBusy)
	})
	return resp
}
