package restart

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
	"github.com/moldau-broker/moldau/compat/scenario/client"
)

// clientsScenarios are about whole clients that work while the broker is restarted.
var clientsScenarios = []scenario.Scenario{
	{ID: "restart.franz-go", Says: "An idempotent producer and a group of franz-go go on while the broker restarts: each record is written once, in order, and read.", Restarts: true, Run: restartFranz},
	{ID: "restart.sarama", Says: "An idempotent producer and a group of sarama go on while the broker restarts: each record is written once, in order, and read.", Restarts: true, Run: restartSarama},
}

// writer writes numbers to partition 0 of a topic, one after the other, until it is
// told to stop.
type writer struct {
	t     *scenario.T
	topic string
	halt  func()
	done  chan struct{}
	n     int   // How many were written, once done is closed,
	err   error // and why no more, if not because of halt.
}

func newWriter(t *scenario.T, topic string, write func(value string) error) *writer {
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{t: t, topic: topic, halt: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil && w.err == nil {
			if w.err = write(strconv.Itoa(w.n)); w.err == nil {
				w.n++
			}
		}
	}()
	t.Cleanup(func() { w.stop() })
	return w
}

// stop ends it and returns how many records were written.
func (w *writer) stop() int {
	w.halt()
	<-w.done
	return w.n
}

// goes waits until it has written n more.
func (w *writer) goes(n int64) {
	n += w.t.EndOffset(w.topic)
	w.t.Until(fmt.Sprint(n, " records"), func() bool {
		select {
		case <-w.done:
			w.t.Fatalf("record %d: %v", w.n, w.err)
		default:
		}
		return w.t.EndOffset(w.topic) >= n
	})
}

// readWhole returns the values of partition 0, however many fetches that takes.
func readWhole(t *scenario.T, topic string) (all []string) {
	for end := t.EndOffset(topic); int64(len(all)) < end; {
		got := scenario.Values(t.Read(topic, int64(len(all))))
		if len(got) == 0 {
			t.Fatalf("nothing at offset %d of %d", len(all), end)
		}
		all = append(all, got...)
	}
	return all
}

func restartFranz(t *scenario.T) {
	topic, group := t.Topic(1), t.Group()
	producer := client.Franz(t)
	reader := client.Franz(t, new(client.Holding).Opts(group, topic)...)
	ctx := t.Context() // What undoes the scenario has another, while the writer may still write.
	w := newWriter(t, topic, func(value string) error {
		return producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	})
	w.goes(100)
	before := client.FranzReads(t, reader, 50)
	if err := reader.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	t.Restart()
	t.Served(topic, 1)
	w.goes(100)
	n := w.stop()
	scenario.EqualLists(t, "what was written", readWhole(t, topic), client.NumbersFrom(0, n))
	got := client.FranzValues(before)
	for len(got) < n { // An error of the restart is one of a poll.
		got = append(got, client.FranzValues(client.FranzGlance(t, reader))...)
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d records came", len(got), n)
		}
	}
	scenario.EqualLists(t, "what was read", got, client.NumbersFrom(0, n))
	if err := reader.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatalf("commit after the restart: %v", err)
	}
	scenario.Equal(t, "committed", t.Committed(t.Newest(kmsg.OffsetFetch, 5), group, topic, 0).Offset, int64(n))
	reader.Close()
}

func restartSarama(t *scenario.T) {
	s := &client.SaramaUser{T: t, Release: client.SaramaReleases[len(client.SaramaReleases)-1]}
	topic, group := t.Topic(1), t.Group()
	c := s.Config()
	c.Producer.Idempotent = true
	c.Producer.Retry.Max, c.Producer.Retry.Backoff = 1000, 50*time.Millisecond
	c.Metadata.Retry.Max = 1000 // Else it gives up as soon as it finds no leader.
	producer := s.Producer(c)
	w := newWriter(t, topic, func(value string) error {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
		return err
	})
	w.goes(100)
	reader := s.Member(group, topic)
	before := s.Take(reader, 50)
	reader.Commit(before)
	reader.Leave()
	t.Restart()
	t.Served(topic, 1)
	w.goes(100)
	n := w.stop()
	scenario.EqualLists(t, "what was written", readWhole(t, topic), client.NumbersFrom(0, n))
	reader = s.Member(group, topic)
	scenario.EqualLists(t, "what was read after the commit", client.SaramaValues(s.Take(reader, n-50)), client.NumbersFrom(50, n-50))
	reader.Leave()
}
