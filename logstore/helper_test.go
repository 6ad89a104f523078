package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

const dataDir = "/data"

// t0 is when tests begin, in the records.
var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// testID is the topic id of tests.
var testID = [16]byte{1, 2, 3}

// openStore opens the store in dataDir of fs and loads its logs, all with cfg.
func openStore(t testing.TB, fs vfs.FS, cfg Config) *Store {
	t.Helper()
	s, err := tryOpen(fs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(fs vfs.FS, cfg Config) (*Store, error) {
	s, err := Open(Options{Dir: dataDir, FS: fs, Rand: rand.New(rand.NewPCG(1, 2))})
	if err != nil {
		return nil, err
	}
	err = s.Load(context.Background(), func(string, int32, [16]byte) (Config, Keep) { return cfg, KeepLog })
	return s, err
}

// openLog is openStore and the log of t-0, made if it is not there.
func openLog(t testing.TB, fs vfs.FS, cfg Config) (*Store, *Log) {
	t.Helper()
	s := openStore(t, fs, cfg)
	l, ok := s.Log("t", 0)
	if !ok {
		var err error
		if l, err = s.Create("t", 0, testID, cfg); err != nil {
			t.Fatal(err)
		}
	}
	return s, l
}

// records makes a batch of n records with the given newest timestamp.
func records(n int, at time.Time, value string) batch.Batch {
	b := batch.NewBuilder(plainMeta)
	for i := range n {
		b.Append(at.UnixMilli()-int64(n-1-i), fmt.Appendf(nil, "k%d", i), []byte(value))
	}
	return b.Build()
}

var plainMeta = batch.Meta{ProducerID: batch.NoProducerID, ProducerEpoch: batch.NoProducerEpoch, BaseSequence: batch.NoSequence}

// produced makes a batch of an idempotent or transactional producer.
func produced(pid int64, epoch int16, seq int32, n int, txn bool, at time.Time) batch.Batch {
	b := batch.NewBuilder(batch.Meta{ProducerID: pid, ProducerEpoch: epoch, BaseSequence: seq, Transactional: txn})
	for i := range n {
		b.Append(at.UnixMilli(), nil, fmt.Appendf(nil, "%d/%d", pid, seq+int32(i)))
	}
	return b.Build()
}

// marker makes the control batch that ends a transaction.
func marker(pid int64, epoch int16, commit bool, at time.Time) batch.Batch {
	return batch.EndTxn(batch.Meta{ProducerID: pid, ProducerEpoch: epoch}, commit, 0, at.UnixMilli())
}

func mustAppend(t testing.TB, l *Log, b batch.Batch) Appended {
	t.Helper()
	o := producer.Client
	if b.Control() {
		o = producer.Coordinator
	}
	a, err := l.Append(t0, b, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drain reads the log from offset from to its end as a consumer does: by spans, whole
// batches of each, going on after the last.
func drain(t testing.TB, l *Log, from int64, maxBytes int) (all []byte) {
	t.Helper()
	for {
		span, err := l.Read(from, maxBytes, l.End(), true)
		if err != nil {
			t.Fatal(err)
		}
		if span.Len() == 0 {
			return all
		}
		buf := make([]byte, span.Len())
		if err := span.Copy(buf); err != nil {
			t.Fatal(err)
		}
		span.Release()
		for rest := buf; ; {
			b, after, err := batch.Next(rest)
			if err != nil {
				if len(rest) == len(buf) {
					t.Fatalf("first batch at %d is not whole: %v", from, err)
				}
				break
			}
			if err := b.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			if b.NextOffset() <= from {
				t.Fatalf("read at %d gave a batch that ends at %d", from, b.NextOffset())
			}
			all = append(all, b...)
			from, rest = b.NextOffset(), after
		}
	}
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(7); err != nil {
		t.Fatal(err)
	}
}
