package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// compactionBytes is the bound of anonymous memory while a log is compacted: Kafka's
// default of log.cleaner.dedupe.buffer.size, 128 MiB, half as much again while the
// table of keys grows, and the 64 MiB that the rest of the broker is held to.
const compactionBytes = 256 << 20

// compaction is a restart with a log of n keys, each written twice, whose topic has
// just been made one to compact: it is done when the cleaner's checkpoint says so. A
// broker that starts begins to compact at once, and its memory is of nothing else.
func compaction(n int64) restart {
	return restart{
		name: fmt.Sprintf("compaction of %s keys", millions(n)), done: "compacted", count: n, units: "keys",
		want:  restartTarget{anonBytes: compactionBytes},
		limit: compactionLimit,
		fill:  func(ctx context.Context, p *peer) (contents, error) { return fillKeys(ctx, p, n) },
		takes: func(name string) time.Duration {
			if name == nameApache {
				return startTakes(name) + rate(float64(n), 60_000)
			}
			return startTakes(name) + rate(float64(n), 100_000)
		},
	}
}

// compactionLimit is how long each step may take: ten million keys are more than a
// table of the default size holds, so the log is gone over several times.
const compactionLimit = 20 * time.Minute

// millions prints a count as people say it.
func millions(n int64) string {
	if n < 100_000 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + " M"
}

// keyed is a topic of one partition with every key twice.
type keyed struct {
	topic string
	keys  int64
	end   int64 // Of what is to be compacted: the base of the open segment.
}

func fillKeys(ctx context.Context, p *peer, n int64) (contents, error) {
	t := p.target()
	if err := setBackoff(ctx, t, kadm.SetConfig); err != nil {
		return contents{}, err
	}
	topic, remove, err := t.topic(ctx)
	if err != nil {
		return contents{}, err
	}
	k := &keyed{topic: topic, keys: n}
	given := contents{await: k.await, check: k.check, remove: func(ctx context.Context) {
		_ = setBackoff(ctx, t, kadm.DeleteConfig) // Costs a look around at worst.
		remove()
	}}
	if err := k.produce(ctx, t); err != nil {
		return given, err
	}
	return given, k.roll(ctx, p)
}

// setBackoff has the cleaner look around often, or as always: a broker that looks
// before it knows its topics would wait for 15 s.
func setBackoff(ctx context.Context, t Target, op kadm.IncrementalOp) error {
	cl, err := t.client()
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	often := "100"
	answers, err := kadm.NewClient(cl).AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: op, Name: "log.cleaner.backoff.ms", Value: &often}})
	for _, answer := range answers {
		err = errors.Join(err, answer.Err)
	}
	if err != nil {
		return fmt.Errorf("log.cleaner.backoff.ms: %w", err)
	}
	return nil
}

// keyBytes and versionBytes are the sizes of a key and of a value.
const (
	keyBytes     = 16
	versionBytes = 40
)

// keyOf is the key with a number; its second half spares the check a parse.
func keyOf(i int64) []byte {
	return binary.BigEndian.AppendUint64(fmt.Appendf(make([]byte, 0, keyBytes), "key-%04d", i%10_000), uint64(i))
}

// shuffled is a permutation of the numbers below n: keys come in no order.
func shuffled(i, n int64) int64 {
	const prime = 2_147_483_647
	if n%prime == 0 {
		return i
	}
	return i * prime % n
}

// produce writes all keys once, and once more in another order.
func (k *keyed) produce(ctx context.Context, t Target) error {
	load := ProduceLoad{RecordBytes: versionBytes, Acks: -1, Count: 2 * k.keys}
	opts, err := load.options(k.topic)
	if err != nil {
		return err
	}
	cl, err := t.client(opts...)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	taken := func(_ *kgo.Record, err error) {
		if err != nil {
			cancel(fmt.Errorf("a record was not taken: %w", err))
		}
	}
	texts := payloads(versionBytes-1, 1)
	var values [2][][]byte
	for version := range values {
		for _, text := range texts {
			values[version] = append(values[version], append([]byte{byte(version)}, text...))
		}
	}
	for i := int64(0); i < 2*k.keys && ctx.Err() == nil; i++ {
		key, version := shuffled(i, k.keys), i/k.keys
		if version == 1 {
			key = shuffled(2*k.keys-1-i, k.keys)
		}
		cl.Produce(ctx, &kgo.Record{Key: keyOf(key), Value: values[version][i%int64(len(texts))]}, taken)
	}
	if err := cl.Flush(ctx); err != nil && context.Cause(ctx) == nil {
		return err
	}
	return context.Cause(ctx)
}

// roll has the topic compacted from now on, and closes the segment that all keys are
// in or end in: the open one is not compacted.
func (k *keyed) roll(ctx context.Context, p *peer) error {
	cl, err := p.target().client(kgo.DefaultProduceTopic(k.topic))
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	value := func(s string) *string { return &s }
	answers, err := kadm.NewClient(cl).AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "cleanup.policy", Value: value("compact")},
		{Op: kadm.SetConfig, Name: "min.cleanable.dirty.ratio", Value: value("0.01")},
		{Op: kadm.SetConfig, Name: "segment.ms", Value: value("1")},
	}, k.topic)
	for _, answer := range answers {
		err = errors.Join(err, answer.Err)
	}
	if err != nil {
		return fmt.Errorf("the settings of %s: %w", k.topic, err)
	}
	// The broker learns of the settings some time after they were accepted.
	for k.end < 2*k.keys {
		if err := cl.ProduceSync(ctx, &kgo.Record{Key: []byte("roll"), Value: []byte("roll")}).FirstErr(); err != nil {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if k.end, err = lastSegment(filepath.Join(p.data, k.topic+"-0")); err != nil {
			return err
		}
	}
	return nil
}

// lastSegment is the base offset of the newest segment in the directory of a log.
func lastSegment(dir string) (int64, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(paths) == 0 {
		return 0, errors.Join(fmt.Errorf("%s has no segments", dir), err)
	}
	return strconv.ParseInt(strings.TrimSuffix(filepath.Base(slices.Max(paths)), ".log"), 10, 64)
}

// await looks at the cleaner's checkpoint until it has got to the end.
func (k *keyed) await(ctx context.Context, p *peer) error {
	return askUntil(ctx, func() error {
		cleaned, err := cleanedTo(filepath.Join(p.data, "cleaner-offset-checkpoint"), k.topic)
		if err == nil && cleaned < k.end {
			err = fmt.Errorf("compacted up to offset %d of %d", cleaned, k.end)
		}
		return err
	})
}

// cleanedTo is what a checkpoint says of partition 0 of a topic, 0 if nothing.
func cleanedTo(path, topic string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // Only read.
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), topic+" 0 "); ok {
			return strconv.ParseInt(rest, 10, 64)
		}
	}
	return 0, lines.Err()
}

// check reads what is left: every key once, as it was last written.
func (k *keyed) check(ctx context.Context, p *peer) error {
	cl, err := p.target().client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{k.topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	seen, n := make([]bool, k.keys), int64(0)
	for ended := false; !ended; {
		polled := cl.PollFetches(ctx)
		if err := polled.Err(); err != nil {
			return err
		}
		var wrong error
		polled.EachRecord(func(rec *kgo.Record) {
			// One is in the open segment, and compaction leaves it alone.
			ended = ended || rec.Offset >= k.end
			if ended || len(rec.Key) != keyBytes {
				return
			}
			key := int64(binary.BigEndian.Uint64(rec.Key[keyBytes-8:]))
			if key < 0 || key >= k.keys || seen[key] || rec.Value[0] != 1 {
				wrong = fmt.Errorf("offset %d holds key %d, version %d, after compaction", rec.Offset, key, rec.Value[0])
				return
			}
			seen[key] = true
			n++
		})
		if wrong != nil {
			return wrong
		}
	}
	if n != k.keys {
		return fmt.Errorf("%d of %d keys are left after compaction", n, k.keys)
	}
	return nil
}
