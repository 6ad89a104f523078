package lives

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
	"github.com/moldau-broker/moldau/compat/scenario"
)

// life is a scenario over restarts and long times, which only a broker of ours in
// a bubble can be put through.
type life struct {
	*scenario.T
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
		target, err := scenario.NewTarget(t.Context(), mb.Addr(), mb.Dial)
		if err != nil {
			t.Fatal(err)
		}
		judge(t, scenario.Play(t.Context(), target, scenario.Scenario{Limit: limit, Run: func(t *scenario.T) { f(&life{t, mb}) }}))
	})
}

// lifetime is the limit of what waits for hours.
const lifetime = 1000 * time.Hour

// judge fails the test if a scenario did not pass.
func judge(t *testing.T, end scenario.Ended) {
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
	l.Reconnect()
}

// sleep lets time pass, in which idle connections close.
func (l *life) sleep(d time.Duration) {
	time.Sleep(d)
	l.Reconnect()
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
		l.Each(kmsg.Metadata, 0, 13, func(v int16) {
			for name, topics := range map[string][]kmsg.MetadataRequestTopic{"all": nil, "none": {}} {
				req := kmsg.NewPtrMetadataRequest()
				req.Topics = topics
				resp := scenario.Ask[*kmsg.MetadataResponse](l.T, v, req)
				scenario.Equal(l.T, name+" topics", len(resp.Topics), 0)
				l.CheckBrokers(v, resp)
			}
		})
		l.Each(kmsg.ListTransactions, 0, 2, func(v int16) {
			resp := scenario.Ask[*kmsg.ListTransactionsResponse](l.T, v, kmsg.NewPtrListTransactionsRequest())
			l.OK("ListTransactions", resp.ErrorCode)
			scenario.Equal(l.T, "transactions", len(resp.TransactionStates), 0)
		})
		producers := kmsg.NewPtrDescribeProducersRequest()
		producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "none", Partitions: []int32{0}}}
		described := scenario.Ask[*kmsg.DescribeProducersResponse](l.T, 0, producers)
		p := scenario.One(l.T, "partitions", scenario.One(l.T, "topics", described.Topics).Partitions)
		l.Code("producers of no topic", p.ErrorCode, kerr.UnknownTopicOrPartition)
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
		epoch := func() int32 { return l.MetadataOf(9, topic).Partitions[0].LeaderEpoch }
		for range 10 {
			l.Append(topic, scenario.PlainBatch("a"))
		}
		l.restart(l.mb.Kill)
		l.restart(l.mb.Stop) // An epoch in which nothing was written leaves no trace.
		second := epoch()
		if second < 2 {
			l.Fatalf("the leader epoch is %d after two restarts", second)
		}
		for range 10 {
			l.Append(topic, scenario.PlainBatch("b"))
		}
		l.restart(l.mb.Kill)
		for asked, want := range map[int32][2]int64{
			0: {0, 10}, second - 1: {0, 10}, second: {int64(second), 20}, epoch() + 1: {-1, -1},
		} {
			p := l.EndOfEpoch(4, topic, 0, -1, asked)
			l.OK(fmt.Sprint("epoch ", asked), p.ErrorCode)
			scenario.Equal(l.T, fmt.Sprint("answer to epoch ", asked), [2]int64{int64(p.LeaderEpoch), p.EndOffset}, want)
		}
		rs := l.Batches(l.Fetch(11, topic, 0).RecordBatches)
		scenario.Equal(l.T, "epoch of the first batch", rs[0].LeaderEpoch, 0)
		scenario.Equal(l.T, "epoch of the last batch", rs[19].LeaderEpoch, second)
		l.Code("an old epoch", l.ListOffsetOf(8, topic, 0, -1, 0).ErrorCode, kerr.FencedLeaderEpoch)
		p := l.FetchRequest(12, topic, scenario.Fetching{Offset: 15, LastEpoch: second - 1})
		got := scenario.One(l.T, "partitions", scenario.One(l.T, "topics", scenario.Ask[*kmsg.FetchResponse](l.T, 12, p).Topics).Partitions)
		l.OK("a fetch that diverges", got.ErrorCode)
		scenario.Equal(l.T, "diverging epoch", got.DivergingEpoch.Epoch, 0)
		scenario.Equal(l.T, "diverging end", got.DivergingEpoch.EndOffset, 10)
	})
}

// TestStaticMemberSurvivesRestart is KAFKA-8500: who is which instance is in the
// log, not only in memory.
func TestStaticMemberSurvivesRestart(t *testing.T) {
	live(t, func(l *life) {
		for name, end := range l.ends() {
			l.Part(name)
			m := l.Member(l.Group())
			m.Instance = new("instance-" + name)
			m.Join()
			l.OK("sync", m.Sync(map[string]string{m.ID: "x"}).ErrorCode)
			l.restart(end)
			m.Conn = l.Dial()
			l.Until("its heartbeat", func() bool { return m.Beat() == 0 })
			again := l.Member(m.Group)
			again.Instance = m.Instance
			again.Join()
			scenario.Equal(l.T, "the new id is the old one", again.ID == m.ID, false)
			scenario.Equal(l.T, "generation", again.Generation, m.Generation)
			l.Code("the old one", m.Beat(), kerr.FencedInstanceID)
			scenario.Equal(l.T, "assignment", string(again.Sync(nil).MemberAssignment), "x")
		}
	})
}

// TestOffsetsExpire is KAFKA-8069 (KIP-211): the time of a commit is in the log,
// and counts from when the group became empty.
func TestOffsetsExpire(t *testing.T) {
	live(t, func(l *life) {
		group, topic := l.Group(), l.Topic(1)
		m := l.Subscribed(group, topic)
		l.OK("commit", m.CommitAs(8, topic, 5))
		l.sleep(time.Second)
		m.Conn = l.Dial()
		l.OK("leave", m.Leave())
		for range 3 {
			l.sleep(30 * time.Minute)
			l.restart(l.mb.Kill)
			l.Until("the offset", func() bool { return l.tryCommitted(group, topic) == 5 })
		}
		l.sleep(29 * time.Minute)
		scenario.Equal(l.T, "offset a minute before", l.tryCommitted(group, topic), 5)
		l.sleep(12 * time.Minute) // It is looked for every ten.
		scenario.Equal(l.T, "offset after", l.tryCommitted(group, topic), -1)
		scenario.Equal(l.T, "state", l.GroupState(group), "Dead")
	}, "offsets.retention.minutes=120")
}

// TestOffsetsOfMembersDoNotExpire is the other half of KIP-211.
func TestOffsetsOfMembersDoNotExpire(t *testing.T) {
	live(t, func(l *life) {
		group, topic := l.Group(), l.Topic(1)
		m := l.Member(group)
		m.Session = 1800000
		m.Settle()
		l.OK("commit", m.CommitAs(8, topic, 5))
		for range 10 {
			l.sleep(20 * time.Minute)
			m.Conn = l.Dial()
			l.OK("heartbeat", m.Beat())
		}
		scenario.Equal(l.T, "offset", l.tryCommitted(group, topic), 5)
	}, "offsets.retention.minutes=120")
}

// tryCommitted is a committed offset, or -2 while the coordinator loads.
func (l *life) tryCommitted(group, topic string) int64 {
	resp := scenario.Ask[*kmsg.OffsetFetchResponse](l.T, 7, l.OffsetFetchRequest(7, group, topic, 0))
	if resp.ErrorCode != 0 {
		return -2
	}
	return resp.Topics[0].Partitions[0].Offset
}

// TestRetentionBySize is redpanda#9526: a segment goes only when what remains is
// still as large as retention.bytes.
func TestRetentionBySize(t *testing.T) {
	live(t, func(l *life) {
		size := len(scenario.BigBatch(1_000_000).Bytes())
		topic := l.Topic(1, "segment.bytes=1048576", fmt.Sprint("retention.bytes=", 5*size/2))
		for range 3 {
			l.Append(topic, scenario.BigBatch(1_000_000))
		}
		l.sleep(time.Hour)
		scenario.Equal(l.T, "start", l.StartOffset(topic), 0)
		l.AlterTopic(topic, scenario.Set("retention.bytes", fmt.Sprint(2*size+1)))
		l.sleep(time.Hour)
		scenario.Equal(l.T, "start, one byte too many to go", l.StartOffset(topic), 0)
		l.AlterTopic(topic, scenario.Set("retention.bytes", fmt.Sprint(2*size)))
		l.sleep(time.Hour)
		scenario.Equal(l.T, "start", l.StartOffset(topic), 1)
		l.restart(l.mb.Kill)
		scenario.Equal(l.T, "start after a kill", l.StartOffset(topic), 1)
	})
}

// TestRetentionByTime counts from a segment's newest record, and lets the active
// segment go too.
func TestRetentionByTime(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1, "retention.ms=3600000")
		l.Append(topic, scenario.PlainBatch("a"))
		l.sleep(50 * time.Minute)
		l.Append(topic, scenario.PlainBatch("b"))
		l.sleep(50 * time.Minute)
		scenario.Equal(l.T, "start while the newest is young", l.StartOffset(topic), 0)
		l.sleep(20 * time.Minute)
		scenario.Equal(l.T, "start", l.StartOffset(topic), 2)
		scenario.Equal(l.T, "base offset", l.Append(topic, scenario.PlainBatch("c")), 2)
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
					scenario.Equal(l.T, "base offset", l.Append(topic, scenario.PlainBatch(fmt.Sprint(next))), next)
					next++
				}
				l.restart(end)
				rs := l.Read(topic, 0)
				scenario.Equal(l.T, "records", int64(len(rs)), next)
				for i, r := range rs {
					scenario.Equal(l.T, "value", string(r.Value), fmt.Sprint(i))
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
		id, epoch := l.ProducerID()
		for s := range int32(7) {
			l.OK("produce", l.ProduceNumbered(topic, id, epoch, s, 1).ErrorCode)
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
				p := l.ProduceNumbered(topic, id, epoch, s, 1)
				l.OK("duplicate", p.ErrorCode)
				scenario.Equal(l.T, "base offset of a duplicate", p.BaseOffset, int64(s))
			}
			l.Code("older", l.ProduceNumbered(topic, id, epoch, end.oldest-1, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
			l.Code("gap", l.ProduceNumbered(topic, id, epoch, 8, 1).ErrorCode, kerr.OutOfOrderSequenceNumber)
			scenario.Equal(l.T, "end", l.EndOffset(topic), 7)
			other, _ := l.ProducerID()
			scenario.Equal(l.T, "a producer id is given out again", other == id, false)
		}
		l.Part("")
		l.sleep(25 * time.Hour)
		p := l.ProduceNumbered(topic, id, epoch, 100, 1)
		l.OK("any sequence of a forgotten producer", p.ErrorCode)
		scenario.Equal(l.T, "base offset", p.BaseOffset, 7)
	})
}

// TestTopicsSurvive: what admin requests were answered for holds after a restart.
func TestTopicsSurvive(t *testing.T) {
	live(t, func(l *life) {
		for name, end := range l.ends() {
			l.Part(name)
			kept, gone := l.Name("kept"), l.Name("gone")
			l.CreateTopic(kept, 2, "retention.ms=777777")
			l.CreateTopic(gone, 1)
			id := l.TopicID(kept)
			l.OK("partitions", l.CreatePartitions(1, kept, 3, nil).ErrorCode)
			l.AlterTopic(kept, scenario.Set("max.message.bytes", "5555"))
			l.OK("delete", l.DeleteTopic(gone))
			for range 5 {
				l.Append(kept, scenario.PlainBatch("a"))
			}
			l.DeleteRecords(kept, 2)
			l.restart(end)
			l.Served(kept, 3)
			l.ForgetTopicIDs()
			scenario.Equal(l.T, "id", l.TopicID(kept), id)
			scenario.Equal(l.T, "the deleted one is there", l.TopicExists(gone), false)
			scenario.Equal(l.T, "retention.ms", l.TopicSetting(kept, "retention.ms"), "777777")
			scenario.Equal(l.T, "max.message.bytes", l.TopicSetting(kept, "max.message.bytes"), "5555")
			scenario.Equal(l.T, "end", l.EndOffset(kept), 5)
			if name == "stop" { // Otherwise the start may be that of the last checkpoint.
				scenario.Equal(l.T, "start", l.StartOffset(kept), 2)
			}
		}
	})
}

// TestRetentionSynonyms is KAFKA-17584: hours from the file, milliseconds set at
// run time, and back.
func TestRetentionSynonyms(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		scenario.Equal(l.T, "by the file", l.TopicSetting(topic, "retention.ms"), "3600000")
		l.OK("set", l.Alter(1, kmsg.ConfigResourceTypeBroker, "", scenario.Set("log.retention.ms", "5000")).ErrorCode)
		l.Becomes(topic, "retention.ms", "5000")
		l.Append(topic, scenario.PlainBatch("a"))
		l.sleep(10 * time.Minute)
		scenario.Equal(l.T, "start", l.StartOffset(topic), 1)
		l.OK("delete", l.Alter(1, kmsg.ConfigResourceTypeBroker, "", scenario.Unset("log.retention.ms")).ErrorCode)
		l.Becomes(topic, "retention.ms", "3600000")
		l.Append(topic, scenario.PlainBatch("b"))
		l.sleep(10 * time.Minute)
		scenario.Equal(l.T, "start", l.StartOffset(topic), 1)
	}, "log.retention.hours=1")
}

// TestConnectionsLeaveNothing is kfake@78168694: half a request and a hang-up cost
// no goroutine.
func TestConnectionsLeaveNothing(t *testing.T) {
	live(t, func(l *life) {
		topic := l.Topic(1)
		l.Reconnect()
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i := range 500 {
			c := l.Dial()
			frame := c.Frame(l.FetchRequest(11, topic, scenario.Fetching{}), 1)
			if i%2 == 0 {
				frame = frame[:len(frame)/2]
			}
			if err := c.SendRaw(frame); err != nil {
				l.Fatalf("%v", err)
			}
			l.Reconnect()
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
		s, _ := l.Session(11, topic, scenario.Fetching{})
		l.restart(l.mb.Stop)
		l.Code("fetch", s.Poll(nil).ErrorCode, kerr.FetchSessionIDNotFound)
	})
}
