package script

import (
	"slices"
	"sync"
	"time"
)

// Inbox gathers what a client pushes, for a Consumer that is polled. It is the part of
// a Consumer that does not depend on the client.
type Inbox struct {
	records chan delivered
	failed  chan struct{} // Closed by the first failure.
	polled  map[string]map[int]int64

	mu struct {
		sync.Mutex

		err  error
		held []string
	}
}

type delivered struct {
	topic  string
	record Record
}

// NewInbox returns an empty Inbox.
func NewInbox() *Inbox {
	return &Inbox{records: make(chan delivered), failed: make(chan struct{}), polled: map[string]map[int]int64{}}
}

// Put waits until a record is polled, or done.
func (i *Inbox) Put(done <-chan struct{}, topic string, r Record) {
	select {
	case i.records <- delivered{topic, r}:
	case <-done:
	}
}

// Fail makes this and every later Poll fail; only the first failure is told.
func (i *Inbox) Fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.err == nil {
		i.mu.err = err
		close(i.failed)
	}
}

// Err is the first failure.
func (i *Inbox) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.err
}

// Poll implements Consumer.
func (i *Inbox) Poll(within time.Duration) ([]Record, error) {
	var got []Record
	for end := time.After(within); ; {
		select {
		case <-i.failed:
			return nil, i.Err()
		case <-end:
			return got, nil
		case d := <-i.records:
			got = append(got, d.record)
			if i.polled[d.topic] == nil {
				i.polled[d.topic] = map[int]int64{}
			}
			i.polled[d.topic][d.record.Partition] = d.record.Offset + 1
		}
	}
}

// CommitPolled has the offsets after what was polled committed, by topic and partition.
func (i *Inbox) CommitPolled(commit func(offsets map[string]map[int]int64) error) error {
	err := commit(i.polled)
	if err == nil {
		clear(i.polled)
	}
	return err
}

// Hold takes down which partitions a member holds.
func (i *Inbox) Hold(partitions []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mu.held = partitions
}

// Held implements Consumer.
func (i *Inbox) Held() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.mu.held)
}
