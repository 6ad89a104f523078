package api

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/txn"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/config"
)

// busyTxns is a coordinator that answers the first questions with codes, and then that
// all is well. It notes when it was asked, and what.
type busyTxns struct {
	obligingTxns
	began time.Time
	codes []int16
	asked []time.Duration
	adds  []txn.Add
}

func (b *busyTxns) Ask(ctx context.Context, _ string, in any) (any, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	add := in.(txn.Add)
	b.asked, b.adds = append(b.asked, time.Since(b.began)), append(b.adds, add)
	code := int16(0)
	if n := len(b.asked); n <= len(b.codes) {
		code = b.codes[n-1]
	}
	return addResults(add.AddPartitionsToTxnRequestTransaction, func(string, int32) int16 { return code }), nil
}

func settingsOf(values map[string]string) func() config.Values {
	return func() config.Values { return config.Layers{Static: values}.BrokerValues() }
}

func inTransaction(version int16) *kmsg.ProduceRequest {
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 3, 0, true
	req := produceOf(version, -1, "t", [16]byte{1, 0xee}, recordsOf(m, "x"))
	req.TransactionID = kmsg.StringPtr("id")
	return req
}

func millis(n ...int) (out []time.Duration) {
	for _, ms := range n {
		out = append(out, time.Duration(ms)*time.Millisecond)
	}
	return out
}

// TestProduceAsksAgain: while the transaction before is still ending the coordinator is
// asked again, from version 12 on, every retry.backoff.ms for retry.backoff.max.ms.
func TestProduceAsksAgain(t *testing.T) {
	busy := kerr.ConcurrentTransactions.Code
	for name, tc := range map[string]struct {
		version  int16
		settings map[string]string
		codes    []int16
		asked    []time.Duration
		want     int16
	}{
		"at once":        {12, nil, nil, millis(0), 0},
		"the third time": {12, nil, []int16{busy, busy}, millis(0, 20, 40), 0},
		"at the end":     {12, nil, []int16{busy, busy, busy, busy, busy}, millis(0, 20, 40, 60, 80, 100), 0},
		"never":          {12, nil, slices.Repeat([]int16{busy}, 9), millis(0, 20, 40, 60, 80, 100), busy},
		"never, by id":   {13, nil, slices.Repeat([]int16{busy}, 9), millis(0, 20, 40, 60, 80, 100), busy},
		"as it is set": {12, map[string]string{
			"add.partitions.to.txn.retry.backoff.ms": "7", "add.partitions.to.txn.retry.backoff.max.ms": "20",
		}, slices.Repeat([]int16{busy}, 9), millis(0, 7, 14, 21), busy},
		"not at all, as it is set": {12, map[string]string{"add.partitions.to.txn.retry.backoff.max.ms": "0"}, []int16{busy}, millis(0), busy},
		"another reason":           {12, nil, []int16{kerr.InvalidTxnState.Code}, millis(0), kerr.InvalidTxnState.Code},
		// A producer that has added its partitions itself repeats the request.
		"version 11": {11, nil, []int16{busy}, millis(0), kerr.NotEnoughReplicas.Code},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, 1)
				n.topic("t", 1, 1)
				coordinator := &busyTxns{began: time.Now(), codes: tc.codes}
				n.Transactions = coordinator
				n.Settings = settingsOf(tc.settings)
				if got := askProduce(t, n, inTransaction(tc.version)); got[0].Code != tc.want {
					t.Errorf("%+v, want %d", got[0], tc.want)
				}
				if !slices.Equal(coordinator.asked, tc.asked) {
					t.Errorf("asked after %v, want %v", coordinator.asked, tc.asked)
				}
			})
		})
	}
}

// TestProduceStopsAskingWithItsClient: who has left does not wait for a coordinator.
func TestProduceStopsAskingWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		n.Transactions = &busyTxns{began: time.Now(), codes: slices.Repeat([]int16{kerr.ConcurrentTransactions.Code}, 9)}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := n.Serve(ctx, callOf(inTransaction(12))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 50*time.Millisecond {
			t.Errorf("waited %v", took)
		}
	})
}

// TestWhatIsAskedOfTheCoordinator: leaders verify that partitions were added, or add
// them; with verification off they ask only to add; and they ask once.
func TestWhatIsAskedOfTheCoordinator(t *testing.T) {
	off := map[string]string{"transaction.partition.verification.enable": "false"}
	for name, tc := range map[string]struct {
		version  int16
		settings map[string]string
		asked    int
		verify   bool
	}{
		"verified":                {11, nil, 1, true},
		"added":                   {12, nil, 1, false},
		"with verification off":   {11, off, 0, false},
		"added, verification off": {12, off, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 1)
			n.topic("t", 1, 2)
			coordinator := &busyTxns{}
			n.Transactions, n.Settings = coordinator, settingsOf(tc.settings)
			req := inTransaction(tc.version)
			second := inTransaction(tc.version).Topics[0].Partitions[0]
			second.Partition = 1
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, second)
			if got := askProduce(t, n, req); got[0].Code != 0 || got[1].Code != 0 {
				t.Fatalf("%+v", got)
			}
			if len(coordinator.adds) != tc.asked {
				t.Fatalf("asked %d times, want %d", len(coordinator.adds), tc.asked)
			}
			if tc.asked > 0 {
				add := coordinator.adds[0]
				if add.TransactionalID != "id" || add.ProducerID != 7 || add.ProducerEpoch != 3 || add.VerifyOnly != tc.verify ||
					add.ClientVersion != 2 || len(add.Topics) != 1 || add.Topics[0].Topic != "t" || !slices.Equal(add.Topics[0].Partitions, []int32{0, 1}) {
					t.Errorf("asked %+v", add)
				}
			}
			next := inTransaction(tc.version)
			m := batch.Plain(0, -1)
			m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 3, 1, true
			next.Topics[0].Partitions[0].Records = recordsOf(m, "y")
			if got := askProduce(t, n, next); got[0].Code != 0 || got[0].Base != 1 || len(coordinator.adds) != tc.asked {
				t.Errorf("within the transaction: %+v, asked %d times", got, len(coordinator.adds))
			}
		})
	}
}

// TestProduceOfTwoEpochs: a request of several epochs of a producer is refused as one of
// several producers is.
func TestProduceOfTwoEpochs(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 2)
	coordinator := &busyTxns{}
	n.Transactions = coordinator
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 3, 0, true
	newer := m
	newer.ProducerEpoch = 4
	req := produceOf(11, -1, "t", [16]byte{}, recordsOf(m, "x"), recordsOf(newer, "y"))
	req.TransactionID = kmsg.StringPtr("id")
	for i, got := range askProduce(t, n, req) {
		if got.Code != kerr.InvalidProducerIDMapping.Code {
			t.Errorf("partition %d: %+v", i, got)
		}
	}
	if len(coordinator.adds) != 0 {
		t.Errorf("asked %+v", coordinator.adds)
	}
}

// TestProduceEntersOnlyWhatIsHere: partitions that are not this broker's, and topics that
// are nobody's to write to, do not come into a transaction.
func TestProduceEntersOnlyWhatIsHere(t *testing.T) {
	n := newNode(t, 2)
	n.topic("elsewhere", 1, 1, 2)
	n.topic(consumerOffsets, 2, 1)
	coordinator := &busyTxns{}
	n.Transactions = coordinator
	for topic, want := range map[string]*kerr.Error{
		"elsewhere": kerr.NotLeaderForPartition, consumerOffsets: kerr.InvalidTopicException, "none": kerr.UnknownTopicOrPartition,
	} {
		req := inTransaction(9)
		req.Topics[0].Topic = topic
		if got := askProduce(t, n, req); got[0].Code != want.Code {
			t.Errorf("%s: %+v, want %v", topic, got, want)
		}
	}
	if len(coordinator.adds) != 0 {
		t.Errorf("asked %+v", coordinator.adds)
	}
}

// TestTxnOffsetCommitThatDoesNotEnter: offsets are not handed to the group when its
// partition did not come into the transaction.
func TestTxnOffsetCommitThatDoesNotEnter(t *testing.T) {
	for version, tc := range map[int16]struct{ from, want *kerr.Error }{
		1: {kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable},
		3: {kerr.TransactionAbortable, kerr.InvalidTxnState},
		4: {kerr.TransactionAbortable, kerr.TransactionAbortable},
		5: {kerr.ProducerFenced, kerr.InvalidProducerEpoch},
	} {
		env := rightsNode(t)
		coordinator := &busyTxns{codes: []int16{tc.from.Code}}
		env.Transactions, env.Groups = coordinator, silentGroups{err: errors.New("the group was asked")}
		req := rowNamed(t, "TxnOffsetCommit").req().(*kmsg.TxnOffsetCommitRequest)
		req.Version, req.Topics = version, req.Topics[:1]
		req.Topics[0].Partitions = req.Topics[0].Partitions[:1]
		if got := ask(t, env, req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != tc.want.Code {
			t.Errorf("version %d: %v, want %v", version, kerr.TypedErrorForCode(got), tc.want)
		}
		if verify := coordinator.adds[0].VerifyOnly; verify != (version < 5) {
			t.Errorf("version %d verifies only: %v", version, verify)
		}
	}
	env := rightsNode(t)
	req := rowNamed(t, "TxnOffsetCommit").req().(*kmsg.TxnOffsetCommitRequest)
	req.Group = ""
	if got := ask(t, env, req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[1].ErrorCode; got != kerr.InvalidGroupID.Code {
		t.Errorf("a group without a name: %d", got)
	}
	req = rowNamed(t, "TxnOffsetCommit").req().(*kmsg.TxnOffsetCommitRequest)
	req.Topics = req.Topics[2:]
	env.Transactions = silentTxns{errors.New("the coordinator was asked")}
	for _, p := range ask(t, env, req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions {
		if p.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("nothing that is there: %+v", p)
		}
	}
}

// TestFencedOfOldVersions: producers that do not know PRODUCER_FENCED are told
// INVALID_PRODUCER_EPOCH.
func TestFencedOfOldVersions(t *testing.T) {
	for version := int16(0); version <= 3; version++ {
		want := kerr.ProducerFenced.Code
		if version < 2 {
			want = kerr.InvalidProducerEpoch.Code
		}
		env := rightsNode(t)
		env.Transactions = &busyTxns{codes: []int16{kerr.ProducerFenced.Code, kerr.ProducerFenced.Code}}
		offsets := rowNamed(t, "AddOffsetsToTxn").req()
		offsets.SetVersion(version)
		if got := ask(t, env, offsets).(*kmsg.AddOffsetsToTxnResponse).ErrorCode; got != want {
			t.Errorf("AddOffsetsToTxn version %d: %d, want %d", version, got, want)
		}
		partitions := rowNamed(t, "AddPartitionsToTxn").req()
		partitions.SetVersion(version)
		if got := ask(t, env, partitions).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode; got != want {
			t.Errorf("AddPartitionsToTxn version %d: %d, want %d", version, got, want)
		}
	}
}
