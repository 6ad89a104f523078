package client

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// Franz makes a client of franz-go that the scenario's end closes. It asks often, so
// that nothing waits for its timers.
func Franz(t *scenario.T, opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(t.Addr()), kgo.Dialer(t.DialContext), kgo.ClientID("moldau-compat"),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		t.Fatalf("a client of franz-go: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// FranzReads polls until there are n records.
func FranzReads(t *scenario.T, cl *kgo.Client, n int) (got []*kgo.Record) {
	for len(got) < n {
		fetches := cl.PollFetches(t.Context())
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d records came", len(got), n)
		}
		if err := fetches.Err(); err != nil {
			t.Fatalf("poll by franz-go after %d records: %v", len(got), err)
		}
		got = append(got, fetches.Records()...)
	}
	return got
}

// NumbersFrom are n numbers from a first one, as they are written.
func NumbersFrom(from, n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(from+i))
	}
	return all
}

// FranzValues are the values of records as strings.
func FranzValues(records []*kgo.Record) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return all
}

// Holding is what a member of a group holds, and what it was told to give up.
type Holding struct {
	mu            sync.Mutex
	held, revoked []int32 // Partitions of one topic.
}

func (h *Holding) assigned(_ context.Context, _ *kgo.Client, more map[string][]int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ps := range more {
		h.held = append(h.held, ps...)
	}
	slices.Sort(h.held)
}

func (h *Holding) gone(_ context.Context, _ *kgo.Client, less map[string][]int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ps := range less {
		h.revoked = append(h.revoked, ps...)
		h.held = slices.DeleteFunc(h.held, func(p int32) bool { return slices.Contains(ps, p) })
	}
	slices.Sort(h.revoked)
}

// Now is a copy of what is held and was revoked.
func (h *Holding) Now() (held, revoked []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.held), slices.Clone(h.revoked)
}

// Opts make a member of a group.
func (h *Holding) Opts(group, topic string, more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(200 * time.Millisecond), kgo.SessionTimeout(10 * time.Second),
		kgo.OnPartitionsAssigned(h.assigned), kgo.OnPartitionsRevoked(h.gone), kgo.OnPartitionsLost(h.gone),
	}, more...)
}

// FranzGlance polls without waiting for more than a moment.
func FranzGlance(t *scenario.T, cl *kgo.Client) []*kgo.Record {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	return cl.PollFetches(ctx).Records()
}
