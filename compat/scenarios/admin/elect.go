package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// electScenarios are about ElectLeaders.
var electScenarios = []scenario.Scenario{
	{ID: "admin.elect.not-needed", Says: "Electing a leader that leads already is ELECTION_NOT_NEEDED, and left out when all are asked for.", Refs: []string{"KIP-460"}, Run: electNotNeeded},
	{ID: "admin.elect.unknown", Says: "Electing a leader of an unknown partition is UNKNOWN_TOPIC_OR_PARTITION.", Refs: []string{"KIP-460"}, Run: electUnknown},
	{ID: "admin.elect.type", Says: "A type of election that is none is INVALID_REQUEST, of the request and of each partition.", Refs: []string{"KIP-460"}, Run: electType},
	{ID: "admin.elect.whole-answer", Says: "ElectLeaders answers each partition with a code and why in every version.", Refs: []string{"KIP-460"}, Run: electAnswers},
}

func elect(t *scenario.T, version int16, kind int8, topics map[string][]int32) *kmsg.ElectLeadersResponse {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = kind
	for name, partitions := range topics {
		rt := kmsg.NewElectLeadersRequestTopic()
		rt.Topic, rt.Partitions = name, partitions
		req.Topics = append(req.Topics, rt)
	}
	return scenario.Ask[*kmsg.ElectLeadersResponse](t, version, req)
}

func electNotNeeded(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.ElectLeaders, 0, 2, func(v int16) {
		for kind := range int8(2) {
			if v == 0 && kind > 0 {
				continue
			}
			resp := elect(t, v, kind, map[string][]int32{topic: {0, 1}})
			t.OK("elect", resp.ErrorCode)
			rt := scenario.One(t, "topics", resp.Topics)
			scenario.Equal(t, "partitions", len(rt.Partitions), 2)
			for _, p := range rt.Partitions {
				t.Code(fmt.Sprint("partition ", p.Partition), p.ErrorCode, kerr.ElectionNotNeeded)
			}
		}
		resp := elect(t, v, 0, nil)
		t.OK("elect all", resp.ErrorCode)
		for _, rt := range resp.Topics {
			if rt.Topic == topic {
				scenario.Equal(t, "partitions told", len(rt.Partitions), 0)
			}
		}
	})
}

func electUnknown(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.ElectLeaders, 0, 2, func(v int16) {
		for name, partition := range map[string]int32{topic: 7, t.Name("missing"): 0} {
			resp := elect(t, v, 0, map[string][]int32{name: {partition}})
			p := scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
			t.Code(name, p.ErrorCode, kerr.UnknownTopicOrPartition)
		}
	})
}

func electType(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.ElectLeaders, 1, 2, func(v int16) {
		for _, name := range []string{topic, t.Name("missing")} {
			resp := elect(t, v, 2, map[string][]int32{name: {0}})
			t.Code("elect", resp.ErrorCode, kerr.InvalidRequest)
			p := scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
			t.Code("partition", p.ErrorCode, kerr.InvalidRequest)
			t.Contains("message", p.ErrorMessage, "2")
		}
		resp := elect(t, v, 2, nil)
		t.Code("elect all", resp.ErrorCode, kerr.InvalidRequest)
		scenario.Equal(t, "topics", len(resp.Topics), 0)
	})
}

func electAnswers(t *scenario.T) {
	topic, missing := t.Topic(2), t.Name("missing")
	t.Each(kmsg.ElectLeaders, 0, 2, func(v int16) {
		got := elect(t, v, 0, map[string][]int32{topic: {0, 2, -1}, missing: {0}})
		answered := func(n int32, e *kerr.Error, says string) kmsg.ElectLeadersResponseTopicPartition {
			return kmsg.ElectLeadersResponseTopicPartition{Partition: n, ErrorCode: e.Code, ErrorMessage: &says}
		}
		want := kmsg.NewPtrElectLeadersResponse()
		want.Topics = []kmsg.ElectLeadersResponseTopic{
			{Topic: topic, Partitions: []kmsg.ElectLeadersResponseTopicPartition{
				answered(-1, kerr.UnknownTopicOrPartition, "No such partition as "+topic+"--1"),
				answered(0, kerr.ElectionNotNeeded, "Leader election not needed for topic partition."),
				answered(2, kerr.UnknownTopicOrPartition, "No such partition as "+topic+"-2"),
			}},
			{Topic: missing, Partitions: []kmsg.ElectLeadersResponseTopicPartition{answered(0, kerr.UnknownTopicOrPartition, "No such topic as "+missing)}},
		}
		for _, r := range []*kmsg.ElectLeadersResponse{got, want} {
			slices.SortFunc(r.Topics, func(a, b kmsg.ElectLeadersResponseTopic) int { return strings.Compare(a.Topic, b.Topic) })
			for _, rt := range r.Topics {
				slices.SortFunc(rt.Partitions, func(a, b kmsg.ElectLeadersResponseTopicPartition) int { return int(a.Partition - b.Partition) })
			}
		}
		scenario.Whole(t, "ElectLeaders", got, want)
	})
}
