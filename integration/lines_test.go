package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestLines sends a text of -lines lines into a broker by every producer, into one
// partition and into twelve, kills the broker in the middle of each, and reads every
// topic by every consumer; groups live through another kill. Out of one partition
// the text must come byte for byte, out of twelve as the same set of lines. No
// acknowledged line is lost and none is there twice. In the end Apache's
// kafka-dump-log finds nothing wrong with any file.
func TestLines(t *testing.T) {
	b := newBroker(t)
	b.Start(t)
	adm := admin(t, b.Addr())

	for _, partitions := range []int32{1, 12} {
		for _, p := range producers {
			t.Run(fmt.Sprintf("%s into %d", p.name, partitions), func(t *testing.T) {
				topic := fmt.Sprintf("%s-%d", p.name, partitions)
				produceAcrossKill(t, b, adm, p, topic, partitions)
				for _, c := range consumers {
					t.Run("out by "+c.name, func(t *testing.T) {
						// One restart per kind of group and layout is enough.
						kill := c.group && p.name == "franz-go"
						consumeAll(t, b, c, topic, partitions == 1, kill)
					})
				}
			})
		}
	}
	b.Kill(t)
	if *against != "apache" {
		// Apache Kafka preallocates its indexes, and kafka-dump-log takes the zeros at
		// the front of one without entries for an entry.
		t.Run("dump-log after kill", func(t *testing.T) { dumpLog(t, b.Dir()) })
	}
	b.Start(t)
	b.Stop(t)
	t.Run("dump-log after stop", func(t *testing.T) { dumpLog(t, b.Dir()) })
}

// patience is how long one client may take over the text.
func patience() time.Duration { return 3*time.Minute + time.Duration(*lines)*100*time.Microsecond }

// produceAcrossKill feeds the text to a producer. The broker is killed after a
// third of it is there, while the second third is on its way, and the producer gets
// the rest when the broker is back.
func produceAcrossKill(t *testing.T, b Broker, adm *kadm.Client, p producer, topic string, partitions int32) {
	t.Helper()
	run := p.start(t, b.Addr(), topic)
	createTopic(t, adm, topic, partitions)
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()

	back := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, &text{n: *lines, gate: *lines * 2 / 3, until: back})
	}()
	err := until(ctx, "a third of the text to be in "+topic, func() bool {
		select {
		case err := <-done:
			done <- err
			t.Errorf("%s ended before its text did", p.name)
			return true
		default:
		}
		n, err := records(ctx, adm, topic)
		return err == nil && n >= int64(*lines)/3
	})
	b.Kill(t)
	b.Start(t)
	close(back)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	n, err := records(ctx, adm, topic)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(*lines) {
		t.Errorf("%s holds %d records, want %d", topic, n, *lines)
	}
}

// consumeAll reads a topic by one consumer; with kill, the broker is killed and
// started again after a third.
func consumeAll(t *testing.T, b Broker, c consumer, topic string, ordered, kill bool) {
	t.Helper()
	run := c.start(t, b.Addr(), topic)
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()

	into := newTally(*lines, ordered)
	done := make(chan error, 1)
	go func() { done <- run(ctx, into) }()
	if kill {
		if err := until(ctx, "a third of the text to come out", func() bool { return into.count() >= *lines/3 }); err != nil {
			t.Fatal(err)
		}
		b.Kill(t)
		b.Start(t)
	}
	if err := <-done; err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
	if err := into.missing(); err != nil {
		t.Error(err)
	}
}
