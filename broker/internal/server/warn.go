package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Broken peers come in crowds: a misconfigured client reconnects for ever.
const (
	warnBurst = 10          // Lines that may be written at once,
	warnEvery = time.Second // and then one each second.
)

// warner writes warning lines about peers, but not many. Any goroutine may use
// it.
type warner struct {
	log *slog.Logger

	mu struct {
		sync.Mutex

		spent      time.Time // When all of the burst will be there again.
		suppressed int
	}
}

func (w *warner) warn(ctx context.Context, msg string, attrs ...slog.Attr) {
	suppressed, ok := w.take(time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		attrs = append(attrs, slog.Int("suppressed", suppressed))
	}
	w.log.LogAttrs(ctx, slog.LevelWarn, msg, attrs...) //nolint:sloglint // The callers' messages are literals.
}

// take says whether a line may be written now, and how many could not be since
// the last.
func (w *warner) take(now time.Time) (suppressed int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.spent.Before(now) {
		w.mu.spent = now
	}
	if w.mu.spent.Sub(now) > (warnBurst-1)*warnEvery {
		w.mu.suppressed++
		return 0, false
	}
	w.mu.spent = w.mu.spent.Add(warnEvery)
	suppressed, w.mu.suppressed = w.mu.suppressed, 0
	return suppressed, true
}
