package coordinator_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// TestElections goes through what an image of the cluster may say, in any order.
func TestElections(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.elect()
		r.log.Hold()
		waiting := r.begin(t.Context(), put{"a", "1"})
		synctest.Wait()

		r.rt.Resign(0, 0)
		r.rt.Elect(0, 1, coordtest.NewLog())
		synctest.Wait()
		if waiting.done {
			t.Fatalf("old news ended the wait: %+v", *waiting)
		}
		r.rt.Resign(0, 2)
		synctest.Wait()
		if !errors.Is(waiting.err, coordinator.ErrNotCoordinator) {
			t.Errorf("resigned, and who waits got %+v", *waiting)
		}
		r.rt.Elect(0, 2, r.log)
		r.fails(get{"a"}, coordinator.ErrNotCoordinator)
		r.log.Release()
		r.rt.Elect(0, 3, r.log)
		r.ready()
		if got := r.ask(get{"a"}); got != "1" {
			t.Errorf("the log says 1, the shard %v", got)
		}
		r.rt.Resign(0, -1)
		r.rt.Elect(0, 0, coordtest.NewLog())
		r.ready()
		if got := r.ask(get{"a"}); got != "" {
			t.Errorf("the topic was made again, and a is %v", got)
		}
	})
}

// TestElectionWaitsForTheLastAppend: an append of the election before may still
// be under way, and what it writes must be in the load, whether or not the
// leadership was elsewhere in between.
func TestElectionWaitsForTheLastAppend(t *testing.T) {
	for name, elect := range map[string]func(*rig){
		"elected again": func(r *rig) { r.rt.Elect(0, 2, r.log) },
		"elsewhere in between": func(r *rig) {
			r.rt.Resign(0, 2)
			r.rt.Resign(0, 3)
			r.rt.Elect(0, 4, r.log)
		},
		"made again": func(r *rig) {
			r.rt.Resign(0, -1)
			r.rt.Elect(0, 0, r.log)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.elect()
				first, second, release := r.atWork()
				elect(r)
				synctest.Wait()
				if !errors.Is(second.err, coordinator.ErrNotCoordinator) {
					t.Errorf("second: %+v", *second)
				}
				r.fails(get{"a"}, coordinator.ErrLoading)
				release()
				r.ready()
				r.ask(get{"a"})
				synctest.Wait()
				if !errors.Is(first.err, coordinator.ErrNotCoordinator) {
					t.Errorf("first: %+v", *first)
				}
			})
		})
	}
}
