package txn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// check says which invariant of Shard is broken.
func (s *Shard) check() error {
	for id, e := range s.ids {
		_, open := s.ongoing[id]
		switch {
		case e.id != id:
			return fmt.Errorf("entry of %q says it is %q", id, e.id)
		case open != (e.status == ongoing):
			return fmt.Errorf("%q is %v, and in ongoing: %v", id, e.status, open)
		case e.producerID < 0 || e.epoch < 0:
			return fmt.Errorf("%q has producer %d epoch %d", id, e.producerID, e.epoch)
		case len(e.topics) > 0 && !e.preparing() && e.status != ongoing:
			return fmt.Errorf("%q has partitions in state %v", id, e.status)
		case e.nextProducerID != noID && !e.preparing():
			return fmt.Errorf("%q has next producer id %d in state %v", id, e.nextProducerID, e.status)
		case e.last >= e.epoch && e.prevProducerID == noID && e.last != noEpoch && e.status == empty:
			return fmt.Errorf("%q has epoch %d after %d", id, e.epoch, e.last)
		case e.status == ongoing && e.startMs < 0:
			return fmt.Errorf("%q is open since ever", id)
		}
		if !slices.IsSortedFunc(e.topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) }) {
			return fmt.Errorf("%q has topics out of order: %v", id, e.topics)
		}
	}
	for id := range s.ongoing {
		if s.ids[id] == nil {
			return fmt.Errorf("%q is ongoing and does not exist", id)
		}
	}
	switch {
	case len(s.waiting) > 0 && !s.flags.wanting:
		return fmt.Errorf("%d wait for producer ids that nobody asked for", len(s.waiting))
	case len(s.ongoing) > 0 && !s.flags.scanning:
		return fmt.Errorf("%d transactions are open and nobody looks at their timeouts", len(s.ongoing))
	case s.nextID > s.endID:
		return fmt.Errorf("producer ids from %d to %d in stock", s.nextID, s.endID)
	}
	return nil
}

// hard is what the log says, a line for each id.
func (s *Shard) hard() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.ids)) {
		fmt.Fprintf(&b, "%s\n", showTransaction(&s.ids[id].transaction))
	}
	return b.String()
}

// soft is the rest.
func (s *Shard) soft() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.ids)) {
		if e := s.ids[id]; e.last != noEpoch || e.written {
			fmt.Fprintf(&b, "%s last=%d written=%v\n", id, e.last, e.written)
		}
	}
	fmt.Fprintf(&b, "ids=%d-%d waiting=%d %+v\n", s.nextID, s.endID, len(s.waiting), s.flags)
	return b.String()
}
