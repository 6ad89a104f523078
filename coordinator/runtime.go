package coordinator

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// DefaultQueueLimit is how many inputs may wait for one shard. An input is
// posted by a connection that then waits for its answer, so this many
// connections must be busy with one shard before one is turned away.
const DefaultQueueLimit = 16384

// Options says how a Runtime works. Only NewShard must be set.
type Options struct {
	// Name says in log lines what is coordinated: "group", "transaction".
	Name string
	// NewShard makes an empty shard for one partition. It is called for every
	// load, from any goroutine.
	NewShard func(partition int32) Shard
	// Deliver takes what the shards of a partition send, with the epoch of the
	// election. It is called by the shard's owner, so it returns at once and asks
	// the runtime nothing. Needed only if the shards send.
	Deliver func(partition, epoch int32, message any)
	// Logger gets what happens to shards; default slog.Default().
	Logger *slog.Logger
	// QueueLimit is how many inputs may wait for one shard. Default
	// DefaultQueueLimit.
	QueueLimit int
	// LoadLimit is how many shards may be loading at once. Default GOMAXPROCS.
	LoadLimit int
	// Metrics counts what the runtime does; default: counted for nobody.
	Metrics *Metrics
}

// Runtime runs the shards that this process leads. Its methods may be called
// from any goroutine, except from within a shard or its log.
//
// Each shard has one owner at a time, who works off its queue: whoever posts to
// an idle shard becomes the owner for that input, and leaves what has gathered
// meanwhile to a goroutine that ends with the queue. An idle shard has none.
type Runtime struct {
	opts  Options
	loads chan struct{} // Holds one token per shard being loaded.

	mu struct {
		sync.Mutex
		closed bool
		// epochs holds the newest epoch heard of per partition, led or not, so that
		// news which comes late changes nothing.
		epochs map[int32]int32
		actors map[int32]*actor
	}
}

// New makes a runtime that leads nothing yet.
func New(opts Options) *Runtime {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.QueueLimit <= 0 {
		opts.QueueLimit = DefaultQueueLimit
	}
	if opts.LoadLimit <= 0 {
		opts.LoadLimit = runtime.GOMAXPROCS(0)
	}
	if opts.Metrics == nil {
		opts.Metrics = NewMetrics(nil, opts.Name)
	}
	opts.Logger = opts.Logger.With(slog.String("coordinator", opts.Name))
	rt := &Runtime{opts: opts, loads: make(chan struct{}, opts.LoadLimit)}
	rt.mu.epochs = make(map[int32]int32)
	rt.mu.actors = make(map[int32]*actor)
	return rt
}

// Elect says that this process leads a partition from the given leader epoch on.
// The shard is loaded from log in the background; until then Ask fails with
// ErrLoading. An epoch that is not newer than the last one heard of is ignored.
func (rt *Runtime) Elect(partition, epoch int32, log Log) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if last, ok := rt.mu.epochs[partition]; rt.mu.closed || ok && epoch <= last {
		return
	}
	rt.mu.epochs[partition] = epoch
	old := rt.mu.actors[partition]
	if old != nil {
		old.stop(ErrNotCoordinator)
	}
	a := newActor(rt, partition, epoch, log)
	rt.mu.actors[partition] = a
	go a.begin(old)
}

// Resign says that this process does not lead the partition in the given epoch.
// Everybody who waits gets ErrNotCoordinator. An epoch older than the last one
// heard of is ignored. A negative epoch says that the partition is gone, and its
// epochs forgotten: a topic made again starts at zero.
func (rt *Runtime) Resign(partition, epoch int32) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	last, ok := rt.mu.epochs[partition]
	if epoch >= 0 && ok && epoch < last {
		return
	}
	rt.mu.epochs[partition] = epoch
	if epoch < 0 {
		delete(rt.mu.epochs, partition)
	}
	if a := rt.mu.actors[partition]; a != nil {
		a.stop(ErrNotCoordinator) // It stays: the next election, and Close, wait for its end.
	}
}

// Ask gives an input to the shard of one partition and waits for its answer, or
// for ctx. The answer comes when all that it rests on is committed. When ctx ends
// first the input may still have its effect.
func (rt *Runtime) Ask(ctx context.Context, partition int32, in any) (any, error) {
	rt.mu.Lock()
	a := rt.mu.actors[partition]
	closed := rt.mu.closed
	rt.mu.Unlock()
	switch {
	case closed:
		return nil, ErrUnavailable
	case a == nil:
		return nil, ErrNotCoordinator
	}
	answers, err := a.post(in)
	if err != nil {
		return nil, err
	}
	return wait(ctx, answers)
}

// Broadcast asks every shard that this process leads, and returns the answers in
// the order of partitions. newInput is called once per shard. A shard whose
// leadership moves away meanwhile is left out; any other error, ErrLoading too,
// is the answer to the whole.
func (rt *Runtime) Broadcast(ctx context.Context, newInput func() any) ([]any, error) {
	var waits []<-chan answer
	for _, a := range rt.sorted() {
		w, err := a.post(newInput())
		switch {
		case errors.Is(err, ErrNotCoordinator):
		case err != nil:
			return nil, err
		default:
			waits = append(waits, w)
		}
	}
	var bodies []any
	for _, w := range waits {
		body, err := wait(ctx, w)
		switch {
		case errors.Is(err, ErrNotCoordinator):
		case err != nil:
			return nil, err
		default:
			bodies = append(bodies, body)
		}
	}
	return bodies, nil
}

// Ready waits until no shard is being loaded, or for ctx.
func (rt *Runtime) Ready(ctx context.Context) error {
	for _, a := range rt.sorted() {
		select {
		case <-a.settled():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close ends all shards and waits until none is at work. Everybody who waits
// gets ErrUnavailable. Nothing is written.
func (rt *Runtime) Close() {
	rt.mu.Lock()
	rt.mu.closed = true
	rt.mu.Unlock()
	actors := rt.sorted()
	for _, a := range actors {
		a.stop(ErrUnavailable)
	}
	for _, a := range actors {
		<-a.done
	}
}

// sorted returns the shards in the order of their partitions.
func (rt *Runtime) sorted() []*actor {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	actors := make([]*actor, 0, len(rt.mu.actors))
	for _, a := range rt.mu.actors {
		actors = append(actors, a)
	}
	slices.SortFunc(actors, func(x, y *actor) int { return int(x.partition) - int(y.partition) })
	return actors
}

// newRand makes one shard's source of chance. Member ids come from it, and who
// could guess one could speak for its owner: hence ChaCha8.
func newRand() *rand.Rand {
	var seed [32]byte
	crand.Read(seed[:]) // Never fails.
	return rand.New(rand.NewChaCha8(seed))
}

// answer is what one ticket gets.
type answer struct {
	body any
	err  error
}

func wait(ctx context.Context, answers <-chan answer) (any, error) {
	select {
	case a := <-answers:
		return a.body, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
