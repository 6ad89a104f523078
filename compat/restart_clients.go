package compat

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// restartClients are about whole clients that work while the broker is restarted.
var restartClients = []Scenario{
	{ID: "restart.franz-go", Says: "An idempotent producer and a group of franz-go go on while the broker restarts: each record is written once, in order, and read.", Restarts: true, Run: restartFranz},
	{ID: "restart.sarama", Says: "An idempotent producer and a group of sarama go on while the broker restarts: each record is written once, in order, and read.", Restarts: true, Run: restartSarama},
}

// writer writes numbers to partition 0 of a topic, one after the other, until it is
// told to stop.
type writer struct {
	t     *T
	topic string
	halt  func()
	done  chan struct{}
	n     int   // How many were written, once done is closed,
	err   error // and why no more, if not because of halt.
}

func (t *T) writer(topic string, write func(value string) error) *writer {
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
	t.cleanup(func() { w.stop() })
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
	n += w.t.endOffset(w.topic)
	w.t.until(fmt.Sprint(n, " records"), func() bool {
		select {
		case <-w.done:
			w.t.Fatalf("record %d: %v", w.n, w.err)
		default:
		}
		return w.t.endOffset(w.topic) >= n
	})
}

// readWhole returns the values of partition 0, however many fetches that takes.
func (t *T) readWhole(topic string) (all []string) {
	for end := t.endOffset(topic); int64(len(all)) < end; {
		got := values(t.read(topic, int64(len(all))))
		if len(got) == 0 {
			t.Fatalf("nothing at offset %d of %d", len(all), end)
		}
		all = append(all, got...)
	}
	return all
}

func restartFranz(t *T) {
	topic, group := t.Topic(1), t.Group()
	producer := franz(t)
	reader := franz(t, new(holding).opts(group, topic)...)
	ctx := t.Context() // What undoes the scenario has another, while the writer may still write.
	w := t.writer(topic, func(value string) error {
		return producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr()
	})
	w.goes(100)
	before := franzReads(t, reader, 50)
	if err := reader.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatalf("commit: %v", err)
	}
	t.Restart()
	t.served(topic, 1)
	w.goes(100)
	n := w.stop()
	equals(t, "what was written", t.readWhole(topic), numbersFrom(0, n))
	got := franzValues(before)
	for len(got) < n { // An error of the restart is one of a poll.
		got = append(got, franzValues(franzGlance(t, reader))...)
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d records came", len(got), n)
		}
	}
	equals(t, "what was read", got, numbersFrom(0, n))
	if err := reader.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatalf("commit after the restart: %v", err)
	}
	equal(t, "committed", t.committed(t.newest(kmsg.OffsetFetch, 5), group, topic, 0).Offset, int64(n))
	reader.Close()
}

func restartSarama(t *T) {
	s := &saramaUser{t, saramaReleases[len(saramaReleases)-1]}
	topic, group := t.Topic(1), t.Group()
	c := s.config()
	c.Producer.Idempotent = true
	c.Producer.Retry.Max, c.Producer.Retry.Backoff = 1000, 50*time.Millisecond
	c.Metadata.Retry.Max = 1000 // Else it gives up as soon as it finds no leader.
	producer := s.producer(c)
	w := t.writer(topic, func(value string) error {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)})
		return err
	})
	w.goes(100)
	reader := s.member(group, topic)
	before := s.take(reader, 50)
	reader.commit(before)
	reader.leave()
	t.Restart()
	t.served(topic, 1)
	w.goes(100)
	n := w.stop()
	equals(t, "what was written", t.readWhole(topic), numbersFrom(0, n))
	reader = s.member(group, topic)
	equals(t, "what was read after the commit", saramaValues(s.take(reader, n-50)), numbersFrom(50, n-50))
	reader.leave()
}
