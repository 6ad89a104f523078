package compat

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// life is a scenario over restarts and long times, which only a broker of ours in
// a bubble can be put through.
type life struct {
	*T
	mb *brokertest.Cluster
}

// live plays f in a bubble with a broker, however long it takes.
func live(t *testing.T, f func(l *life), config ...string) {
	t.Helper()
	liveFor(t, lifetime, f, config...)
}

func liveFor(t *testing.T, limit time.Duration, f func(l *life), config ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Config(config...))
		target, err := NewTarget(t.Context(), mb.Addr(), mb.Dial)
		if err != nil {
			t.Fatal(err)
		}
		judge(t, Play(t.Context(), target, Scenario{Limit: limit, Run: func(t *T) { f(&life{t, mb}) }}))
	})
}

// lifetime is the limit of what waits for hours.
const lifetime = 1000 * time.Hour

// judge fails the test if a scenario did not pass.
func judge(t *testing.T, end Ended) {
	t.Helper()
	if end.Why == "" {
		return
	}
	for _, e := range end.Exchanges {
		request, response := e.Readable()
		t.Logf("> %s\n< %s", request, response)
	}
	t.Error(end.Why)
}

// restart ends the broker in one of its ways and starts it again.
func (l *life) restart(end func()) {
	end()
	l.mb.Restart()
	l.reconnect()
}

// sleep lets time pass, in which idle connections close.
func (l *life) sleep(d time.Duration) {
	time.Sleep(d)
	l.reconnect()
}

// ends are the ways in which a broker ends.
func (l *life) ends() map[string]func() {
	return map[string]func(){"stop": l.mb.Stop, "kill": l.mb.Kill}
}

// TestFreshBroker is case F23 and the first step of T15: a broker on which nothing was
// done yet answers what admin tools and libraries ask first, and at once.
func TestFreshBroker(t *testing.T) {
	live(t, func(l *life) {
		began := time.Now()
		l.each(kmsg.Metadata, 0, 13, func(v int16) {
			for name, topics := range map[string][]kmsg.MetadataRequestTopic{"all": nil, "none": {}} {
				req := kmsg.NewPtrMetadataRequest()
				req.Topics = topics
				resp := ask[*kmsg.MetadataResponse](l.T, v, req)
				equal(l.T, name+" topics", len(resp.Topics), 0)
				l.checkBrokers(v, resp)
			}
		})
		l.each(kmsg.ListTransactions, 0, 2, func(v int16) {
			resp := ask[*kmsg.ListTransactionsResponse](l.T, v, kmsg.NewPtrListTransactionsRequest())
			l.ok("ListTransactions", resp.ErrorCode)
			equal(l.T, "transactions", len(resp.TransactionStates), 0)
		})
		producers := kmsg.NewPtrDescribeProducersRequest()
		producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "none", Partitions: []int32{0}}}
		described := ask[*kmsg.DescribeProducersResponse](l.T, 0, producers)
		p := one(l.T, "partitions", one(l.T, "topics", described.Topics).Partitions)
		l.code("producers of no topic", p.ErrorCode, kerr.UnknownTopicOrPartition)
		if took := time.Since(began); took > 0 {
			l.Fatalf("the broker took %v", took)
		}
	})
}

// TestLeaderEpochs is redpanda#11864 and KAFKA-10432: the history of leader epochs
// is known after restarts, and answers name the largest epoch not above the asked.
func TestLeaderEpochs(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		epoch := func() int32 { return l.metadataOf(9, topic).Partitions[0].LeaderEpoch }
		for range 10 {
			l.append(topic, plainBatch("a"))
		}
		l.restart(l.mb.Kill)
		l.restart(l.mb.Stop) // An epoch in which nothing was written leaves no trace.
		second := epoch()
		if second < 2 {
			l.Fatalf("the leader epoch is %d after two restarts", second)
		}
		for range 10 {
			l.append(topic, plainBatch("b"))
		}
		l.restart(l.mb.Kill)
		for asked, want := range map[int32][2]int64{
			0: {0, 10}, second - 1: {0, 10}, second: {int64(second), 20}, epoch() + 1: {-1, -1},
		} {
			p := l.epochEnd(4, topic, 0, -1, asked)
			l.ok(fmt.Sprint("epoch ", asked), p.ErrorCode)
			equal(l.T, fmt.Sprint("answer to epoch ", asked), [2]int64{int64(p.LeaderEpoch), p.EndOffset}, want)
		}
		rs := l.batches(l.fetch(11, topic, 0).RecordBatches)
		equal(l.T, "epoch of the first batch", rs[0].leaderEpoch, 0)
		equal(l.T, "epoch of the last batch", rs[19].leaderEpoch, second)
		l.code("an old epoch", l.listOffsetOf(8, topic, 0, -1, 0).ErrorCode, kerr.FencedLeaderEpoch)
		p := l.fetchRequest(12, topic, fetching{offset: 15, lastEpoch: second - 1})
		got := one(l.T, "partitions", one(l.T, "topics", ask[*kmsg.FetchResponse](l.T, 12, p).Topics).Partitions)
		l.ok("a fetch that diverges", got.ErrorCode)
		equal(l.T, "diverging epoch", got.DivergingEpoch.Epoch, 0)
		equal(l.T, "diverging end", got.DivergingEpoch.EndOffset, 10)
	})
}

// TestStaticMemberSurvivesRestart is KAFKA-8500: who is which instance is in the
// log, not only in memory.
func TestStaticMemberSurvivesRestart(t *testing.T) {
	live(t, func(l *life) {
		for name, end := range l.ends() {
			l.Part(name)
			m := l.member(l.Group())
			m.instance = new("instance-" + name)
			m.join()
			l.ok("sync", m.sync(map[string]string{m.id: "x"}).ErrorCode)
			l.restart(end)
			m.c = l.Dial()
			l.until("its heartbeat", func() bool { return m.beat() == 0 })
			again := l.member(m.group)
			again.instance = m.instance
			again.join()
			equal(l.T, "the new id is the old one", again.id == m.id, false)
			equal(l.T, "generation", again.generation, m.generation)
			l.code("the old one", m.beat(), kerr.FencedInstanceID)
			equal(l.T, "assignment", string(again.sync(nil).MemberAssignment), "x")
		}
	})
}

// TestOffsetsExpire is KAFKA-8069 (KIP-211): the time of a commit is in the log,
// and counts from when the group became empty.
func TestOffsetsExpire(t *testing.T) {
	live(t, func(l *life) {
		group, topic := l.Group(), l.Topic(1)
		m := l.consumer(group, topic)
		l.ok("commit", m.commitAs(8, topic, 5))
		l.sleep(time.Second)
		m.c = l.Dial()
		l.ok("leave", m.leave())
		for range 3 {
			l.sleep(30 * time.Minute)
			l.restart(l.mb.Kill)
			l.until("the offset", func() bool { return l.tryCommitted(group, topic) == 5 })
		}
		l.sleep(29 * time.Minute)
		equal(l.T, "offset a minute before", l.tryCommitted(group, topic), 5)
		l.sleep(12 * time.Minute) // It is looked for every ten.
		equal(l.T, "offset after", l.tryCommitted(group, topic), -1)
		equal(l.T, "state", l.state(group), "Dead")
	}, "offsets.retention.minutes=120")
}

// TestOffsetsOfMembersDoNotExpire is the other half of KIP-211.
func TestOffsetsOfMembersDoNotExpire(t *testing.T) {
	live(t, func(l *life) {
		group, topic := l.Group(), l.Topic(1)
		m := l.member(group)
		m.session = 1800000
		m.settle()
		l.ok("commit", m.commitAs(8, topic, 5))
		for range 10 {
			l.sleep(20 * time.Minute)
			m.c = l.Dial()
			l.ok("heartbeat", m.beat())
		}
		equal(l.T, "offset", l.tryCommitted(group, topic), 5)
	}, "offsets.retention.minutes=120")
}

// tryCommitted is a committed offset, or -2 while the coordinator loads.
func (l *life) tryCommitted(group, topic string) int64 {
	resp := ask[*kmsg.OffsetFetchResponse](l.T, 7, l.offsetFetchRequest(7, group, topic, 0))
	if resp.ErrorCode != 0 {
		return -2
	}
	return resp.Topics[0].Partitions[0].Offset
}

// TestRetentionBySize is redpanda#9526: a segment goes only when what remains is
// still as large as retention.bytes.
func TestRetentionBySize(t *testing.T) {
	live(t, func(l *life) {
		size := len(big(1_000_000).bytes())
		topic := l.Topic(1, "segment.bytes=1048576", fmt.Sprint("retention.bytes=", 5*size/2))
		for range 3 {
			l.append(topic, big(1_000_000))
		}
		l.sleep(time.Hour)
		equal(l.T, "start", l.startOffset(topic), 0)
		l.alterTopic(topic, set("retention.bytes", fmt.Sprint(2*size+1)))
		l.sleep(time.Hour)
		equal(l.T, "start, one byte too many to go", l.startOffset(topic), 0)
		l.alterTopic(topic, set("retention.bytes", fmt.Sprint(2*size)))
		l.sleep(time.Hour)
		equal(l.T, "start", l.startOffset(topic), 1)
		l.restart(l.mb.Kill)
		equal(l.T, "start after a kill", l.startOffset(topic), 1)
	})
}

// TestRetentionByTime counts from a segment's newest record, and lets the active
// segment go too.
func TestRetentionByTime(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1, "retention.ms=3600000")
		l.append(topic, plainBatch("a"))
		l.sleep(50 * time.Minute)
		l.append(topic, plainBatch("b"))
		l.sleep(50 * time.Minute)
		equal(l.T, "start while the newest is young", l.startOffset(topic), 0)
		l.sleep(20 * time.Minute)
		equal(l.T, "start", l.startOffset(topic), 2)
		equal(l.T, "base offset", l.append(topic, plainBatch("c")), 2)
	})
}

// TestRecordsSurvive is the promise: nothing acknowledged is lost by kill -9, and
// with flush.messages=1 by a power cut.
func TestRecordsSurvive(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1, "flush.messages=1")
		next := int64(0)
		for name, end := range map[string]func(){"stop": l.mb.Stop, "kill": l.mb.Kill, "power cut": l.mb.Crash} {
			for range 3 {
				l.Part(name)
				for range 5 {
					equal(l.T, "base offset", l.append(topic, plainBatch(fmt.Sprint(next))), next)
					next++
				}
				l.restart(end)
				rs := l.read(topic, 0)
				equal(l.T, "records", int64(len(rs)), next)
				for i, r := range rs {
					equal(l.T, "value", string(r.value), fmt.Sprint(i))
				}
			}
		}
	})
}

// TestProducersSurvive: what was appended once is known as such after a restart,
// until the producer is forgotten.
func TestProducersSurvive(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		id, epoch := l.producerID()
		for s := range int32(7) {
			l.ok("produce", l.produceNumbered(topic, id, epoch, s, 1).ErrorCode)
		}
		// A kill is mended by reading the log again: the last five are known. A snapshot,
		// which a clean stop leaves, has Kafka's format and with it the last one only.
		for _, end := range []struct {
			name   string
			run    func()
			oldest int32
		}{{"kill", l.mb.Kill, 2}, {"stop", l.mb.Stop, 6}} {
			l.Part(end.name)
			l.restart(end.run)
			for s := end.oldest; s < 7; s++ {
				p := l.produceNumbered(topic, id, epoch, s, 1)
				l.ok("duplicate", p.ErrorCode)
				equal(l.T, "base offset of a duplicate", p.BaseOffset, int64(s))
			}
			l.code("older", l.produceNumbered(topic, id, epoch, end.oldest-1, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
			l.code("gap", l.produceNumbered(topic, id, epoch, 8, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
			equal(l.T, "end", l.endOffset(topic), 7)
			other, _ := l.producerID()
			equal(l.T, "a producer id is given out again", other == id, false)
		}
		l.Part("")
		l.sleep(25 * time.Hour)
		p := l.produceNumbered(topic, id, epoch, 100, 1)
		l.ok("any sequence of a forgotten producer", p.ErrorCode)
		equal(l.T, "base offset", p.BaseOffset, 7)
	})
}

// TestTopicsSurvive: what admin requests were answered for holds after a restart.
func TestTopicsSurvive(t *testing.T) {
	live(t, func(l *life) {
		for name, end := range l.ends() {
			l.Part(name)
			kept, gone := l.name("kept"), l.name("gone")
			l.create(kept, 2, "retention.ms=777777")
			l.create(gone, 1)
			id := l.topicID(kept)
			l.ok("partitions", l.createPartitions(1, kept, 3, nil).ErrorCode)
			l.alterTopic(kept, set("max.message.bytes", "5555"))
			l.ok("delete", l.delete(gone))
			for range 5 {
				l.append(kept, plainBatch("a"))
			}
			l.deleteRecords(kept, 2)
			l.restart(end)
			l.served(kept, 3)
			l.ForgetTopicIDs()
			equal(l.T, "id", l.topicID(kept), id)
			equal(l.T, "the deleted one is there", l.exists(gone), false)
			equal(l.T, "retention.ms", l.topicSetting(kept, "retention.ms"), "777777")
			equal(l.T, "max.message.bytes", l.topicSetting(kept, "max.message.bytes"), "5555")
			equal(l.T, "end", l.endOffset(kept), 5)
			if name == "stop" { // Otherwise the start may be that of the last checkpoint.
				equal(l.T, "start", l.startOffset(kept), 2)
			}
		}
	})
}

// TestRetentionSynonyms is KAFKA-17584: hours from the file, milliseconds set at
// run time, and back.
func TestRetentionSynonyms(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		equal(l.T, "by the file", l.topicSetting(topic, "retention.ms"), "3600000")
		l.ok("set", l.alter(1, kmsg.ConfigResourceTypeBroker, "", set("log.retention.ms", "5000")).ErrorCode)
		l.becomes(topic, "retention.ms", "5000")
		l.append(topic, plainBatch("a"))
		l.sleep(10 * time.Minute)
		equal(l.T, "start", l.startOffset(topic), 1)
		l.ok("delete", l.alter(1, kmsg.ConfigResourceTypeBroker, "", unset("log.retention.ms")).ErrorCode)
		l.becomes(topic, "retention.ms", "3600000")
		l.append(topic, plainBatch("b"))
		l.sleep(10 * time.Minute)
		equal(l.T, "start", l.startOffset(topic), 1)
	}, "log.retention.hours=1")
}

// TestConnectionsLeaveNothing is kfake@78168694: half a request and a hang-up cost
// no goroutine.
func TestConnectionsLeaveNothing(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		l.reconnect()
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i := range 500 {
			c := l.Dial()
			frame := c.Frame(l.fetchRequest(11, topic, fetching{}), 1)
			if i%2 == 0 {
				frame = frame[:len(frame)/2]
			}
			if err := c.SendRaw(frame); err != nil {
				l.Fatalf("%v", err)
			}
			l.reconnect()
		}
		l.sleep(time.Minute)
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+3 {
			l.Fatalf("%d goroutines before, %d after", before, after)
		}
	})
}

// TestSessionsEndWithTheBroker: a fetch session is not known after a restart.
func TestSessionsEndWithTheBroker(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		s, _ := l.session(11, topic, fetching{})
		l.restart(l.mb.Stop)
		l.code("fetch", s.poll(nil).ErrorCode, kerr.FetchSessionIDNotFound)
	})
}
