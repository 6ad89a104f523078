package txn

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// at returns a script's machine in which id "a" has come to the given epoch of
// producer 100 by its last transaction.
func at(t *testing.T, level, epoch int16, status kmsg.TransactionState) *coordtest.Machine {
	t.Helper()
	m := coordtest.NewMachine(newScript(level).NewShard, 1)
	tr := transaction{
		id: "a", producerID: 100, prevProducerID: noID, nextProducerID: noID, epoch: epoch, timeoutMs: 60_000,
		status: status, startMs: m.Now().UnixMilli(), updateMs: m.Now().UnixMilli(), clientVersion: level,
	}
	if status == ongoing {
		tr.topics = []Topic{{"t", []int32{0}}}
	}
	if _, err := m.Log.Append(m.Now(), []coordinator.Record{tr.record(level)}); err != nil {
		t.Fatal(err)
	}
	m.Failover()
	return m
}

// TestExhausted: a producer id has 32767 epochs for clients, 0 to 32766, and one
// for fencing the last of them. Each case is played line by line; a line that begins
// with > is what comes of the one before it, without records.
func TestExhausted(t *testing.T) {
	for name, tc := range map[string]struct {
		level, epoch int16
		status       kmsg.TransactionState
		script       []string
	}{
		"the last epoch is given": {2, 32764, completeCommit, []string{
			"end a 100/32764 abort", "> ok 100/32765",
			"init a", "> ok 100/32766",
		}},
		"initializing changes the producer": {2, 32766, completeCommit, []string{
			"init a", "> want 10 ids",
			"ids 200 10", "> ok 200/0", "> done",
			"init a 100/32766", "> PRODUCER_FENCED -1/-1", // Somebody else had asked.
		}},
		"and it may ask again": {2, 32766, completeAbort, []string{
			"ids 200 10", "> done",
			"init a 100/32766", "> ok 200/0",
			"init a 100/32766", "> ok 200/0",
			"init a 100/32766", "> ok 200/0",
			"init a 100/32765", "> PRODUCER_FENCED -1/-1",
		}},
		"committing changes the producer": {2, 32766, ongoing, []string{
			"end a 100/32766 commit", "> want 10 ids",
			"ids 200 10", "> ok 200/0", "> done", "> markers a commit 100/32767 v2 t[0]",
			// The client goes on with the new one while the markers bear the old.
			"add a 200/0 t/0", "> t/0:CONCURRENT_TRANSACTIONS",
			"end a 200/0 commit", "> CONCURRENT_TRANSACTIONS -1/-1",
			"init a 200/0", "> CONCURRENT_TRANSACTIONS -1/-1",
			"written a 100/32767", "> done",
			"end a 100/32766 commit", "> ok 200/0",
			"end a 100/32766 abort", "> INVALID_TXN_STATE -1/-1",
			"end a 100/32765 commit", "> INVALID_PRODUCER_ID_MAPPING -1/-1",
			"add a 200/0 t/0", "> t/0:ok",
			"end a 100/32766 commit", "> INVALID_PRODUCER_ID_MAPPING -1/-1",
			"end a 200/0 abort", "> ok 200/1", "> markers a abort 200/1 v2 t[0]",
		}},
		"fencing changes the producer": {2, 32766, ongoing, []string{
			"ids 200 10", "> done",
			"init a", "> CONCURRENT_TRANSACTIONS -1/-1", "> markers a abort 100/32767 v2 t[0]",
			"written a 100/32767", "> done",
			"init a", "> ok 200/1",
		}},
		"fencing uses up the last epoch in version 1": {1, 32766, ongoing, []string{
			"init a", "> CONCURRENT_TRANSACTIONS -1/-1", "> markers a abort 100/32767 v0 t[0]",
			"end a 100/32766 abort v=4", "> PRODUCER_FENCED",
			"written a 100/32767", "> done",
			"init a", "> want 10 ids",
			"ids 200 10", "> ok 200/0", "> done",
		}},
		"no epoch comes after the highest": {2, 32767, ongoing, []string{
			"ids 200 10", "> done",
			"init a", "> CONCURRENT_TRANSACTIONS -1/-1", "> markers a abort 100/32767 v2 t[0]",
			"written a 100/32767", "> done",
			"init a", "> ok 200/1",
		}},
		"a transaction that outlives its timeout waits for the next id": {2, 32766, ongoing, []string{
			"tick 80s", "> want 10 ids",
			"ids 200 10", "> done", "> markers a abort 100/32767 v2 t[0]",
			"written a 100/32767", "> done",
			"add a 200/0 t/0", "> t/0:ok",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, newScript(tc.level), at(t, tc.level, tc.epoch, tc.status), tc.script)
		})
	}
}

// play does the lines of a script to m and compares what comes of each.
func play(t *testing.T, s coordtest.Script, m *coordtest.Machine, lines []string) {
	t.Helper()
	var got []string
	m.OnEvent = func(e coordtest.Event) {
		switch {
		case e.Reply != nil:
			got = append(got, "> "+s.ShowReply(*e.Reply))
		case e.Send != nil:
			got = append(got, "> "+s.ShowSend(e.Send))
		}
	}
	for _, line := range lines {
		if line[0] == '>' {
			if len(got) == 0 || got[0] != line {
				t.Fatalf("got %q, want %q", got, line)
			}
			got = got[1:]
			continue
		}
		if len(got) > 0 {
			t.Fatalf("before %q: %q is left over", line, got)
		}
		if wait, ok := strings.CutPrefix(line, "tick "); ok {
			d, err := time.ParseDuration(wait)
			must(err)
			m.Tick(d)
		} else {
			in, err := s.Parse(line)
			must(err)
			m.Do(in)
		}
		if err := m.Shard().(*Shard).check(); err != nil {
			t.Fatalf("after %q: %v", line, err)
		}
	}
	if live, replayed := s.ShowState(m.Shard()), s.ShowState(m.Replayed()); live != replayed {
		t.Errorf("replayed\n%s, live\n%s", replayed, live)
	}
}
