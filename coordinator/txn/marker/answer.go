package marker

import (
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fate is what an error code means for a marker.
type fate int8

const (
	done  fate = iota // It is written, or need not be.
	again             // It may succeed later, here or elsewhere.
	never             // Another coordinator, or a later producer, has the partition.
)

// fateOf tells the codes apart as Kafka does. An unknown one must not lose a marker.
func fateOf(code int16) fate {
	switch code {
	case 0,
		// The partition cannot hold transactions, so there was none.
		kerr.UnsupportedForMessageFormat.Code, kerr.UnsupportedVersion.Code:
		return done
	case kerr.InvalidProducerEpoch.Code, kerr.TransactionCoordinatorFenced.Code:
		return never
	}
	return again
}

// marked is a marker in an answer, which goes by producer ids.
type marked struct {
	producerID int64
	partition
}

// answered takes what became of a request's markers. What the answer does not speak
// of is tried again: a marker may be written twice, and must be written once.
func (s *Sender) answered(now time.Time, a Answered) {
	f := s.flights[a.Request]
	if f == nil {
		return
	}
	delete(s.flights, a.Request)
	s.brokers[f.broker].inFlight--
	codes := codesOf(a.Response)
	for _, it := range f.items {
		if s.alive(it.job) {
			s.judge(now, f.broker, it, codes)
		}
	}
}

// judge deals with the codes of one item.
func (s *Sender) judge(now time.Time, broker int32, it item, codes map[marked]int16) {
	m := &it.job.Markers
	var retry []partition
	for _, p := range it.partitions {
		code, ok := codes[marked{m.ProducerID, p}]
		switch {
		case !ok, fateOf(code) == again:
			retry = append(retry, p)
		case fateOf(code) == done:
			delete(it.job.left, p)
		default:
			// Only a later coordinator may complete this transaction.
			s.cfg.Logger.Warn("marker was turned away for good; the transaction stays undecided until its coordinator moves",
				slog.String("topic", p.topic), slog.Int("partition", int(p.n)), slog.Int("broker", int(broker)),
				slog.String("transactional_id", m.TransactionalID), slog.Int64("producer_id", m.ProducerID),
				slog.Int("epoch", int(m.Epoch)), slog.String("err", kerr.TypedErrorForCode(code).Message))
			delete(s.jobs, jobKey{it.job.Partition, m.TransactionalID})
			return
		}
	}
	if len(retry) > 0 {
		s.later = append(s.later, delayed{now.Add(s.cfg.Retry), item{it.job, retry}})
	}
	s.finish(it.job)
}

func codesOf(resp *kmsg.WriteTxnMarkersResponse) map[marked]int16 {
	if resp == nil {
		return nil
	}
	codes := make(map[marked]int16)
	for _, m := range resp.Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				codes[marked{m.ProducerID, partition{t.Topic, p.Partition}}] = p.ErrorCode
			}
		}
	}
	return codes
}
