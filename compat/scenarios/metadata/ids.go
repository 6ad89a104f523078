package metadata

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// idsScenarios are about topics that are asked for by id (KIP-516).
var idsScenarios = []scenario.Scenario{
	{ID: "metadata.topic-id.response", Says: "Topic ids are told from version 10.", Refs: []string{"KIP-516"}, Run: metadataIDs},
	{ID: "metadata.topic-id.ask", Says: "From version 12 topics are asked for by id; an unknown one is UNKNOWN_TOPIC_ID without a name.", Refs: []string{"KIP-516"}, Since: "3.1", Run: metadataByID},
	{ID: "metadata.topic-id.too-early", Says: "Versions 10 and 11 carry ids but are INVALID_REQUEST with one.", Refs: []string{"KIP-516"}, Run: metadataByIDTooEarly},
	{ID: "metadata.whole-answer.by-id", Says: "Topics asked for by id are told with every field, once each, and unknown ids without a name.", Refs: []string{"KIP-516"}, Since: "3.1", Run: metadataAnswersByID},
	{ID: "metadata.whole-answer.refused", Says: "A Metadata request of version 10 or 11 with an id is INVALID_REQUEST for each topic; from 12 one id makes it pass over names.", Refs: []string{"KIP-516"}, Since: "3.1", Run: metadataRefusals},
}

func metadataIDs(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Metadata, 10, 13, func(v int16) {
		id := t.MetadataOf(v, topic).TopicID
		scenario.Equal(t, "there is an id", id != [16]byte{}, true)
		scenario.Equal(t, "id", id, t.TopicID(topic))
	})
}

func metadataByID(t *scenario.T) {
	topic := t.Topic(2)
	ask1 := func(v int16, id [16]byte) kmsg.MetadataResponseTopic {
		req := kmsg.NewPtrMetadataRequest()
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		req.Topics = append(req.Topics, rt)
		return scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
	}
	t.Each(kmsg.Metadata, 12, 13, func(v int16) {
		rt := ask1(v, t.TopicID(topic))
		t.OK("known", rt.ErrorCode)
		t.Text("name", rt.Topic, topic)
		scenario.Equal(t, "partitions", len(rt.Partitions), 2)
		rt = ask1(v, [16]byte{6, 6})
		t.Code("unknown", rt.ErrorCode, kerr.UnknownTopicID)
		if rt.Topic != nil {
			t.Fatalf("an unknown id has the name %q", *rt.Topic)
		}
		scenario.Equal(t, "id", rt.TopicID, [16]byte{6, 6})
	})
}

func metadataByIDTooEarly(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Metadata, 10, 11, func(v int16) {
		req := scenario.MetadataRequest(topic)
		req.Topics[0].TopicID = t.TopicID(topic)
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
		t.Code("topic", rt.ErrorCode, kerr.InvalidRequest)
	})
}

func metadataAnswersByID(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.Metadata, 12, 13, func(v int16) {
		req := kmsg.NewPtrMetadataRequest()
		for _, id := range [][16]byte{{6, 6}, t.TopicID(topic), t.TopicID(topic)} {
			rt := kmsg.NewMetadataRequestTopic()
			rt.TopicID = id
			req.Topics = append(req.Topics, rt)
		}
		got := metadataByName(t, v, req)
		unknown := scenario.Filled(func(rt *kmsg.MetadataResponseTopic) {
			rt.TopicID, rt.ErrorCode, rt.AuthorizedOperations = [16]byte{6, 6}, kerr.UnknownTopicID.Code, scenario.NotAsked
		})
		scenario.Whole(t, "by id", got, answeredCluster(t, v, got, unknown, metadataTopic(t, topic, 2)))
	})
}

func metadataRefusals(t *scenario.T) {
	topic, other := t.Topic(1), t.Topic(1)
	mixed := func(v int16) *kmsg.MetadataResponse {
		req := scenario.MetadataRequest(other)
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = t.TopicID(topic)
		req.Topics = append(req.Topics, rt)
		return metadataByName(t, v, req)
	}
	t.Each(kmsg.Metadata, 10, 11, func(v int16) {
		got := mixed(v)
		refused := func(name string, id [16]byte) kmsg.MetadataResponseTopic {
			return scenario.Filled(func(rt *kmsg.MetadataResponseTopic) {
				rt.ErrorCode, rt.Topic, rt.TopicID, rt.AuthorizedOperations = kerr.InvalidRequest.Code, &name, id, scenario.NotAsked
			})
		}
		want := scenario.FilledPtr(func(r *kmsg.MetadataResponse) {
			r.Brokers, r.ClusterID, r.ControllerID, r.AuthorizedOperations = got.Brokers, got.ClusterID, got.ControllerID, scenario.NotAsked
			r.Topics = []kmsg.MetadataResponseTopic{refused("", t.TopicID(topic)), refused(other, [16]byte{})}
		})
		scenario.Whole(t, "a name and an id", got, want)
	})
	t.Each(kmsg.Metadata, 12, 13, func(v int16) {
		got := mixed(v)
		scenario.Whole(t, "a name and an id", got, answeredCluster(t, v, got, metadataTopic(t, topic, 1)))
	})
}
