package logstore

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/moldau-broker/moldau/logstore/compact"
)

// Config sets the limits of one log. The zero value of a field means its default,
// except for the flags.
type Config struct {
	// SegmentBytes is the size at which a segment is closed and the next one begun.
	// Default 1 GiB, at most 2^31-1. Kafka's segment.bytes.
	SegmentBytes int64
	// SegmentAge is how far the timestamps in a segment may lie apart before the next
	// one is begun. Default 7 days. Kafka's segment.ms.
	SegmentAge time.Duration
	// SegmentJitter is how much SegmentAge is shortened, at random per segment, so that
	// many logs do not roll at once. Default 0. Kafka's segment.jitter.ms.
	SegmentJitter time.Duration
	// SegmentIndexBytes bounds the indexes of a segment: a full one closes it. Default
	// 10 MiB. Kafka's segment.index.bytes.
	SegmentIndexBytes int64
	// IndexIntervalBytes is how many bytes of batches lie between two index entries.
	// Default 4096. Kafka's index.interval.bytes.
	IndexIntervalBytes int64

	// RetentionBytes is the size that the log keeps at least. Default and negative: no
	// limit. Kafka's retention.bytes.
	RetentionBytes int64
	// RetentionAge is how long a segment is kept after its newest record's timestamp.
	// Default 7 days; negative keeps for ever. Kafka's retention.ms.
	RetentionAge time.Duration
	// Delete and Compact are Kafka's cleanup.policy. With neither, only segments below
	// the log start go.
	Delete, Compact bool

	// MinCleanableRatio is how much of a compacted log must be new for a round of
	// compaction: more than this share, from 0 to 1. Default 0.5; negative for Kafka's 0.
	// Kafka's min.cleanable.dirty.ratio.
	MinCleanableRatio float64
	// MinCompactionLag is how old the newest record of a segment must be to be compacted.
	// Kafka's min.compaction.lag.ms.
	MinCompactionLag time.Duration
	// MaxCompactionLag is after how long a record is compacted whatever the ratio, as long
	// as it is not in the newest segment, which is closed when it is that old. Default:
	// never. Kafka's max.compaction.lag.ms.
	MaxCompactionLag time.Duration
	// DeleteRetention is how long a tombstone, or the marker of a transaction of which
	// nothing is left, stays after it was compacted for the first time. Default 24 hours.
	// Kafka's delete.retention.ms.
	DeleteRetention time.Duration

	// FlushMessages is after how many records Appended.FlushDue asks for a Flush.
	// Default: never. Kafka's flush.messages.
	FlushMessages int64
	// FlushInterval is after how long Store.Maintain flushes by itself. Default: never.
	// Kafka's flush.ms.
	FlushInterval time.Duration

	// FileDeleteDelay is how long a removed file stays, renamed, on disk. Default one
	// minute. Kafka's file.delete.delay.ms.
	FileDeleteDelay time.Duration
	// ProducerIDExpiry is how long an idle producer is remembered. Default one day.
	// Kafka's producer.id.expiration.ms.
	ProducerIDExpiry time.Duration
	// Preallocate reserves SegmentBytes on disk as a segment is begun. Kafka's
	// preallocate.
	Preallocate bool
}

// withDefaults returns c with every zero field set to its default.
func (c Config) withDefaults() Config {
	c.SegmentBytes = or(c.SegmentBytes, 1<<30)
	c.SegmentAge = or(c.SegmentAge, 7*24*time.Hour)
	c.SegmentIndexBytes = or(c.SegmentIndexBytes, 10<<20)
	c.IndexIntervalBytes = or(c.IndexIntervalBytes, 4096)
	c.RetentionBytes = or(c.RetentionBytes, -1)
	c.RetentionAge = or(c.RetentionAge, 7*24*time.Hour)
	c.MinCleanableRatio = or(c.MinCleanableRatio, 0.5)
	c.DeleteRetention = or(c.DeleteRetention, 24*time.Hour)
	c.FlushMessages = or(c.FlushMessages, math.MaxInt64)
	c.FileDeleteDelay = or(c.FileDeleteDelay, time.Minute)
	c.ProducerIDExpiry = or(c.ProducerIDExpiry, 24*time.Hour)
	return c
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// cleanRules are the settings that say when the log is compacted.
func (c *Config) cleanRules() compact.Rules {
	return compact.Rules{MinRatio: max(c.MinCleanableRatio, 0), MinLag: c.MinCompactionLag, MaxLag: c.MaxCompactionLag}
}

// rollAge is how far the timestamps in a segment may lie apart. A compacted log closes
// its segments so that what is in them can be compacted in time.
func (c *Config) rollAge() time.Duration {
	if c.Compact && c.MaxCompactionLag > 0 {
		return min(c.SegmentAge, c.MaxCompactionLag)
	}
	return c.SegmentAge
}

// Validate reports every field that is out of range, not just the first.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	between := func(name string, v, lo, hi int64) {
		if v < lo || v > hi {
			errs = append(errs, fmt.Errorf("%s is %d, want %d to %d", name, v, lo, hi))
		}
	}
	between("segment.bytes", c.SegmentBytes, 14, math.MaxInt32)
	between("segment.index.bytes", c.SegmentIndexBytes, 4, math.MaxInt32)
	between("index.interval.bytes", c.IndexIntervalBytes, 0, math.MaxInt32)
	between("segment.ms", c.SegmentAge.Milliseconds(), 1, math.MaxInt64)
	between("segment.jitter.ms", c.SegmentJitter.Milliseconds(), 0, math.MaxInt64)
	between("flush.messages", c.FlushMessages, 1, math.MaxInt64)
	between("flush.ms", c.FlushInterval.Milliseconds(), 0, math.MaxInt64)
	between("file.delete.delay.ms", c.FileDeleteDelay.Milliseconds(), 0, math.MaxInt64)
	return errors.Join(errs...)
}
