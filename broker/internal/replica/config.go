package replica

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
	"github.com/moldau-broker/moldau/protocol/config"
)

// TopicConfig is what a topic's settings mean for its partitions.
type TopicConfig struct {
	// Log are the settings of the log: segments, retention, flush.
	Log logstore.Config
	// MinISR is min.insync.replicas; 0 means 1.
	MinISR int
	// Rules are what a produced batch must keep to. NowMs and AllowZstd are set
	// for each request.
	Rules batch.Rules
}

// flushedOnly reports whether only what is on stable storage counts.
func (c *TopicConfig) flushedOnly() bool { return c.Log.FlushMessages == 1 }

// ConfigOf reads a topic's settings, resolved with the broker's defaults.
func ConfigOf(v config.Values) TopicConfig {
	policy := config.SplitList(v(config.CleanupPolicy))
	has := func(want string) bool { return slices.Contains(policy, want) }
	c := TopicConfig{
		MinISR: int(v.Int(config.MinInsyncReplicas)),
		Log: logstore.Config{
			SegmentBytes:       v.Int(config.SegmentBytes),
			SegmentAge:         v.Millis(config.SegmentMs),
			SegmentJitter:      v.Millis(config.SegmentJitterMs),
			SegmentIndexBytes:  v.Int(config.SegmentIndexBytes),
			IndexIntervalBytes: atLeastOne(v.Int(config.IndexIntervalBytes)),
			RetentionBytes:     atLeastOne(v.Int(config.RetentionBytes)),
			RetentionAge:       atLeastOne(v.Millis(config.RetentionMs)),
			Delete:             has("delete"),
			Compact:            has("compact"),
			MinCleanableRatio:  ratio(v.Float(config.MinCleanableDirtyRatio)),
			MinCompactionLag:   v.Millis(config.MinCompactionLagMs),
			DeleteRetention:    atLeastOne(v.Millis(config.DeleteRetentionMs)),
			FlushMessages:      v.Int(config.FlushMessages),
			FileDeleteDelay:    atLeastOne(v.Millis(config.FileDeleteDelayMs)),
			Preallocate:        v.Bool(config.Preallocate),
		},
		Rules: batch.Rules{
			LogAppendTime: v(config.MessageTimestampType) == "LogAppendTime",
			BeforeMaxMs:   v.Int(config.MessageTimestampBeforeMs),
			AfterMaxMs:    v.Int(config.MessageTimestampAfterMs),
			Compacted:     has("compact"),
			MaxBytes:      int(v.Int(config.MaxMessageBytes)),

			MaxDecompressedBytes: v.Int(config.MaxDecompressedBytes),
		},
	}
	if d := v.Millis(config.FlushMs); d < math.MaxInt64 {
		c.Log.FlushInterval = atLeastOne(d)
	}
	if d := v.Millis(config.MaxCompactionLagMs); d < math.MaxInt64 {
		c.Log.MaxCompactionLag = d
	}
	c.Rules.Recompress, c.Rules.Codec, c.Rules.Level = compression(v)
	return c
}

// atLeastOne keeps a setting of zero from meaning the default. What is one byte
// or one nanosecond longer than nothing is nothing.
func atLeastOne[T ~int64](n T) T {
	if n == 0 {
		return 1
	}
	return n
}

// ratio keeps a setting of zero from meaning the default.
func ratio(r float64) float64 {
	if r == 0 {
		return -1
	}
	return r
}

// compression reads what batches are stored as, if not as they come.
func compression(v config.Values) (recompress bool, c codec.Codec, level int) {
	name := v(config.CompressionType)
	switch strings.ToLower(name) {
	case "producer":
		return false, codec.None, codec.DefaultLevel
	case "uncompressed":
		return true, codec.None, codec.DefaultLevel
	}
	c, ok := codec.Parse(name)
	if !ok {
		panic("BUG: compression.type was accepted with the value " + name)
	}
	switch c {
	case codec.Gzip:
		level = int(v.Int(config.CompressionGzipLevel))
	case codec.LZ4:
		level = int(v.Int(config.CompressionLZ4Level))
	case codec.Zstd:
		level = int(v.Int(config.CompressionZstdLevel))
	}
	if level == -1 && c == codec.Gzip {
		level = codec.DefaultLevel
	}
	return true, c, level
}

// Timing are the broker's settings for replication.
type Timing struct {
	// LagTime is Kafka's replica.lag.time.max.ms; 0 means 30 s.
	LagTime time.Duration
	// Backoff is Kafka's replica.fetch.backoff.ms; 0 means 1 s.
	Backoff time.Duration
}

func (t Timing) withDefaults() Timing {
	if t.LagTime == 0 {
		t.LagTime = 30 * time.Second
	}
	if t.Backoff == 0 {
		t.Backoff = time.Second
	}
	return t
}
