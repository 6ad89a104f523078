package broker

import (
	"context"

	"github.com/moldau-broker/moldau/logstore"
)

// compact compacts the logs that are to be, until ctx ends. All but
// log.cleaner.enable may be changed meanwhile.
func (r *running) compact(ctx context.Context) {
	if !r.settings.values.Bool("log.cleaner.enable") {
		return
	}
	r.store.Compact(ctx, func() logstore.CleanerConfig {
		v := layersOf(r.settings.static, r.control.image.Load(), r.meta.NodeID).BrokerValues()
		return logstore.CleanerConfig{
			MapBytes:       v.Int("log.cleaner.dedupe.buffer.size"),
			MapLoad:        v.Float("log.cleaner.io.buffer.load.factor"),
			BytesPerSecond: v.Float("log.cleaner.io.max.bytes.per.second"),
			Backoff:        v.Millis("log.cleaner.backoff.ms"),
		}
	})
}
