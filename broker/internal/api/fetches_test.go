package api

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
	record "github.com/moldau-broker/moldau/protocol/metadata"
)

// sessionFetch is a request of a session: what it names anew, and what it drops.
func sessionFetch(id, epoch int32, wants ...want1) *kmsg.FetchRequest {
	req := fetchOf(12, "t", [16]byte{}, wants...)
	req.SessionID, req.SessionEpoch, req.MaxWaitMillis = id, epoch, 0
	return req
}

func TestFetchSession(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 3)
	n.fill("t", 0, "a")
	step := func(name string, req *kmsg.FetchRequest, want ...string) *kmsg.FetchResponse {
		t.Helper()
		resp := askFetch(t, n, req)
		if diff := cmp.Diff(want, told(t, resp)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		return resp
	}
	first := step("full", sessionFetch(0, 0, want1{0, 0}, want1{1, 0}, want1{2, 0}), "0: 0:a", "1:", "2:")
	id := first.SessionID
	if id == 0 {
		t.Fatal("no session was made")
	}
	step("only what has news", sessionFetch(id, 1, want1{0, 1}))
	n.fill("t", 2, "b")
	step("one has", sessionFetch(id, 2), "2: 0:b")
	step("it is told again until the offset moves", sessionFetch(id, 3), "2: 0:b")
	step("and not after", sessionFetch(id, 4, want1{2, 1}))
	step("a wrong epoch", sessionFetch(id, 9), "error 71")
	step("a session that is not", sessionFetch(id+1, 5), "error 70")
	n.fill("t", 0, "c")
	forget := sessionFetch(id, 5)
	forget.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", Partitions: []int32{0}}}
	step("forgotten", forget)
	step("named again", sessionFetch(id, 6, want1{0, 1}), "0: 1:c")
	ids := sessionFetch(id, 7)
	ids.Version = 13
	step("names and ids mixed", ids, "error 106")
	end := step("the last", sessionFetch(id, -1, want1{0, 0}), "0: 0:a 1:c")
	if end.SessionID != 0 {
		t.Errorf("session %d after it was closed", end.SessionID)
	}
	step("it is gone", sessionFetch(id, 7), "error 70")
	if st := n.Fetches.Stats(); st.Sessions != 0 {
		t.Errorf("%+v", st)
	}
}

// TestFetchSessionKeepsTheName: a session that was begun with topic ids knows the name
// of a topic after its end, so that is UNKNOWN_TOPIC_OR_PARTITION, and one that was made
// again is INCONSISTENT_TOPIC_ID. Whoever asks for the id only then is told
// UNKNOWN_TOPIC_ID.
func TestFetchSessionKeepsTheName(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 2)
	step := func(name string, session, epoch int32, want string, aborted bool, wants ...want1) int32 {
		t.Helper()
		req := fetchOf(13, "", id, wants...)
		req.SessionID, req.SessionEpoch, req.MaxWaitMillis, req.IsolationLevel = session, epoch, 0, 1
		resp := askFetch(t, n, req)
		if diff := cmp.Diff([]string{want}, told(t, resp)); diff != "" {
			t.Fatalf("%s: %s", name, diff)
		}
		if got := resp.Topics[0].Partitions[0].AbortedTransactions != nil; got != aborted {
			t.Errorf("%s: aborted transactions are there: %v", name, got)
		}
		return resp.SessionID
	}
	first := step("begun", 0, 0, "1:", true, want1{1, 0})
	n.commit(&record.RemoveTopic{TopicID: id})
	step("deleted", first, 1, "1: error 3", true)
	step("still", first, 2, "1: error 3", true)
	second := step("begun after", 0, 0, "1: error 100", true, want1{1, 0})
	other := n.topic("t", 2, 2)
	step("made again", first, 3, "1: error 103", false)
	step("made again, and begun after", second, 1, "1: error 100", true)
	n.commit(&record.RemoveTopic{TopicID: other})
	n.topic("t", 3, 1)
	step("made again with fewer partitions", first, 4, "1: error 3", true)
}

// TestFetchSessionWakes: a session that has told everything waits for its
// partitions together, and hears of the one that changes.
func TestFetchSessionWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1)
		n.topic("t", 1, 50)
		var wants []want1
		for p := range int32(50) {
			wants = append(wants, want1{p, 0})
		}
		id := askFetch(t, n, sessionFetch(0, 0, wants...)).SessionID
		for round := range int64(3) {
			go func() {
				time.Sleep(2 * time.Second)
				n.fill("t", 17, "x")
			}()
			began := time.Now()
			req := sessionFetch(id, int32(round)+1, want1{17, round})
			req.MaxWaitMillis = 60_000
			want := []string{fmt.Sprintf("17: %d:x", round)}
			if diff := cmp.Diff(want, told(t, askFetch(t, n, req))); diff != "" || time.Since(began) != 2*time.Second {
				t.Errorf("round %d after %v: %s", round, time.Since(began), diff)
			}
		}
	})
}

// TestFetchSessionOnTwoConnections: a client that has lost a connection continues its
// session on another while the broker still waits for it on the first. The first is
// told that its epoch is over, and takes nothing from the second, which may want
// another isolation.
func TestFetchSessionOnTwoConnections(t *testing.T) {
	for name, second := range map[string]int8{"the same": 0, "with another isolation": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, 1)
				n.topic("t", 1, 3)
				id := askFetch(t, n, sessionFetch(0, 0, want1{0, 0}, want1{1, 0}, want1{2, 0})).SessionID
				for round := range int64(20) {
					fetch := func(epoch int64, isolation int8, want ...string) {
						req := sessionFetch(id, int32(epoch), want1{1, round}, want1{2, 0})
						req.IsolationLevel, req.MaxWaitMillis = isolation, 60_000
						if diff := cmp.Diff(want, told(t, askFetch(t, n, req))); diff != "" {
							t.Errorf("round %d, epoch %d: %s", round, epoch, diff)
						}
					}
					began := time.Now()
					var both sync.WaitGroup
					both.Go(func() { fetch(2*round+1, 0, "error 71") })
					synctest.Wait()
					both.Go(func() {
						fetch(2*round+2, second, fmt.Sprintf("1: %d:x", round))
						if took := time.Since(began); took > 0 {
							t.Errorf("round %d took %v", round, took)
						}
					})
					synctest.Wait()
					n.fill("t", 1, "x")
					both.Wait()
				}
			})
		})
	}
}

// TestFetchSessionChangesIsolation: a session that goes on with another isolation
// hears of the partitions that it does not name as before.
func TestFetchSessionChangesIsolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1)
		n.topic("t", 1, 2)
		id := askFetch(t, n, sessionFetch(0, 0, want1{0, 0}, want1{1, 0})).SessionID
		time.AfterFunc(time.Second, func() { n.fill("t", 1, "x") })
		req := sessionFetch(id, 1)
		req.IsolationLevel, req.MaxWaitMillis = 1, 60_000
		began := time.Now()
		if diff := cmp.Diff([]string{"1: 0:x"}, told(t, askFetch(t, n, req))); diff != "" || time.Since(began) != time.Second {
			t.Errorf("after %v: %s", time.Since(began), diff)
		}
	})
}

// TestFetchSessionUsedAtOnce is the same with everything at the same time, for the
// race detector: either fetch may be the one that is answered.
func TestFetchSessionUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1)
		n.topic("t", 1, 3)
		id := askFetch(t, n, sessionFetch(0, 0, want1{0, 0}, want1{1, 0})).SessionID
		for round := range int64(20) {
			var all sync.WaitGroup
			fetch := func(epoch int64, isolation int8, wants ...want1) {
				req := sessionFetch(id, int32(epoch), wants...)
				req.IsolationLevel, req.MaxWaitMillis = isolation, 1000
				if resp := askFetch(t, n, req); resp.ErrorCode != 0 && resp.ErrorCode != kerr.InvalidFetchSessionEpoch.Code {
					t.Errorf("round %d, epoch %d: error %d", round, epoch, resp.ErrorCode)
				}
			}
			all.Go(func() { fetch(2*round+1, int8(round%2), want1{1, round}) })
			synctest.Wait()
			all.Go(func() { fetch(2*round+2, int8(round/2%2), want1{2, round}, want1{1, round}) })
			all.Go(func() { n.fill("t", 1, "x") })
			all.Go(func() { n.fill("t", 2, "x") })
			all.Wait()
		}
	})
}

// TestFetchSessionRotates is case F09: with room for one batch, successive
// fetches serve all partitions.
func TestFetchSessionRotates(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 3)
	size := int32(len(records("a")))
	for p := range int32(3) {
		n.fill("t", p, "a", "b")
	}
	req := sessionFetch(0, 0, want1{0, 0}, want1{1, 0}, want1{2, 0})
	req.MaxBytes = size
	id := askFetch(t, n, req).SessionID
	served := map[int32]int{}
	for epoch := int32(1); epoch <= 6; epoch++ {
		req := sessionFetch(id, epoch)
		req.MaxBytes = size
		for _, p := range askFetch(t, n, req).Topics[0].Partitions {
			if len(p.RecordBatches) > 0 {
				served[p.Partition]++
			}
		}
	}
	if diff := cmp.Diff(map[int32]int{0: 2, 1: 2, 2: 2}, served); diff != "" {
		t.Error(diff)
	}
}

// TestWatchesEndWithTheirSession: who has closed a session, or lost it to another, is not
// told of changes any more, and nothing is kept for it.
func TestWatchesEndWithTheirSession(t *testing.T) {
	for name, end := range map[string]func(n *node1, id int32){
		"closed": func(n *node1, id int32) { askFetch(t, n, sessionFetch(id, -1, want1{0, 0})) },
		"put out": func(n *node1, _ int32) {
			askFetch(t, n, sessionFetch(0, 0, want1{0, 0}, want1{1, 0}, want1{2, 0})) // Of more partitions.
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t, 1)
			n.topic("t", 1, 3)
			n.Fetches = NewFetches(session.Config{Slots: 1}, rand.New(rand.NewPCG(1, 2)))
			id := askFetch(t, n, sessionFetch(0, 0, want1{0, 0}, want1{1, 0})).SessionID
			poll, err := n.Fetches.begin(time.Now(), session.Fetch{SessionID: id, Epoch: 1}, replica.Uncommitted)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Fetches.done(time.Now(), poll, nil); err != nil {
				t.Fatal(err)
			}
			watching := func() (count int) {
				for e := range poll.Session.Entries() {
					if e.Tag != nil {
						count++
					}
				}
				return count
			}
			before := watching()
			time.Sleep(time.Hour)
			end(n, id)
			if after := watching(); before != 2 || after != 0 {
				t.Errorf("%s: %d partitions are watched for it, %d after", name, before, after)
			}
		})
	}
}
