package integration

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/integration/history"
)

var (
	historyTime = flag.Duration("history", 15*time.Second, "how long TestHistory lets clients work before it looks at what they saw")
	historySeed = flag.Uint64("history.seed", 1, "what TestHistory draws transactions and restarts from")
)

const (
	historyPartitions = 3
	historyPause      = 10 * time.Millisecond // Between two operations of one client.

	// A transaction that a client left open is aborted after this, so that it does
	// not hold up those who read committed records for long.
	historyTransactionTimeout = 5 * time.Second

	// A member whose leaving a restarted broker has not on its disk expires after
	// this, which must happen between two restarts: till then its group waits for it.
	historySession = 2 * time.Second
)

// TestHistory lets clients write and abort transactions, poll, and process exactly
// once with groups of both protocols, while the broker is killed or stopped every
// few seconds, and looks in what they saw for anything that no correct broker shows.
// Records go one way, from the writers over the groups to the readers: precommitted-read
// and G1c but for real time, which need a way back, cannot come up.
func TestHistory(t *testing.T) {
	m := NewMoldau(t, "--set", "group.initial.rebalance.delay.ms=0", "--set", "group.min.session.timeout.ms=1000",
		"--set", "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
		"--set", "group.consumer.heartbeat.interval.ms=1000", "--set", "group.consumer.min.heartbeat.interval.ms=500")
	m.Start(t)
	r := &historyRun{t: t, addr: m.Addr(), began: time.Now(), groups: []historyGroup{
		{name: "classic", out: "classic-out"},
		{name: "consumer", out: "consumer-out", options: []kgo.Opt{kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer())}},
	}}
	adm := admin(t, m.Addr())
	createTopic(t, adm, historyIn, historyPartitions)
	for _, g := range r.groups {
		createTopic(t, adm, g.out, historyPartitions)
		r.history.Processed = append(r.history.Processed, history.Processing{
			Group: g.name, In: partitionsOf(historyIn), Out: partitionsOf(g.out),
		})
	}
	t.Logf("-history.seed %d", *historySeed)

	writing, stopWriting := context.WithCancel(t.Context())
	processing, stopProcessing := context.WithCancel(t.Context())
	var writers, processors sync.WaitGroup
	for n := range 3 {
		writers.Go(func() { r.writeTransactions(writing, n) })
	}
	writers.Go(func() { r.writePlain(writing) })
	writers.Go(func() { r.observe(writing) })
	for n := range 2 {
		writers.Go(func() { r.read(writing, n) })
	}
	for _, g := range r.groups {
		for n := range 2 {
			processors.Go(func() { r.process(processing, g, n) })
		}
	}
	defer processors.Wait()
	defer stopProcessing()
	defer writers.Wait()
	defer stopWriting()

	restarts := restartAgainAndAgain(t, m)
	stopWriting()
	writers.Wait()
	final := r.finalReader()
	final.readAll(final.processed)
	stopProcessing()
	processors.Wait()
	final.readAll(func() bool { return true })
	r.history.Final = final.seen

	var count [3]int
	var polls int
	for _, op := range r.history.Ops {
		count[op.Outcome]++
		polls += len(op.Polls)
	}
	t.Logf("%d restarts; operations: %d committed, %d aborted, %d unknown; %d records polled; %d marks, %d commits seen",
		restarts, count[history.Committed], count[history.Aborted], count[history.Unknown], polls, len(r.history.Marks), len(r.history.Commits))
	for what, n := range map[string]int{
		"committed operation": count[history.Committed], "aborted operation": count[history.Aborted],
		"polled record": polls, "mark": len(r.history.Marks), "commit": len(r.history.Commits),
	} {
		if n == 0 {
			t.Errorf("the run has no %s, and so shows nothing of any", what)
		}
	}
	found := history.Check(&r.history)
	for _, a := range found[:min(len(found), 20)] {
		t.Error(a)
	}
	if len(found) > 20 {
		t.Errorf("and %d more", len(found)-20)
	}
}

const historyIn = "in"

// partitionsOf names the partitions of a topic of the history.
func partitionsOf(topic string) []history.Partition {
	var list []history.Partition
	for p := range int32(historyPartitions) {
		list = append(list, partitionOf(topic, p))
	}
	return list
}

func partitionOf(topic string, p int32) history.Partition {
	return history.Partition(fmt.Sprintf("%s-%d", topic, p))
}

// restartAgainAndAgain kills or stops the broker every few seconds for -history,
// and returns how often.
func restartAgainAndAgain(t *testing.T, m *Moldau) (restarts int) {
	random := rand.New(rand.NewPCG(*historySeed, 0))
	end := time.After(*historyTime)
	for {
		select {
		case <-end:
			return restarts
		case <-time.After(time.Duration(1000+random.IntN(4000)) * time.Millisecond):
		}
		if random.IntN(3) == 0 {
			m.Stop(t)
		} else {
			m.Kill(t)
		}
		m.Start(t)
		restarts++
	}
}

// historyGroup is a group that copies the records of one topic to another.
type historyGroup struct {
	name, out string
	options   []kgo.Opt
}
