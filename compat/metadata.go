package compat

import (
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var metadataScenarios = []Scenario{
	{ID: "metadata.no-topics", Says: "Metadata without topics tells brokers, controller and cluster id at once.", Refs: []string{"librdkafka#3620", "case F23"}, Run: metadataNoTopics},
	{ID: "metadata.all-topics", Says: "No list asks for all topics: an empty one in version 0, null from 1.", Refs: []string{"case F23", "case O05"}, Run: metadataAll},
	{ID: "metadata.partitions", Says: "A topic's partitions tell leader, epoch, replicas and in-sync replicas.", Refs: []string{"case O05"}, Run: metadataPartitions},
	{ID: "metadata.duplicate", Says: "A topic asked for twice is answered.", Refs: []string{"kop PR 1126", "case A23"}, Run: metadataTwice},
	{ID: "metadata.unknown", Says: "An unknown topic is UNKNOWN_TOPIC_OR_PARTITION where it is not to be made.", Run: metadataUnknown},
	{ID: "metadata.invalid-name", Says: "A name that cannot be is INVALID_TOPIC_EXCEPTION.", Run: metadataInvalid},
	{ID: "metadata.auto-create", Says: "An unknown topic is made, and the client told to come again.", Run: metadataAutoCreate},
	{ID: "metadata.topic-id.response", Says: "Topic ids are told from version 10.", Refs: []string{"KIP-516"}, Run: metadataIDs},
	{ID: "metadata.topic-id.ask", Says: "From version 12 topics are asked for by id; an unknown one is UNKNOWN_TOPIC_ID without a name.", Refs: []string{"KIP-516"}, Since: "3.1", Run: metadataByID},
	{ID: "metadata.topic-id.too-early", Says: "Versions 10 and 11 carry ids but are INVALID_REQUEST with one.", Refs: []string{"KIP-516"}, Run: metadataByIDTooEarly},
	{ID: "metadata.internal", Says: "Internal topics are marked.", Run: metadataInternal},
	{ID: "metadata.operations.topic", Says: "Authorized operations of topics are told from version 8 when asked for.", Refs: []string{"KIP-430"}, Run: metadataTopicOperations},
	{ID: "metadata.operations.cluster", Says: "Authorized operations of the cluster are told in versions 8 to 10 when asked for.", Refs: []string{"KIP-430", "KIP-700"}, Run: metadataClusterOperations},
}

// metadataOf asks for one topic by name without making it, where that can be said.
func (t *T) metadataOf(version int16, name string) kmsg.MetadataResponseTopic {
	return one(t, "topics", ask[*kmsg.MetadataResponse](t, version, metadataRequest(name)).Topics)
}

// metadataRequest is a Metadata request of these topics, of none if none is named.
func metadataRequest(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func metadataNoTopics(t *T) {
	t.each(kmsg.Metadata, 1, 13, func(v int16) {
		resp := ask[*kmsg.MetadataResponse](t, v, metadataRequest())
		equal(t, "topics", len(resp.Topics), 0)
		t.checkBrokers(v, resp)
	})
}

// checkBrokers fails unless Metadata tells this broker, a controller and the cluster id.
func (t *T) checkBrokers(v int16, resp *kmsg.MetadataResponse) {
	if len(resp.Brokers) == 0 {
		t.Fatalf("no broker is told")
	}
	ids := map[int32]bool{}
	for _, b := range resp.Brokers {
		ids[b.NodeID] = true
		if b.Host == "" || b.Port <= 0 {
			t.Fatalf("broker %d at host %q port %d", b.NodeID, b.Host, b.Port)
		}
	}
	if v >= 1 && !ids[resp.ControllerID] {
		t.Fatalf("controller %d is none of the brokers", resp.ControllerID)
	}
	if v >= 2 && (resp.ClusterID == nil || *resp.ClusterID == "") {
		t.Fatalf("there is no cluster id")
	}
}

func metadataAll(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Metadata, 0, 13, func(v int16) {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = true // Has no effect on all.
		resp := ask[*kmsg.MetadataResponse](t, v, req)
		t.checkBrokers(v, resp)
		found := false
		for _, rt := range resp.Topics {
			found = found || rt.Topic != nil && *rt.Topic == topic
		}
		equal(t, "the topic is there", found, true)
	})
}

func metadataPartitions(t *T) {
	topic := t.Topic(3)
	node := t.Node()
	t.each(kmsg.Metadata, 0, 13, func(v int16) {
		rt := t.metadataOf(v, topic)
		t.ok("topic", rt.ErrorCode)
		equal(t, "internal", rt.IsInternal, false)
		equal(t, "partitions", len(rt.Partitions), 3)
		for _, p := range rt.Partitions {
			t.ok("partition", p.ErrorCode)
			equal(t, "leader", p.Leader, node)
			if v >= 7 {
				equal(t, "leader epoch", p.LeaderEpoch, 0)
			}
			equals(t, "replicas", p.Replicas, []int32{node})
			equals(t, "in sync", p.ISR, []int32{node})
			equal(t, "offline", len(p.OfflineReplicas), 0)
		}
	})
}

func metadataTwice(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Metadata, 0, 13, func(v int16) {
		rt := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, metadataRequest(topic, topic)).Topics)
		t.text("topic", rt.Topic, topic)
		t.ok("topic", rt.ErrorCode)
		equal(t, "partitions", len(rt.Partitions), 1)
	})
}

func metadataUnknown(t *T) {
	t.each(kmsg.Metadata, 4, 13, func(v int16) {
		name := t.name("missing")
		rt := t.metadataOf(v, name)
		t.code("topic", rt.ErrorCode, kerr.UnknownTopicOrPartition)
		t.text("name", rt.Topic, name)
		equal(t, "partitions", len(rt.Partitions), 0)
		equal(t, "id", rt.TopicID, [16]byte{})
		equal(t, "it is there now", t.exists(name), false)
	})
}

func metadataInvalid(t *T) {
	t.each(kmsg.Metadata, 0, 13, func(v int16) {
		for _, name := range []string{"", "a b", "..", strings.Repeat("x", 250)} {
			req := metadataRequest(name)
			req.AllowAutoTopicCreation = true
			rt := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
			t.code("topic "+name, rt.ErrorCode, kerr.InvalidTopicException)
		}
	})
}

func metadataAutoCreate(t *T) {
	if t.setting(kmsg.ConfigResourceTypeBroker, t.nodeName(), "auto.create.topics.enable") != "true" {
		t.NotApplicable("auto.create.topics.enable is not true")
	}
	t.each(kmsg.Metadata, 0, 13, func(v int16) {
		name := t.name("auto")
		req := metadataRequest(name)
		req.AllowAutoTopicCreation = true
		rt := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
		t.deleteAtEnd(name)
		switch rt.ErrorCode {
		case kerr.UnknownTopicOrPartition.Code, kerr.LeaderNotAvailable.Code:
		case 0:
			t.Deviates("the answer to the request that makes a topic tells it at once")
		default:
			t.code("topic", rt.ErrorCode, kerr.UnknownTopicOrPartition)
		}
		t.until("the topic", func() bool { return t.exists(name) })
	})
}

func metadataIDs(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Metadata, 10, 13, func(v int16) {
		id := t.metadataOf(v, topic).TopicID
		equal(t, "there is an id", id != [16]byte{}, true)
		equal(t, "id", id, t.topicID(topic))
	})
}

func metadataByID(t *T) {
	topic := t.Topic(2)
	ask1 := func(v int16, id [16]byte) kmsg.MetadataResponseTopic {
		req := kmsg.NewPtrMetadataRequest()
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		req.Topics = append(req.Topics, rt)
		return one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
	}
	t.each(kmsg.Metadata, 12, 13, func(v int16) {
		rt := ask1(v, t.topicID(topic))
		t.ok("known", rt.ErrorCode)
		t.text("name", rt.Topic, topic)
		equal(t, "partitions", len(rt.Partitions), 2)
		rt = ask1(v, [16]byte{6, 6})
		t.code("unknown", rt.ErrorCode, kerr.UnknownTopicID)
		if rt.Topic != nil {
			t.Fatalf("an unknown id has the name %q", *rt.Topic)
		}
		equal(t, "id", rt.TopicID, [16]byte{6, 6})
	})
}

func metadataByIDTooEarly(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Metadata, 10, 11, func(v int16) {
		req := metadataRequest(topic)
		req.Topics[0].TopicID = t.topicID(topic)
		rt := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
		t.code("topic", rt.ErrorCode, kerr.InvalidRequest)
	})
}

func metadataInternal(t *T) {
	t.Group()
	t.each(kmsg.Metadata, 1, 13, func(v int16) {
		rt := t.metadataOf(v, "__consumer_offsets")
		t.ok("topic", rt.ErrorCode)
		equal(t, "internal", rt.IsInternal, true)
	})
}

// Operations on topics as bits: read, write, create, delete, alter, describe,
// describe configs and alter configs; and on clusters: create, alter, describe,
// cluster action, describe configs, alter configs and idempotent write.
const (
	topicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	clusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

func metadataTopicOperations(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Metadata, 8, 13, func(v int16) {
		req := metadataRequest(topic)
		rt := one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
		equal(t, "not asked for", rt.AuthorizedOperations, math.MinInt32)
		req.IncludeTopicAuthorizedOperations = true
		rt = one(t, "topics", ask[*kmsg.MetadataResponse](t, v, req).Topics)
		equal(t, "operations", rt.AuthorizedOperations, topicOperations)
	})
}

func metadataClusterOperations(t *T) {
	t.each(kmsg.Metadata, 8, 10, func(v int16) {
		req := metadataRequest()
		equal(t, "not asked for", ask[*kmsg.MetadataResponse](t, v, req).AuthorizedOperations, math.MinInt32)
		req.IncludeClusterAuthorizedOperations = true
		got := ask[*kmsg.MetadataResponse](t, v, req).AuthorizedOperations
		if got&^(1<<13|1<<14) != clusterOperations { // Tokens may be there or not.
			t.Fatalf("operations: got %b, want %b", got, clusterOperations)
		}
	})
}
