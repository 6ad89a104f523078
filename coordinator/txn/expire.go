package txn

import (
	"log/slog"
	"maps"
	"slices"

	"github.com/moldau-broker/moldau/coordinator"
)

// sweepBytes is how much one step of a sweep writes. A batch must stay below
// max.message.bytes, 1 MiB unless somebody changed the topic, and a step holds up
// the producers of the shard.
const sweepBytes = 256 << 10

// startScanning sees to it that timeouts are looked for.
func (s *Shard) startScanning() {
	if s.flags.scanning {
		return
	}
	s.flags.scanning = true
	s.setTimer(timerKey{kind: scanTimer}, s.cfg.AbortInterval)
}

// scan aborts the transactions that have outlived their timeout.
func (s *Shard) scan() {
	for _, id := range slices.Sorted(maps.Keys(s.ongoing)) {
		e := s.get(id)
		if e.status != ongoing || !e.timedOut(s.nowMs()) {
			continue
		}
		if written(s.eff.Records) >= sweepBytes {
			s.flags.scanning = true
			s.setTimer(timerKey{kind: scanTimer}, 0) // Go on in a step of its own.
			return
		}
		if !s.fence(e) {
			s.flags.starved = true
			s.want()
			continue
		}
		s.cfg.Logger.Info("transaction outlived its timeout and is aborted", slog.String("transactional_id", id),
			slog.Int64("producer_id", e.producerID), slog.Int("epoch", int(e.epoch)), slog.Int("timeout_ms", int(e.timeoutMs)))
	}
	if len(s.ongoing) > 0 {
		s.startScanning()
	}
}

// timedOut says whether the transaction has been open for longer than it may.
func (t *transaction) timedOut(nowMs int64) bool {
	return t.timeoutMs != noTimeout && nowMs-t.startMs > int64(t.timeoutMs)
}

// expire forgets the transactional ids that nobody has used for long.
func (s *Shard) expire() {
	next := s.cfg.IDExpirationInterval
	for _, id := range s.expired() {
		if written(s.eff.Records) >= sweepBytes {
			next = 0 // Go on in a step of its own.
			break
		}
		s.staged[id] = nil
		s.eff.Records = append(s.eff.Records, coordinator.Record{Key: recordKey(id)})
	}
	s.setTimer(timerKey{kind: expireTimer}, next)
	if n := len(s.eff.Records); n > 0 {
		s.cfg.Logger.Info("transactional ids expired", slog.Int("ids", n))
	}
}

// expired lists the ids that may go, in order. One with an open or undecided
// transaction never may.
func (s *Shard) expired() []string {
	limit := s.now.Add(-s.cfg.IDExpiration).UnixMilli()
	var ids []string
	for id, e := range s.ids {
		if e.status != ongoing && !e.preparing() && e.updateMs <= limit {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// written is about how many bytes the records take.
func written(recs []coordinator.Record) (n int) {
	const overhead = 20 // Lengths and deltas, at most.
	for _, r := range recs {
		n += len(r.Key) + len(r.Value) + overhead
	}
	return n
}
