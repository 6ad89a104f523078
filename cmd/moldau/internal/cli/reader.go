package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reader prints the records of a topic, up to where each partition ended when it
// began, or for ever.
type reader struct {
	topic     string
	layout    []piece
	committed bool // Only what is committed is wanted.
	out       *bufio.Writer
	max       int64
	seen      int64
	last      map[int32]*kgo.Record // Read last, by partition.
	ends      map[int32]int64       // Where to stop; nil reads for ever.

	// mu guards what the client's callbacks tell of the group.
	mu struct {
		sync.Mutex

		// settled says that it is known which partitions are this reader's, and where
		// it begins in each.
		settled bool
		// next is the offset to be read next in each partition whose end is not reached.
		next map[int32]int64
	}
}

func newReader(topic string, layout []piece, f consumeFlags, out io.Writer) *reader {
	return &reader{
		topic: topic, layout: layout, committed: f.committed, max: f.max,
		last: map[int32]*kgo.Record{}, out: bufio.NewWriterSize(out, 64<<10),
	}
}

// bound has the reader stop at ends. Unless a group will say which partitions are
// its own, all are, from starts on.
func (r *reader) bound(starts, ends map[int32]int64, alone bool) {
	r.ends = ends
	if alone {
		r.settle(starts)
	}
}

// settle makes partitions the reader's own, from these offsets on.
func (r *reader) settle(starts map[int32]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.next == nil {
		r.mu.next = map[int32]int64{}
	}
	for p, at := range starts {
		if end, ok := r.ends[p]; ok && at < end {
			r.mu.next[p] = at
		}
	}
	r.mu.settled = true
}

// membership are the callbacks by which a reader in a group learns what is its own.
func (r *reader) membership() []kgo.Opt {
	given := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
		if len(parts[r.topic]) == 0 {
			r.settle(nil)
			return
		}
		r.unsettle(nil) // Where the group is in them is being asked.
	}
	taken := func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { r.unsettle(parts[r.topic]) }
	fetched := func(_ context.Context, at map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		starts := map[int32]int64{}
		for p, offset := range at[r.topic] {
			switch exact := offset.EpochOffset().Offset; exact {
			case -1: // The end, where the group has no offset and begins there.
			case -2:
				starts[p] = 0
			default:
				starts[p] = exact
			}
		}
		r.settle(starts)
		return at, nil
	}
	return []kgo.Opt{
		kgo.OnPartitionsAssigned(given), kgo.OnPartitionsRevoked(taken), kgo.OnPartitionsLost(taken), kgo.AdjustFetchOffsetsFn(fetched),
	}
}

// unsettle takes partitions away; what the reader has is to be told anew.
func (r *reader) unsettle(parts []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.settled = false
	for _, p := range parts {
		delete(r.mu.next, p)
	}
}

// advance notes that a partition is read up to an offset.
func (r *reader) advance(partition int32, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mu.next[partition]; !ok {
		return
	}
	r.mu.next[partition] = next
	if next >= r.ends[partition] {
		delete(r.mu.next, partition)
	}
}

// left are the partitions that are not read to their end.
func (r *reader) left() (next map[int32]int64, settled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.mu.next), r.mu.settled
}

// done reports whether all that was asked for is printed.
func (r *reader) done() bool {
	if r.max > 0 && r.seen >= r.max {
		return true
	}
	if r.ends == nil {
		return false
	}
	next, settled := r.left()
	return settled && len(next) == 0
}

// read prints until all is done. When the end is not reached and nothing is heard
// of the cluster for so long as patience, that is an error.
func (r *reader) read(ctx context.Context, cl *kgo.Client, patience time.Duration) error {
	heard := time.Now()
	for !r.done() {
		poll, cancel := context.WithTimeout(ctx, time.Second)
		fs := cl.PollFetches(poll)
		cancel()
		if ctx.Err() != nil {
			return nil // Interrupted: what was read is printed.
		}
		if err := r.take(fs); err != nil {
			return err
		}
		next, settled := r.left()
		switch {
		case fs.NumRecords() > 0 || r.ends == nil || !settled:
			heard = time.Now()
			continue
		case r.probe(ctx, cl, next, patience):
			heard = time.Now()
		}
		if time.Since(heard) >= patience {
			return r.silence(patience)
		}
	}
	return nil
}

// take prints what came.
func (r *reader) take(fs kgo.Fetches) error {
	for _, e := range fs.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) {
			return fmt.Errorf("reading partition %d of %s: %w", e.Partition, r.topic, e.Err)
		}
	}
	for it := fs.RecordIter(); !it.Done(); {
		rec := it.Next()
		if r.max > 0 && r.seen >= r.max {
			break
		}
		if end, ok := r.ends[rec.Partition]; r.ends != nil && (!ok || rec.Offset >= end) {
			continue // Came after the reader began.
		}
		if err := r.print(rec); err != nil {
			return err
		}
		r.last[rec.Partition] = rec
		r.advance(rec.Partition, rec.Offset+1)
	}
	return r.out.Flush()
}

func (r *reader) print(rec *kgo.Record) error {
	if rec.Attrs.IsControl() {
		return nil
	}
	r.seen++
	for _, p := range r.layout {
		if err := p(r.out, rec); err != nil {
			return err
		}
	}
	return nil
}

// silence says what has not come.
func (r *reader) silence(patience time.Duration) error {
	next, _ := r.left()
	var all []string
	for _, p := range slices.Sorted(maps.Keys(next)) {
		all = append(all, fmt.Sprintf("partition %d is read up to offset %d of %d", p, next[p], r.ends[p]))
	}
	return fmt.Errorf("no answer from the leaders of %s within %v (--timeout): %s", r.topic, patience, strings.Join(all, ", "))
}
