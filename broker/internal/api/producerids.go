package api

import (
	"context"
	"fmt"
)

// ProducerIDs gives out producer ids from blocks that the controller allots
// (AllocateProducerIds): ids are unique in the cluster for ever, and a block is
// written to the metadata log before any of it is used. Any goroutine may use it.
type ProducerIDs struct {
	allot func(context.Context) (start int64, n int32, err error)
	// block holds the rest of the block; taking it out is the lock, which a
	// caller can stop waiting for.
	block chan idBlock
}

type idBlock struct{ next, end int64 }

// NewProducerIDs makes ids of the blocks that allot gets.
func NewProducerIDs(allot func(context.Context) (start int64, n int32, err error)) *ProducerIDs {
	ids := &ProducerIDs{allot: allot, block: make(chan idBlock, 1)}
	ids.block <- idBlock{}
	return ids
}

// Run is a run of ids that nobody had before: count of them at most, and one at
// least, beginning with first. It waits, and fails, as Next does.
func (ids *ProducerIDs) Run(ctx context.Context, count int32) (first int64, n int32, err error) {
	b, err := ids.take(ctx)
	if err != nil {
		return -1, 0, err
	}
	defer func() { ids.block <- b }()
	first, n = b.next, int32(min(int64(count), b.end-b.next))
	b.next += int64(n)
	return first, n, nil
}

// Next is an id that nobody had before. It asks for a new block when the last
// is used up, and returns the error of that, or ctx's.
func (ids *ProducerIDs) Next(ctx context.Context) (int64, error) {
	id, _, err := ids.Run(ctx, 1)
	return id, err
}

// take takes out a block that is not used up. The caller gives it back.
func (ids *ProducerIDs) take(ctx context.Context) (idBlock, error) {
	var b idBlock
	select {
	case b = <-ids.block:
	case <-ctx.Done():
		return b, ctx.Err()
	}
	if b.next < b.end {
		return b, nil
	}
	start, n, err := ids.allot(ctx)
	if err != nil {
		ids.block <- b
		return b, err
	}
	if n <= 0 || start < b.end {
		panic(fmt.Sprintf("BUG: api: the controller allotted %d producer ids from %d, after %d", n, start, b.end))
	}
	return idBlock{start, start + int64(n)}, nil
}
