package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// partitionsOfGroup is how many offsets each group has committed.
const partitionsOfGroup = 10

// manyGroups is a restart with groups that have committed offsets: it is done when
// the broker has answered OffsetFetch for all of them.
func manyGroups(n int) restart {
	return restart{
		name: fmt.Sprintf("%d groups", n), done: "offsets of all groups",
		want:  restartTarget{done: 2 * time.Second},
		limit: cellLimit,
		fill:  func(ctx context.Context, p *peer) (contents, error) { return fillGroups(ctx, p, n) },
		takes: func(name string) time.Duration {
			return startTakes(name) + rate(float64(n), 1500) // Committing and deleting.
		},
	}
}

func fillGroups(ctx context.Context, p *peer, n int) (contents, error) {
	t := p.target()
	t.Partitions = partitionsOfGroup
	topic, remove, err := t.topic(ctx)
	if err != nil {
		return contents{}, err
	}
	g := committed{topic: topic}
	for i := range n {
		g.groups = append(g.groups, fmt.Sprintf("%s-%05d", topic, i))
	}
	return contents{
		await: g.await,
		remove: func(ctx context.Context) {
			g.remove(ctx, p)
			remove()
		},
	}, g.commit(ctx, t)
}

// committed is groups that have offsets of one topic.
type committed struct {
	topic  string
	groups []string
}

// offset is what a group has committed of a partition.
func offset(group int, partition int32) int64 { return int64(group) + int64(partition) + 1 }

// commit commits them, as a client does that assigns partitions itself.
func (g committed) commit(ctx context.Context, t Target) error {
	cl, err := t.client()
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	const atOnce = 16
	todo := make(chan int, len(g.groups))
	for i := range g.groups {
		todo <- i
	}
	close(todo)
	_, err = run(ctx, 0, atOnce, func(ctx context.Context, _ int, _ *tally) error {
		for i := range todo {
			if err := g.commitOne(ctx, cl, i); err != nil {
				return fmt.Errorf("the offsets of group %s: %w", g.groups[i], err)
			}
		}
		return nil
	})
	return err
}

func (g committed) commitOne(ctx context.Context, cl *kgo.Client, group int) error {
	var offsets kadm.Offsets
	for p := range int32(partitionsOfGroup) {
		offsets.AddOffset(g.topic, p, offset(group, p), -1)
	}
	answer, err := kadm.NewClient(cl).CommitOffsets(ctx, g.groups[group], offsets)
	if err == nil {
		err = answer.Error()
	}
	return err
}

// groupsOfRequest is how many groups are asked for, or deleted, at once.
const groupsOfRequest = 1000

// await asks for the offsets of all groups until each has answered with all of its
// own.
func (g committed) await(ctx context.Context, p *peer) error {
	cl, err := p.target().client()
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	for from := 0; from < len(g.groups); from += groupsOfRequest {
		upTo := min(from+groupsOfRequest, len(g.groups))
		if err := askUntil(ctx, func() error { return g.fetch(ctx, cl, from, upTo) }); err != nil {
			return err
		}
	}
	return nil
}

// fetch asks the broker itself: the client's own way goes through FindCoordinator,
// and waits longer than is measured before it tries again.
func (g committed) fetch(ctx context.Context, cl *kgo.Client, from, upTo int) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	for _, name := range g.groups[from:upTo] {
		group := kmsg.NewOffsetFetchRequestGroup()
		group.Group = name
		group.MemberEpoch = -1
		req.Groups = append(req.Groups, group) // All of its topics.
	}
	resp, err := req.RequestWith(ctx, cl.SeedBrokers()[0])
	if err != nil {
		return err
	}
	if len(resp.Groups) != upTo-from {
		return fmt.Errorf("OffsetFetch answered for %d of %d groups", len(resp.Groups), upTo-from)
	}
	for i, group := range resp.Groups {
		if err := kerr.ErrorForCode(group.ErrorCode); err != nil {
			return err
		}
		if err := g.compare(from+i, group); err != nil {
			return &wrongError{err}
		}
	}
	return nil
}

// compare says whether a group came back with what it had.
func (g committed) compare(i int, group kmsg.OffsetFetchResponseGroup) error {
	seen := 0
	for _, topic := range group.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
			if p.Offset != offset(i, p.Partition) {
				return fmt.Errorf("group %s, partition %d: offset %d, %d was committed", group.Group, p.Partition, p.Offset, offset(i, p.Partition))
			}
			seen++
		}
	}
	if group.Group != g.groups[i] || seen != partitionsOfGroup {
		return fmt.Errorf("group %s has %d offsets where %d of %s were committed", group.Group, seen, partitionsOfGroup, g.groups[i])
	}
	return nil
}

func (g committed) remove(ctx context.Context, p *peer) {
	cl, err := p.target().client()
	if err != nil {
		return
	}
	defer cl.CloseAllowingRebalance()
	for from := 0; from < len(g.groups); from += groupsOfRequest {
		_, _ = kadm.NewClient(cl).DeleteGroups(ctx, g.groups[from:min(from+groupsOfRequest, len(g.groups))]...)
	}
}

// wrongError is an answer that does not get right by asking again.
type wrongError struct{ err error }

func (e *wrongError) Error() string { return e.err.Error() }
func (e *wrongError) Unwrap() error { return e.err }

// askUntil asks every few milliseconds until there is an answer.
func askUntil(ctx context.Context, ask func() error) error {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		err := ask()
		if _, wrong := errors.AsType[*wrongError](err); err == nil || wrong {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
