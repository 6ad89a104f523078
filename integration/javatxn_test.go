package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	writers            = 2
	writerTransactions = 300 // Of each writer; every fifth is aborted.
	writerRecords      = 12  // Of each transaction.
	writerPartitions   = 4
)

// TestJavaTransactionsAcrossKill: Apache's transactional producers write while the
// broker is killed and started three times, and Apache's consumer reads committed
// records all the while. It sees every committed record once and in the producer's
// order, and no other.
func TestJavaTransactionsAcrossKill(t *testing.T) {
	requireJava(t)
	b := newBroker(t)
	b.Start(t)
	createTopic(t, admin(t, b.Addr()), txnTopic, writerPartitions)

	var read valuesByPartition
	reader := startProgram(t, read.add, "Reader", b.Addr(), txnTopic, "read_committed")
	var done atomic.Int64
	var all []*program
	for w := range writers {
		all = append(all, startProgram(t, func(string) { done.Add(1) }, "Writer", b.Addr(), txnTopic,
			strconv.Itoa(writerPartitions), writerID(w), strconv.Itoa(writerTransactions), strconv.Itoa(writerRecords)))
	}
	for kill := range int64(3) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		err := until(ctx, "transactions to end", func() bool { return done.Load() >= (kill+1)*writers*writerTransactions/4 })
		cancel()
		if err != nil {
			t.Fatalf("after %d kills, %d transactions: %v", kill, done.Load(), err)
		}
		b.Kill(t)
		b.Start(t)
	}
	for _, w := range all {
		w.wait(t, 5*time.Minute)
	}
	if got := done.Load(); got != writers*writerTransactions {
		t.Errorf("%d transactions were told of, want %d", got, writers*writerTransactions)
	}
	reader.end(t)
	for p := range int32(writerPartitions) {
		for w := range writers {
			compareLists(t, fmt.Sprintf("partition %d of %s", p, writerID(w)), read.of(p, writerID(w)+"/"), committedValues(w, p))
		}
	}
	if got, want := read.len(), writers*writerTransactions*4/5*writerRecords; got != want {
		t.Errorf("%d committed records, want %d", got, want)
	}

	// What was aborted is there for who reads all, or the above has shown nothing.
	var uncommitted valuesByPartition
	startProgram(t, uncommitted.add, "Reader", b.Addr(), txnTopic, "read_uncommitted").end(t)
	if got, least := uncommitted.len(), writers*writerTransactions*writerRecords; got < least {
		t.Errorf("%d records with the aborted ones, want at least %d", got, least)
	}
	b.Stop(t)
	dumpLog(t, b.Dir())
}

func writerID(w int) string { return fmt.Sprint("writer-", w) }

// committedValues is what a writer commits to a partition, in order.
func committedValues(w int, partition int32) (values []string) {
	for i := range writerTransactions {
		for k := int(partition); i%5 != 4 && k < writerRecords; k += writerPartitions {
			values = append(values, fmt.Sprintf("%s/%d/%d", writerID(w), i, k))
		}
	}
	return values
}

// compareLists fails where two lists first differ.
func compareLists(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s: %d values, want %d; from the %dth on %q, want %q", what, len(got), len(want), at+1,
		got[at:min(at+5, len(got))], want[at:min(at+5, len(want))])
}

// valuesByPartition holds the records that a Reader told of. Any goroutine may use it.
type valuesByPartition struct {
	mu struct {
		sync.Mutex
		values map[int32][]record
		count  int
		bad    []string
	}
}

type record struct {
	offset     int64
	key, value string
}

// add takes a line of a Reader. One that is none, or not behind the line before it,
// is kept as a bad one.
func (v *valuesByPartition) add(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fields := strings.SplitN(line, "\t", 4)
	if len(fields) != 4 {
		v.mu.bad = append(v.mu.bad, line)
		return
	}
	p, err := strconv.ParseInt(fields[0], 10, 32)
	offset, err2 := strconv.ParseInt(fields[1], 10, 64)
	before := v.mu.values[int32(p)]
	if err != nil || err2 != nil || len(before) > 0 && offset <= before[len(before)-1].offset {
		v.mu.bad = append(v.mu.bad, line)
		return
	}
	if v.mu.values == nil {
		v.mu.values = map[int32][]record{}
	}
	v.mu.values[int32(p)] = append(before, record{offset, fields[2], fields[3]})
	v.mu.count++
}

// len is how many records came, the bad lines among them.
func (v *valuesByPartition) len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.count + len(v.mu.bad)
}

// of lists the values of a partition that begin with prefix, in the log's order.
func (v *valuesByPartition) of(partition int32, prefix string) (values []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.mu.values[partition] {
		if strings.HasPrefix(r.value, prefix) {
			values = append(values, r.value)
		}
	}
	return values
}

// byKey lists the values of each key, in the order of their partition, and the bad
// lines.
func (v *valuesByPartition) byKey() (values map[string][]string, bad []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	values = map[string][]string{}
	for _, records := range v.mu.values {
		for _, r := range records {
			values[r.key] = append(values[r.key], r.value)
		}
	}
	return values, v.mu.bad
}
