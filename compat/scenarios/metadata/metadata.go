package metadata

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// metadataScenarios are about what Metadata tells of topics and brokers.
var metadataScenarios = []scenario.Scenario{
	{ID: "metadata.no-topics", Says: "Metadata without topics tells brokers, controller and cluster id at once.", Refs: []string{"librdkafka#3620", "case F23"}, Run: metadataNoTopics},
	{ID: "metadata.all-topics", Says: "No list asks for all topics: an empty one in version 0, null from 1.", Refs: []string{"case F23", "case O05"}, Run: metadataAll},
	{ID: "metadata.partitions", Says: "A topic's partitions tell leader, epoch, replicas and in-sync replicas.", Refs: []string{"case O05"}, Run: metadataPartitions},
	{ID: "metadata.duplicate", Says: "A topic asked for twice is answered.", Refs: []string{"kop PR 1126", "case A23"}, Run: metadataTwice},
	{ID: "metadata.unknown", Says: "An unknown topic is UNKNOWN_TOPIC_OR_PARTITION where it is not to be made.", Run: metadataUnknown},
	{ID: "metadata.invalid-name", Says: "A name that cannot be is INVALID_TOPIC_EXCEPTION.", Run: metadataInvalid},
	{ID: "metadata.auto-create", Says: "An unknown topic is made, and the client told to come again.", Run: metadataAutoCreate},
	{ID: "metadata.internal", Says: "Internal topics are marked.", Run: metadataInternal},
	{ID: "metadata.whole-answer", Says: "Metadata tells brokers, cluster id and every field of topics in every version, of unknown ones their name alone.", Run: metadataAnswers},
}

func metadataNoTopics(t *scenario.T) {
	t.Each(kmsg.Metadata, 1, 13, func(v int16) {
		resp := scenario.Ask[*kmsg.MetadataResponse](t, v, scenario.MetadataRequest())
		scenario.Equal(t, "topics", len(resp.Topics), 0)
		t.CheckBrokers(v, resp)
	})
}

func metadataAll(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Metadata, 0, 13, func(v int16) {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = true // Has no effect on all.
		resp := scenario.Ask[*kmsg.MetadataResponse](t, v, req)
		t.CheckBrokers(v, resp)
		found := false
		for _, rt := range resp.Topics {
			found = found || rt.Topic != nil && *rt.Topic == topic
		}
		scenario.Equal(t, "the topic is there", found, true)
	})
}

func metadataPartitions(t *scenario.T) {
	topic := t.Topic(3)
	node := t.Node()
	t.Each(kmsg.Metadata, 0, 13, func(v int16) {
		rt := t.MetadataOf(v, topic)
		t.OK("topic", rt.ErrorCode)
		scenario.Equal(t, "internal", rt.IsInternal, false)
		scenario.Equal(t, "partitions", len(rt.Partitions), 3)
		for _, p := range rt.Partitions {
			t.OK("partition", p.ErrorCode)
			scenario.Equal(t, "leader", p.Leader, node)
			if v >= 7 {
				scenario.Equal(t, "leader epoch", p.LeaderEpoch, 0)
			}
			scenario.EqualLists(t, "replicas", p.Replicas, []int32{node})
			scenario.EqualLists(t, "in sync", p.ISR, []int32{node})
			scenario.Equal(t, "offline", len(p.OfflineReplicas), 0)
		}
	})
}

func metadataTwice(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Metadata, 0, 13, func(v int16) {
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, scenario.MetadataRequest(topic, topic)).Topics)
		t.Text("topic", rt.Topic, topic)
		t.OK("topic", rt.ErrorCode)
		scenario.Equal(t, "partitions", len(rt.Partitions), 1)
	})
}

func metadataUnknown(t *scenario.T) {
	t.Each(kmsg.Metadata, 4, 13, func(v int16) {
		name := t.Name("missing")
		rt := t.MetadataOf(v, name)
		t.Code("topic", rt.ErrorCode, kerr.UnknownTopicOrPartition)
		t.Text("name", rt.Topic, name)
		scenario.Equal(t, "partitions", len(rt.Partitions), 0)
		scenario.Equal(t, "id", rt.TopicID, [16]byte{})
		scenario.Equal(t, "it is there now", t.TopicExists(name), false)
	})
}

func metadataInvalid(t *scenario.T) {
	t.Each(kmsg.Metadata, 0, 13, func(v int16) {
		for _, name := range []string{"", "a b", "..", strings.Repeat("x", 250)} {
			req := scenario.MetadataRequest(name)
			req.AllowAutoTopicCreation = true
			rt := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
			t.Code("topic "+name, rt.ErrorCode, kerr.InvalidTopicException)
		}
	})
}

func metadataAutoCreate(t *scenario.T) {
	if t.Setting(kmsg.ConfigResourceTypeBroker, t.NodeName(), "auto.create.topics.enable") != "true" {
		t.NotApplicable("auto.create.topics.enable is not true")
	}
	t.Each(kmsg.Metadata, 0, 13, func(v int16) {
		name := t.Name("auto")
		req := scenario.MetadataRequest(name)
		req.AllowAutoTopicCreation = true
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
		t.DeleteTopicAtEnd(name)
		switch rt.ErrorCode {
		case kerr.UnknownTopicOrPartition.Code, kerr.LeaderNotAvailable.Code:
		case 0:
			t.Deviates("the answer to the request that makes a topic tells it at once")
		default:
			t.Code("topic", rt.ErrorCode, kerr.UnknownTopicOrPartition)
		}
		t.Until("the topic", func() bool { return t.TopicExists(name) })
	})
}

func metadataInternal(t *scenario.T) {
	t.Group()
	t.Each(kmsg.Metadata, 1, 13, func(v int16) {
		rt := t.MetadataOf(v, "__consumer_offsets")
		t.OK("topic", rt.ErrorCode)
		scenario.Equal(t, "internal", rt.IsInternal, true)
	})
}

// metadataTopic is a topic of this broker alone as Metadata tells it.
func metadataTopic(t *scenario.T, name string, partitions int32) kmsg.MetadataResponseTopic {
	return scenario.Filled(func(rt *kmsg.MetadataResponseTopic) {
		rt.Topic, rt.TopicID, rt.AuthorizedOperations = &name, t.TopicID(name), scenario.NotAsked
		for p := range partitions {
			rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.MetadataResponseTopicPartition) {
				rp.Partition, rp.Leader, rp.LeaderEpoch = p, t.Node(), 0
				rp.Replicas, rp.ISR = []int32{t.Node()}, []int32{t.Node()}
			}))
		}
	})
}

// answeredCluster checks what Metadata tells of the cluster, and is an answer with
// it and these topics.
func answeredCluster(t *scenario.T, v int16, got *kmsg.MetadataResponse, topics ...kmsg.MetadataResponseTopic) *kmsg.MetadataResponse {
	t.CheckBrokers(v, got)
	for i := range got.Topics {
		slices.SortFunc(got.Topics[i].Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
	}
	b := scenario.One(t, "brokers", got.Brokers)
	return scenario.FilledPtr(func(r *kmsg.MetadataResponse) {
		r.ClusterID, r.ControllerID, r.AuthorizedOperations, r.Topics = got.ClusterID, t.Node(), scenario.NotAsked, topics
		r.Brokers = []kmsg.MetadataResponseBroker{scenario.Filled(func(rb *kmsg.MetadataResponseBroker) {
			rb.NodeID, rb.Host, rb.Port, rb.Rack = t.Node(), b.Host, b.Port, b.Rack
		})}
	})
}

func metadataAnswers(t *scenario.T) {
	topic, missing := t.Topic(2), t.Name("missing")
	t.Each(kmsg.Metadata, 0, 13, func(v int16) {
		req := scenario.MetadataRequest(topic)
		got := scenario.Ask[*kmsg.MetadataResponse](t, v, req)
		want := metadataTopic(t, topic, 2)
		scenario.Whole(t, "a topic", got, answeredCluster(t, v, got, want))
		if v < 4 {
			return // An unknown topic is made.
		}
		unknown := func(name string, e *kerr.Error) kmsg.MetadataResponseTopic {
			return scenario.Filled(func(rt *kmsg.MetadataResponseTopic) {
				rt.Topic, rt.ErrorCode, rt.AuthorizedOperations = &name, e.Code, scenario.NotAsked
			})
		}
		all := []kmsg.MetadataResponseTopic{unknown("a b", kerr.InvalidTopicException), unknown(missing, kerr.UnknownTopicOrPartition), want}
		req = scenario.MetadataRequest(missing, topic, "a b")
		got = metadataByName(t, v, req)
		scenario.Whole(t, "unknown topics beside it", got, answeredCluster(t, v, got, all...))
		if v < 8 {
			return
		}
		req.IncludeTopicAuthorizedOperations = true
		got = metadataByName(t, v, req)
		for i := range all {
			all[i].AuthorizedOperations = scenario.TopicOperations
		}
		scenario.Whole(t, "with operations", got, answeredCluster(t, v, got, all...))
	})
}

// metadataByName is an answer with its topics in order of name.
func metadataByName(t *scenario.T, v int16, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	got := scenario.Ask[*kmsg.MetadataResponse](t, v, req)
	slices.SortFunc(got.Topics, func(a, b kmsg.MetadataResponseTopic) int {
		return strings.Compare(scenario.ValueOr(a.Topic, ""), scenario.ValueOr(b.Topic, ""))
	})
	return got
}
