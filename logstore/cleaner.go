package logstore

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"time"

	"github.com/moldau-broker/moldau/logstore/compact"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// CleanerConfig says how much compaction may take. The zero value of a field means its
// default.
type CleanerConfig struct {
	// MapBytes bounds the memory for the keys of a round: 24 bytes a key, whatever its
	// length. In the moments when the map doubles it takes half as much again. Default
	// 128 MiB. Kafka's log.cleaner.dedupe.buffer.size.
	MapBytes int64
	// MapLoad is which part of it is used. Default 0.9. Kafka's
	// log.cleaner.io.buffer.load.factor.
	MapLoad float64
	// BytesPerSecond bounds what is read and written, together. Default and infinite: no
	// limit. Kafka's log.cleaner.io.max.bytes.per.second.
	BytesPerSecond float64
	// Backoff is how long to wait when there is nothing to compact. Default 15 s, at least
	// 100 ms. Kafka's log.cleaner.backoff.ms.
	Backoff time.Duration
}

// minBackoff keeps a Backoff of nothing from taking a processor.
const minBackoff = 100 * time.Millisecond

func (c CleanerConfig) withDefaults() CleanerConfig {
	c.MapBytes = or(c.MapBytes, 128<<20)
	c.MapLoad = or(c.MapLoad, 0.9)
	c.BytesPerSecond = or(c.BytesPerSecond, math.Inf(1))
	c.Backoff = max(or(c.Backoff, 15*time.Second), minBackoff)
	return c
}

// Compact compacts the logs that are to be, one at a time and the one with the largest
// share of new records first, until ctx ends. It is run once, after Load, beside
// Maintain, and must have ended before Close. settings is asked before each look
// around, so that they can change.
//
// A log that is found damaged is left alone until the next start, and told; one whose
// disk fails is tried again.
func (s *Store) Compact(ctx context.Context, settings func() CleanerConfig) {
	for ctx.Err() == nil {
		cfg := settings().withDefaults()
		s.compactAll(ctx, cfg)
		wait := time.NewTimer(cfg.Backoff)
		select {
		case <-ctx.Done():
			wait.Stop()
		case <-wait.C:
		}
	}
}

// compactAll runs rounds until no log is due. A log that could not be compacted has its
// next turn with the next call.
func (s *Store) compactAll(ctx context.Context, cfg CleanerConfig) {
	pace := &pacer{bytesPerSecond: cfg.BytesPerSecond}
	tried := make(map[*Log]bool)
	for ctx.Err() == nil {
		l, c, ok := s.dirtiest(ctx, cfg, pace, tried)
		if ok && l.compact(c) != nil {
			tried[l] = true
		}
		if err := s.writeCleaned(); err != nil {
			s.logger.Warn("cleaner checkpoint not written, logs may be compacted again after a restart",
				slog.String("dir", s.dir), slog.Any("err", err))
		}
		if !ok {
			return
		}
	}
}

// round is a round that is due.
type round struct {
	cleaning
	plan compact.Plan
	list []compact.Segment
}

// dirtiest finds the log whose round is due and has the largest share of new records.
func (s *Store) dirtiest(ctx context.Context, cfg CleanerConfig, pace *pacer, except map[*Log]bool) (*Log, *round, bool) {
	var best *Log
	var bestRound *round
	now, ratio, damaged := s.now(), 0.0, 0
	for _, l := range s.Logs() {
		logConfig := l.config.Load()
		if l.damaged.Load() {
			damaged++
			continue
		}
		if !logConfig.Compact || !l.onDisk.Load() || l.closed.Load() || l.Err() != nil || except[l] {
			continue
		}
		st := l.state.Load()
		p, list, err := l.planClean(now, st)
		if err != nil {
			except[l] = true
			if !errors.Is(err, fs.ErrNotExist) || l.state.Load() == st { // Else retention took it.
				l.logger.Warn("log cannot be compacted", slog.String("dir", l.Dir()), slog.Any("err", err))
			}
			continue
		}
		ratio = max(ratio, p.Ratio())
		if !p.Due(logConfig.cleanRules()) || best != nil && p.Ratio() <= bestRound.plan.Ratio() {
			continue
		}
		c := cleaning{ctx: ctx, log: l, now: now, st: st, cfg: logConfig, opt: cfg, pace: pace}
		best, bestRound = l, &round{c, p, list}
	}
	s.metrics.looked(ratio, damaged)
	return best, bestRound, best != nil
}

// compact runs one round.
func (l *Log) compact(r *round) error {
	began := l.store.now()
	stats, end, err := r.run(r.plan, r.list)
	l.store.metrics.compacted(stats, l.store.now().Sub(began))
	_, corrupt := errors.AsType[*CorruptError](err)
	if _, inside := errors.AsType[*batch.CorruptError](err); inside {
		corrupt = true
	}
	switch {
	case err == nil:
		l.raiseCleaned(end, r.st.cuts)
		l.logger.Info("log compacted", slog.String("dir", l.Dir()), slog.Int64("from", r.plan.From), slog.Int64("to", end),
			slog.Int64("records", stats.Records), slog.Int64("records_kept", stats.RecordsKept),
			slog.Int64("bytes", stats.Bytes), slog.Int64("bytes_kept", stats.BytesKept),
			slog.Int64("took_ms", l.store.now().Sub(began).Milliseconds()))
	case errors.Is(err, errCleaningStopped), r.stopped() != nil:
		l.logger.Info("compaction stopped before its end", slog.String("dir", l.Dir()))
	case corrupt:
		l.damaged.Store(true)
		l.logger.Error("log is damaged and is not compacted until the broker starts again",
			slog.String("dir", l.Dir()), slog.Any("err", err))
	default:
		l.logger.Warn("log could not be compacted, it is tried again", slog.String("dir", l.Dir()), slog.Any("err", err))
	}
	return err
}

// raiseCleaned says that the log is compacted up to offset, unless it was cut meanwhile.
func (l *Log) raiseCleaned(offset, cuts int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Load().cuts == cuts {
		l.cleaned.Store(offset)
	}
}

// lowerCleaned says that what lies at or above offset was not compacted.
func (l *Log) lowerCleaned(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cleaned.Store(min(l.cleaned.Load(), offset))
}

// pacer keeps compaction to a number of bytes a second.
type pacer struct {
	bytesPerSecond float64
	since          time.Time
	spent          float64 // Bytes since then.
}

// Debts are paid when they are worth a nap, and an idle while gives no credit beyond
// the window.
const (
	pacerNap    = 50 * time.Millisecond
	pacerWindow = 300 * time.Millisecond
)

// spend counts bytes, and waits if there were too many of late. It returns an error
// when ctx ends.
func (p *pacer) spend(ctx context.Context, bytes int) error {
	if math.IsInf(p.bytesPerSecond, 1) || p.bytesPerSecond == math.MaxFloat64 {
		return nil
	}
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	p.spent += float64(bytes)
	due := time.Duration(p.spent / p.bytesPerSecond * float64(time.Second))
	nap := due - now.Sub(p.since)
	if nap < -pacerWindow {
		p.since, p.spent = now, 0
	}
	if nap < pacerNap {
		return nil
	}
	t := time.NewTimer(nap)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return errCleaningStopped
	case <-t.C:
		return nil
	}
}
