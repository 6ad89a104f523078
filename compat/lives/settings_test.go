package lives

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat"
	"github.com/moldau-broker/moldau/compat/scenario"
)

// These are scenarios that take a broker with other settings than the usual. With
// MOLDAU_COMPAT they are played against that broker, which must have the settings
// of those that -run names; so they were confirmed at Apache Kafka 4.2.2.

// with plays f against a broker with settings.
func with(t *testing.T, f func(t *scenario.T), config ...string) {
	t.Helper()
	within(t, lifetime, f, config...)
}

// within plays f likewise, with a limit of time.
func within(t *testing.T, limit time.Duration, f func(t *scenario.T), config ...string) {
	t.Helper()
	addr := os.Getenv("MOLDAU_COMPAT")
	if addr == "" {
		liveFor(t, limit, func(l *life) { f(l.T) }, config...)
		return
	}
	target, err := scenario.NewTarget(t.Context(), addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, scenario.Play(t.Context(), target, scenario.Scenario{Limit: limit, Run: f}))
}

// scenarioOf is how the scenario of an id is played.
func scenarioOf(t *scenario.T, id string) func(t *scenario.T) {
	all := compat.Scenarios()
	i := slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("there is no scenario %s", id)
	}
	return all[i].Run
}

func TestGroupMaxSize(t *testing.T) {
	with(t, func(t *scenario.T) {
		group := t.Group()
		leader, follower := t.SettledPair(group)
		third := t.Member(group)
		t.Each(kmsg.JoinGroup, 0, 9, func(v int16) {
			t.Code("a third member", third.TryJoin(v).ErrorCode, kerr.GroupMaxSizeReached)
		})
		t.OK("the leader stays", leader.Beat())
		t.OK("the follower leaves", follower.Leave())
		leader.Join()
		p := third.SendJoin()
		t.Until("the rebalance", func() bool { return leader.Beat() == kerr.RebalanceInProgress.Code })
		leader.Join()
		third.Joined(p)
	}, "group.max.size=2")
}

func TestTopicDeletionDisabled(t *testing.T) {
	with(t, func(t *scenario.T) {
		topic := t.Topic(1)
		t.Each(kmsg.DeleteTopics, 0, 6, func(v int16) {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TopicNames = []string{topic}
			rt := kmsg.NewDeleteTopicsRequestTopic()
			rt.Topic = &topic
			req.Topics = append(req.Topics, rt)
			want := kerr.TopicDeletionDisabled
			if v < 3 {
				want = kerr.InvalidRequest
			}
			got := scenario.One(t, "topics", scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
			t.Text("topic", got.Topic, topic)
			t.Code("delete", got.ErrorCode, want)
		})
		scenario.Equal(t, "it is there", t.TopicExists(topic), true)
	}, "delete.topic.enable=false")
}

func TestAutoCreationDisabled(t *testing.T) {
	with(t, func(t *scenario.T) {
		t.Each(kmsg.Metadata, 0, 13, func(v int16) {
			name := t.Name("missing")
			req := scenario.MetadataRequest(name)
			req.AllowAutoTopicCreation = true
			rt := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
			t.Code("topic", rt.ErrorCode, kerr.UnknownTopicOrPartition)
			scenario.Equal(t, "it is there", t.TopicExists(name), false)
		})
	}, "auto.create.topics.enable=false")
}

func TestAutoCreationAsKafka(t *testing.T) {
	with(t, func(t *scenario.T) {
		scenarioOf(t, "metadata.auto-create")(t) // What deviates fails the test.
	}, "moldau.auto.create.topics.wait=false")
}

func TestDefaultsOfNewTopics(t *testing.T) {
	with(t, func(t *scenario.T) {
		name := t.Name("auto")
		req := scenario.MetadataRequest(name)
		req.AllowAutoTopicCreation = true
		scenario.Ask[*kmsg.MetadataResponse](t, 9, req)
		t.Until("the topic", func() bool { return t.TopicExists(name) })
		t.Served(name, 7)
		scenario.Equal(t, "partitions", len(t.MetadataOf(9, name).Partitions), 7)
		scenario.Equal(t, "max.message.bytes", t.TopicSetting(name, "max.message.bytes"), "2000")
		t.Code("produce", t.Produce(9, name, scenario.BigBatch(3000).Bytes()).ErrorCode, kerr.MessageTooLarge)
		got := t.DescribeConfigs(4, kmsg.ConfigResourceTypeTopic, name, []string{"max.message.bytes"}, nil)
		scenario.Equal(t, "source", scenario.One(t, "settings", got.Configs).Source, kmsg.ConfigSourceStaticBrokerConfig)
		scenarioOf(t, "topics.create.defaults")(t)
	}, "num.partitions=7", "message.max.bytes=2000")
}

func TestOffsetMetadataLimit(t *testing.T) {
	with(t, func(t *scenario.T) {
		group, topic := t.Group(), t.Topic(1)
		t.OK("ten", scenario.One(t, "partitions", t.Commit(8, group, topic, scenario.Committing{Partition: 0, Offset: 1, Metadata: new("0123456789")})))
		t.Code("eleven", scenario.One(t, "partitions", t.Commit(8, group, topic, scenario.Committing{Partition: 0, Offset: 1, Metadata: new("01234567890")})), kerr.OffsetMetadataTooLarge)
	}, "offset.metadata.max.bytes=10")
}

func TestSessionTimeoutBounds(t *testing.T) {
	with(t, func(t *scenario.T) {
		group := t.Group()
		for ms, want := range map[int32]*kerr.Error{99: kerr.InvalidSessionTimeout, 100: kerr.MemberIDRequired, 200: kerr.MemberIDRequired, 201: kerr.InvalidSessionTimeout} {
			m := t.Member(group)
			m.Session = ms
			t.Code("join", m.TryJoin(8).ErrorCode, want)
		}
	}, "group.min.session.timeout.ms=100", "group.max.session.timeout.ms=200")
}
