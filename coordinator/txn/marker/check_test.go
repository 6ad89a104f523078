package marker

import "fmt"

// check says which invariant of Sender is broken.
func (s *Sender) check() error {
	places := make(map[*job]map[partition]int)
	count := func(it item) {
		if !s.alive(it.job) {
			return
		}
		if places[it.job] == nil {
			places[it.job] = make(map[partition]int)
		}
		for _, p := range it.partitions {
			places[it.job][p]++
		}
	}
	flying := make(map[int32]int)
	for _, f := range s.flights {
		flying[f.broker]++
		for _, it := range f.items {
			count(it)
		}
	}
	for id, b := range s.brokers {
		switch {
		case b.inFlight != flying[id]:
			return fmt.Errorf("broker %d has %d requests on the way, and counts %d", id, flying[id], b.inFlight)
		case b.inFlight > s.cfg.InFlight:
			return fmt.Errorf("broker %d has %d requests on the way", id, b.inFlight)
		case len(b.queue) > 0 && b.inFlight < s.cfg.InFlight:
			return fmt.Errorf("broker %d has a queue and only %d requests on the way", id, b.inFlight)
		case len(b.queue) == 0 && b.inFlight == 0:
			return fmt.Errorf("broker %d is kept for nothing", id)
		}
		for _, it := range b.queue {
			count(it)
		}
	}
	for _, d := range s.later {
		count(d.item)
	}
	for key, j := range s.jobs {
		if len(j.left) == 0 {
			return fmt.Errorf("%v waits for nothing", key)
		}
		for p := range j.left {
			if n := places[j][p]; n != 1 {
				return fmt.Errorf("%v waits for %v, which is in %d places", key, p, n)
			}
		}
	}
	return nil
}
