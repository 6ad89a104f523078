package topics

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// deleteScenarios are about DeleteTopics.
var deleteScenarios = []scenario.Scenario{
	{ID: "topics.delete.versions", Says: "A topic is deleted by name in every version, and by id from 6.", Refs: []string{"KIP-516"}, Run: deleteTopics},
	{ID: "topics.delete.unknown", Says: "An unknown topic is UNKNOWN_TOPIC_OR_PARTITION, an unknown id UNKNOWN_TOPIC_ID.", Refs: []string{"KIP-516"}, Run: deleteUnknown},
	{ID: "topics.delete.name-and-id", Says: "From version 6 a topic is named or identified, not both, not neither, and once.", Refs: []string{"KIP-516"}, Run: deleteNameAndID},
	{ID: "topics.delete.recreate", Says: "A topic made again under its name has another id and no records.", Refs: []string{"embedded-kafka#324", "case ST09"}, Run: deleteAndRecreate},
	{ID: "topics.delete.whole-answer", Says: "DeleteTopics answers each topic in every version, by name or id.", Refs: []string{"KIP-516"}, Run: deleteAnswers},
}

func deleteTopics(t *scenario.T) {
	t.Each(kmsg.DeleteTopics, 0, 6, func(v int16) {
		name := t.Topic(1)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{name}
		req.TimeoutMillis = 5000
		if v >= 6 {
			rt := kmsg.NewDeleteTopicsRequestTopic()
			rt.Topic = &name
			req.Topics = append(req.Topics, rt)
		}
		got := scenario.One(t, "topics", scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
		t.OK("delete", got.ErrorCode)
		t.Text("topic", got.Topic, name)
		t.Until("the topic to go", func() bool { return !t.TopicExists(name) })
	})
	t.Each(kmsg.DeleteTopics, 6, 6, func(v int16) {
		name := t.Topic(1)
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.TopicID = t.TopicID(name)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Topics = append(req.Topics, rt)
		req.TimeoutMillis = 5000
		got := scenario.One(t, "topics", scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
		t.OK("delete by id", got.ErrorCode)
		t.Text("topic", got.Topic, name)
		scenario.Equal(t, "id", got.TopicID, rt.TopicID)
		t.Until("the topic to go", func() bool { return !t.TopicExists(name) })
	})
}

func deleteUnknown(t *scenario.T) {
	name := t.Name("missing")
	t.Each(kmsg.DeleteTopics, 0, 5, func(v int16) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{name}
		t.Code("delete", scenario.One(t, "topics", scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics).ErrorCode, kerr.UnknownTopicOrPartition)
	})
	t.Each(kmsg.DeleteTopics, 6, 6, func(v int16) {
		byName, byID := kmsg.NewDeleteTopicsRequestTopic(), kmsg.NewDeleteTopicsRequestTopic()
		byName.Topic, byID.TopicID = &name, [16]byte{8}
		for want, rt := range map[*kerr.Error]kmsg.DeleteTopicsRequestTopic{kerr.UnknownTopicOrPartition: byName, kerr.UnknownTopicID: byID} {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Topics = append(req.Topics, rt)
			got := scenario.One(t, "topics", scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics)
			t.Code("delete", got.ErrorCode, want)
			if got.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func deleteNameAndID(t *scenario.T) {
	name := t.Topic(1)
	t.Each(kmsg.DeleteTopics, 6, 6, func(v int16) {
		try := func(what string, topics ...kmsg.DeleteTopicsRequestTopic) {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Topics = topics
			answers := scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req).Topics
			scenario.Equal(t, "answers to "+what, len(answers), 1)
			for _, got := range answers {
				t.Code(what, got.ErrorCode, kerr.InvalidRequest)
			}
			scenario.Equal(t, "it is there", t.TopicExists(name), true)
		}
		both, neither := kmsg.NewDeleteTopicsRequestTopic(), kmsg.NewDeleteTopicsRequestTopic()
		both.Topic, both.TopicID = &name, t.TopicID(name)
		byName, byID := kmsg.NewDeleteTopicsRequestTopic(), kmsg.NewDeleteTopicsRequestTopic()
		byName.Topic, byID.TopicID = &name, t.TopicID(name)
		try("both", both)
		try("neither", neither)
		try("name twice", byName, byName)
		try("id twice", byID, byID)
		try("name and id of one topic", byName, byID)
	})
}

func deleteAndRecreate(t *scenario.T) {
	name := t.Topic(1)
	t.Append(name, scenario.PlainBatch("old"))
	old := t.TopicID(name)
	t.OK("delete", t.DeleteTopic(name))
	t.Until("the name to be free", func() bool {
		got := t.TryCreateTopic(t.Newest(kmsg.CreateTopics, 5), scenario.CreateTopicRequest(name, 1))
		if got.ErrorCode == kerr.TopicAlreadyExists.Code {
			return false
		}
		t.OK("create", got.ErrorCode)
		return true
	})
	t.ForgetTopicIDs()
	t.Served(name, 1)
	t.Until("the new one", func() bool { t.ForgetTopicIDs(); return t.TopicID(name) != old })
	t.Until("its log", func() bool { return t.EndOffset(name) == 0 })
	scenario.Equal(t, "base offset", t.Append(name, scenario.PlainBatch("new")), 0)
	scenario.EqualLists(t, "records", scenario.Values(t.Read(name, 0)), []string{"new"})
}

func deleteAnswers(t *scenario.T) {
	t.Each(kmsg.DeleteTopics, 0, 6, func(v int16) {
		name, missing := t.Topic(1), t.Name("missing")
		id := t.TopicID(name)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames, req.TimeoutMillis = []string{name, missing}, 5000
		req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {Topic: &missing}, {TopicID: [16]byte{8}}}
		got := scenario.Ask[*kmsg.DeleteTopicsResponse](t, v, req)
		slices.SortFunc(got.Topics, func(a, b kmsg.DeleteTopicsResponseTopic) int {
			return strings.Compare(scenario.ValueOr(a.Topic, ""), scenario.ValueOr(b.Topic, ""))
		})
		answered := func(name *string, id [16]byte, e *kerr.Error) kmsg.DeleteTopicsResponseTopic {
			return scenario.Filled(func(rt *kmsg.DeleteTopicsResponseTopic) {
				if rt.Topic, rt.TopicID = name, id; e != nil {
					rt.ErrorCode, rt.ErrorMessage = e.Code, &e.Description
				}
			})
		}
		want := []kmsg.DeleteTopicsResponseTopic{answered(&missing, [16]byte{}, kerr.UnknownTopicOrPartition), answered(&name, id, nil)}
		if v >= 6 {
			want = slices.Insert(want, 0, answered(nil, [16]byte{8}, kerr.UnknownTopicID))
		}
		scenario.Whole(t, "DeleteTopics", got, scenario.FilledPtr(func(r *kmsg.DeleteTopicsResponse) { r.Topics = want }))
	})
}
