package integration

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// consumer is a client that reads a topic from its beginning into a tally and
// returns when the tally is full, or the topic's end is reached.
type consumer struct {
	name  string
	group bool // It reads as a consumer group, and survives the broker's restart.
	// start returns the function that does the work; start itself may skip the test.
	start func(t *testing.T, addr, topic string) func(ctx context.Context, into *tally) error
}

var consumers = []consumer{
	{"kcat", false, kcatConsumer},
	{"console", false, consoleConsumer},
	{"franz-go", true, franzGroup},
	{"sarama", true, saramaGroup},
}

func kcatConsumer(t *testing.T, addr, topic string) func(context.Context, *tally) error {
	path := kcat(t)
	return func(ctx context.Context, into *tally) error {
		out := &lineWriter{to: into}
		err := pipe(exec.CommandContext(ctx, path, "-C", "-b", addr, "-t", topic,
			"-o", "beginning", "-e", "-q", "-X", "check.crcs=true"), nil, out)
		return errors.Join(out.err, err)
	}
}

func consoleConsumer(t *testing.T, addr, topic string) func(context.Context, *tally) error {
	path := apacheTool(t, "kafka-console-consumer")
	return func(ctx context.Context, into *tally) error {
		out := &lineWriter{to: into}
		err := pipe(exec.CommandContext(ctx, path, "--bootstrap-server", addr, "--topic", topic,
			"--from-beginning", "--max-messages", strconv.Itoa(into.want), "--timeout-ms", "30000"), nil, out)
		return errors.Join(out.err, err)
	}
}

// members is how many members read together as a group.
const members = 3

// seen tells a record that a group reads again, since its offset was not committed
// before a restart, from one that is in the log twice. Any goroutine may use it.
type seen struct {
	mu struct {
		sync.Mutex
		next map[int32]int64 // By partition, the offset after the last one added.
	}
}

// add gives the tally a record unless its offset was added before. Within one
// partition a record must not come before the one in front of it.
func (s *seen) add(into *tally, partition int32, offset int64, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.next == nil {
		s.mu.next = map[int32]int64{}
	}
	next := s.mu.next[partition]
	if offset < next {
		return nil
	}
	if offset > next {
		return fmt.Errorf("partition %d: offset %d came after %d", partition, offset, next-1)
	}
	s.mu.next[partition]++
	return into.add(value)
}

func franzGroup(_ *testing.T, addr, topic string) func(context.Context, *tally) error {
	return func(ctx context.Context, into *tally) error {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		var all sync.WaitGroup
		var once seen
		for member := range members {
			client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic),
				kgo.ConsumerGroup("group-"+topic), kgo.ClientID("member-"+strconv.Itoa(member)),
				kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
				kgo.AutoCommitInterval(100*time.Millisecond),
				kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
			if err != nil {
				return err
			}
			all.Go(func() {
				defer client.Close()
				for ctx.Err() == nil {
					fetches := client.PollFetches(ctx)
					fetches.EachRecord(func(r *kgo.Record) {
						if err := once.add(into, r.Partition, r.Offset, r.Value); err != nil {
							stop(err)
						}
					})
				}
			})
		}
		err := waitFull(ctx, into)
		stop(nil)
		all.Wait()
		return err
	}
}

// waitFull waits until every line was seen, or the context ends, whose cause it
// returns.
func waitFull(ctx context.Context, into *tally) error {
	select {
	case <-into.full:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func saramaGroup(_ *testing.T, addr, topic string) func(context.Context, *tally) error {
	return func(ctx context.Context, into *tally) error {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		h := &saramaHandler{into: into, stop: stop}
		var all sync.WaitGroup
		for range members {
			config := saramaConfig()
			config.Consumer.Offsets.Initial = sarama.OffsetOldest
			config.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond
			config.Consumer.Retry.Backoff = 50 * time.Millisecond
			group, err := sarama.NewConsumerGroup([]string{addr}, "sarama-"+topic, config)
			if err != nil {
				return err
			}
			all.Go(func() {
				defer func() { _ = group.Close() }() // It leaves as well as it can.
				for ctx.Err() == nil {
					// An error here is a rebalance or a restart: join again.
					_ = group.Consume(ctx, []string{topic}, h)
				}
			})
		}
		err := waitFull(ctx, into)
		stop(nil)
		all.Wait()
		return err
	}
}

// saramaHandler hands the records of every claim to one tally.
type saramaHandler struct {
	into *tally
	once seen
	stop context.CancelCauseFunc
}

// Setup implements sarama.ConsumerGroupHandler.
func (h *saramaHandler) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup implements sarama.ConsumerGroupHandler.
func (h *saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (h *saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			if err := h.once.add(h.into, m.Partition, m.Offset, m.Value); err != nil {
				h.stop(err)
			}
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}
