package txn

import (
	"log/slog"
	"time"
)

// Config sets the limits of a shard's transactions. Begin with DefaultConfig: the
// zero value of a field means zero.
type Config struct {
	// MaxTimeout is the longest transaction that a producer may ask for. Default
	// 15 min. Kafka's transaction.max.timeout.ms.
	MaxTimeout time.Duration
	// AbortInterval is how often transactions are looked for that have outlived
	// their timeout. Default 10 s. Kafka's
	// transaction.abort.timed.out.transaction.cleanup.interval.ms.
	AbortInterval time.Duration
	// IDExpiration is how long a transactional id is remembered after its last
	// transaction. Default 7 days. Kafka's transactional.id.expiration.ms.
	IDExpiration time.Duration
	// IDExpirationInterval is how often such ids are looked for. Default 1 h. Kafka's
	// transaction.remove.expired.transaction.cleanup.interval.ms.
	IDExpirationInterval time.Duration
	// Version is the finalized transaction.version (KIP-890). It rules how records
	// are written, and how the coordinator itself ends a transaction. It is called
	// in every step that writes. Default: 2, always.
	Version func() int16
	// Logger gets what happens to transactions. Default: discarded.
	Logger *slog.Logger
}

// DefaultConfig is what Kafka does when nothing is configured.
func DefaultConfig() Config {
	return Config{
		MaxTimeout:           15 * time.Minute,
		AbortInterval:        10 * time.Second,
		IDExpiration:         7 * 24 * time.Hour,
		IDExpirationInterval: time.Hour,
		Version:              func() int16 { return epochBump },
		Logger:               slog.New(slog.DiscardHandler),
	}
}

// The levels of transaction.version (KIP-890). Below the first, records are
// written in version 0, which knows no tags.
const (
	flexibleRecords int16 = 1
	epochBump       int16 = 2
)
