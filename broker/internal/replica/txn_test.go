package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestShardLogInTransactions: a coordinator's records can be a producer's, who must
// have proved that its transaction is known, and end with its marker.
func TestShardLogInTransactions(t *testing.T) {
	h := one(t)
	h.c.create()
	p := h.partition()
	log := p.ShardLog(p.View().LeaderEpoch).(coordinator.TxnLog)
	recs := []coordinator.Record{{Key: []byte("k"), Value: []byte("v")}}
	within := coordinator.Within{ProducerID: 7, Epoch: 1}
	_, err := log.AppendWithin(time.Now(), within, recs)
	if _, ok := errors.AsType[*producer.UnverifiedError](err); !ok || !refusedOnly(err) {
		t.Fatalf("without a guard: %v", err)
	}
	g, err := p.Verify(time.Now(), producer.Verification{ProducerID: 7, Epoch: 1, FirstSequence: -1, EpochBump: true})
	if err != nil {
		t.Fatal(err)
	}
	within.Guard = uint64(g)
	for range 2 { // Once it is open, any guard will do.
		if _, err := log.AppendWithin(time.Now(), within, recs); err != nil {
			t.Fatal(err)
		}
		within.Guard = 0
	}
	old := coordinator.Marker{ProducerID: 7, Epoch: 1, Commit: true, Version: 2}
	if err := log.AppendEnd(time.Now(), old); !refusedOnly(err) {
		t.Errorf("marker of version 2 with the transaction's epoch: %v", err)
	}
	if err := log.AppendEnd(time.Now(), coordinator.Marker{ProducerID: 7, Epoch: 2, Commit: true, CoordinatorEpoch: 3, Version: 2}); err != nil {
		t.Fatal(err)
	}
	var got []batch.Batch
	if err := log.Replay(t.Context(), func(b batch.Batch) error { got = append(got, b); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !got[0].Transactional() || got[0].ProducerID() != 7 || got[0].Control() || !got[2].Control() || got[2].ProducerEpoch() != 2 {
		t.Errorf("the log holds %d batches: %v", len(got), got)
	}
	if p.Producers()[0].CoordinatorEpoch != 3 {
		t.Errorf("producers: %+v", p.Producers())
	}
}

// TestCoordinatorsBatchesHaveTheTopicsTimestampType: markers and a coordinator's
// records say so where a topic stamps the time of the append, as a client's do.
func TestCoordinatorsBatchesHaveTheTopicsTimestampType(t *testing.T) {
	for _, stamps := range []bool{false, true} {
		h := one(t)
		cfg := defaults()
		cfg.Rules.LogAppendTime = stamps
		h.cfg["t"] = cfg
		h.c.create()
		p := h.partition()
		log := p.ShardLog(p.View().LeaderEpoch).(coordinator.TxnLog)
		now := time.UnixMilli(1_700_000_000_000)
		if _, err := log.Append(now, recordsOf("a", "b")); err != nil {
			t.Fatal(err)
		}
		if err := log.AppendEnd(now, coordinator.Marker{ProducerID: 7, Epoch: 1, Commit: true}); err != nil {
			t.Fatal(err)
		}
		marker := batch.EndTxn(batch.Meta{ProducerID: 7, ProducerEpoch: 1}, false, 0, now.UnixMilli())
		if _, err := p.Append(now, marker, AppendOptions{Acks: AcksAll, Origin: producer.Coordinator}); err != nil {
			t.Fatal(err)
		}
		seen := 0
		err := log.Replay(t.Context(), func(b batch.Batch) error {
			seen++
			if b.LogAppendTime() != stamps || b.BaseTimestamp() != now.UnixMilli() || b.MaxTimestamp() != now.UnixMilli() {
				t.Errorf("batch %d of a topic with LogAppendTime %v: %v, from %d to %d", seen, stamps, b.LogAppendTime(), b.BaseTimestamp(), b.MaxTimestamp())
			}
			return b.CheckCRC()
		})
		if err != nil || seen != 3 {
			t.Errorf("%d batches, %v", seen, err)
		}
	}
}

func refusedOnly(err error) bool {
	_, ok := errors.AsType[*coordinator.RefusedError](err)
	return ok
}
