package compat

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// These are scenarios that take a broker with other settings than the usual. With
// MOLDAU_COMPAT they are played against that broker, which must have the settings
// of those that -run names; so they were confirmed at Apache Kafka 4.2.2.

// with plays f against a broker with settings.
func with(t *testing.T, f func(t *T), config ...string) {
	t.Helper()
	within(t, lifetime, f, config...)
}

// within plays f likewise, with a limit of time.
func within(t *testing.T, limit time.Duration, f func(t *T), config ...string) {
	t.Helper()
	addr := os.Getenv("MOLDAU_COMPAT")
	if addr == "" {
		liveFor(t, limit, func(l *life) { f(l.T) }, config...)
		return
	}
	target, err := NewTarget(t.Context(), addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, Play(t.Context(), target, Scenario{Limit: limit, Run: f}))
}

// scenarioOf is how the scenario of an id is played.
func scenarioOf(t *T, id string) func(t *T) {
	all := Scenarios()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("there is no scenario %s", id)
	}
	return all[i].Run
}

func TestGroupMaxSize(t *testing.T) {
	with(t, func(t *T) {
		group := t.Group()
		leader, follower := t.settledPair(group)
		third := t.member(group)
		t.each(kmsg.JoinGroup, 0, 9, func(v int16) {
			t.code("a third member", third.tryJoin(v).ErrorCode, kerr.GroupMaxSizeReached)
		})
		t.ok("the leader stays", leader.beat())
		t.ok("the follower leaves", follower.leave())
		leader.join()
		p := third.sendJoin()
		t.until("the rebalance", func() bool { return leader.beat() == kerr.RebalanceInProgress.Code })
		leader.join()
		third.joined(p)
	}, "group.max.size=2")
}

func TestTopicDeletionDisabled(t *testing.T) {
	with(t, func(t *T) {
		topic := t.Topic(1)
		t.each(kmsg.DeleteTopics, 0, 6, func(v int16) {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TopicNames = []string{topic}
			rt := kmsg.NewDeleteTopicsRequestTopic()
			rt.Topic = &topic
			req.Topics = append(req.Topics, rt)
			want := kerr.TopicDeletionDisabled
			if v < 3 {
				want = kerr.InvalidRequest
			}
			got := one(t, "topics", ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
			t.text("topic", got.Topic, topic)
			t.code("delete", got.ErrorCode, want)
		})
		equal(t, "it is there", t.exists(topic), true)
	}, "delete.topic.enable=false")
}

func TestAutoCreationDisabled(t *testing.T) {
	with(t, func(t *T) {
		t.each(kmsg.Metadata, 0, 13, func(v int16) {
			name := t.name("missing")
			req := metadataRequest(name)
			req.AllowAutoTopicCreation = true
			rt := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
			t.code("topic", rt.ErrorCode, kerr.UnknownTopicOrPartition)
			equal(t, "it is there", t.exists(name), false)
		})
	}, "auto.create.topics.enable=false")
}

func TestAutoCreationAsKafka(t *testing.T) {
	with(t, func(t *T) {
		scenarioOf(t, "metadata.auto-create")(t) // What deviates fails the test.
	}, "moldau.auto.create.topics.wait=false")
}

func TestDefaultsOfNewTopics(t *testing.T) {
	with(t, func(t *T) {
		name := t.name("auto")
		req := metadataRequest(name)
		req.AllowAutoTopicCreation = true
		ask[*kmsg.MetadataResponse](t, 9, req)
		t.until("the topic", func() bool { return t.exists(name) })
		t.served(name, 7)
		equal(t, "partitions", len(t.metadataOf(9, name).Partitions), 7)
		equal(t, "max.message.bytes", t.topicSetting(name, "max.message.bytes"), "2000")
		t.code("produce", t.produce(9, name, big(3000).bytes()).ErrorCode, kerr.MessageTooLarge)
		got := t.describeConfigs(4, kmsg.ConfigResourceTypeTopic, name, []string{"max.message.bytes"}, nil)
		equal(t, "source", one(t, "settings", got.Configs).Source, kmsg.ConfigSourceStaticBrokerConfig)
		scenarioOf(t, "topics.create.defaults")(t)
	}, "num.partitions=7", "message.max.bytes=2000")
}

func TestOffsetMetadataLimit(t *testing.T) {
	with(t, func(t *T) {
		group, topic := t.Group(), t.Topic(1)
		t.ok("ten", one(t, "partitions", t.commit(8, group, topic, committing{0, 1, new("0123456789")})))
		t.code("eleven", one(t, "partitions", t.commit(8, group, topic, committing{0, 1, new("01234567890")})), kerr.OffsetMetadataTooLarge)
	}, "offset.metadata.max.bytes=10")
}

func TestSessionTimeoutBounds(t *testing.T) {
	with(t, func(t *T) {
		group := t.Group()
		for ms, want := range map[int32]*kerr.Error{99: kerr.InvalidSessionTimeout, 100: kerr.MemberIDRequired, 200: kerr.MemberIDRequired, 201: kerr.InvalidSessionTimeout} {
			m := t.member(group)
			m.session = ms
			t.code("join", m.tryJoin(8).ErrorCode, want)
		}
	}, "group.min.session.timeout.ms=100", "group.max.session.timeout.ms=200")
}
