package api

import (
	"context"
	"sync"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/coordinator/txn"
)

// txns is a transaction coordinator of one shard, in memory. What it owes is written
// by the test.
type txns struct {
	mu      sync.Mutex
	machine *coordtest.Machine
	owed    []txn.Markers
	wants   int32
	nextID  int64
	err     error // If not nil, what it answers.
}

func newTxns() *txns {
	x := &txns{nextID: 1000}
	x.machine = coordtest.NewMachine(func() coordinator.Shard { return txn.New(txn.DefaultConfig()) }, 1)
	x.machine.OnEvent = func(e coordtest.Event) {
		switch m := e.Send.(type) {
		case txn.Markers:
			x.owed = append(x.owed, m)
		case txn.WantProducerIDs:
			x.wants = m.Count
		}
	}
	return x
}

func (x *txns) Ask(_ context.Context, _ string, in any) (any, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		return nil, x.err
	}
	ticket := x.machine.Do(in)
	if x.wants > 0 {
		n := x.wants
		x.wants = 0
		x.nextID += int64(n)
		x.machine.Do(txn.ProducerIDs{First: x.nextID - int64(n), Count: n})
	}
	r := x.machine.Replies[ticket]
	return r.Body, r.Err
}

func (x *txns) AskAll(ctx context.Context, newInput func() any) ([]any, error) {
	out, err := x.Ask(ctx, "", newInput())
	return []any{out}, err
}

func (x *txns) Coordinator(context.Context, string) (int32, error) { return 1, x.err }
