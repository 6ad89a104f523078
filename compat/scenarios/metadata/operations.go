package metadata

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// operationsScenarios are about authorized operations (KIP-430).
var operationsScenarios = []scenario.Scenario{
	{ID: "metadata.operations.topic", Says: "Authorized operations of topics are told from version 8 when asked for.", Refs: []string{"KIP-430"}, Run: metadataTopicOperations},
	{ID: "metadata.operations.cluster", Says: "Authorized operations of the cluster are told in versions 8 to 10 when asked for.", Refs: []string{"KIP-430", "KIP-700"}, Run: metadataClusterOperations},
	{ID: "metadata.operations.unknown-topic", Says: "Authorized operations are told of topics that there are not, too.", Refs: []string{"KIP-430"}, Run: operationsOfUnknown}, // Found by a differential run.
}

func metadataTopicOperations(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Metadata, 8, 13, func(v int16) {
		req := scenario.MetadataRequest(topic)
		rt := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
		scenario.Equal(t, "not asked for", rt.AuthorizedOperations, math.MinInt32)
		req.IncludeTopicAuthorizedOperations = true
		rt = scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
		scenario.Equal(t, "operations", rt.AuthorizedOperations, scenario.TopicOperations)
	})
}

func metadataClusterOperations(t *scenario.T) {
	t.Each(kmsg.Metadata, 8, 10, func(v int16) {
		req := scenario.MetadataRequest()
		scenario.Equal(t, "not asked for", scenario.Ask[*kmsg.MetadataResponse](t, v, req).AuthorizedOperations, math.MinInt32)
		req.IncludeClusterAuthorizedOperations = true
		got := scenario.Ask[*kmsg.MetadataResponse](t, v, req).AuthorizedOperations
		if got&^(1<<13|1<<14) != scenario.ClusterOperations { // Tokens may be there or not.
			t.Fatalf("operations: got %b, want %b", got, scenario.ClusterOperations)
		}
	})
}

func operationsOfUnknown(t *scenario.T) {
	name := t.Name("missing")
	t.Each(kmsg.Metadata, 8, 13, func(v int16) {
		req := kmsg.NewPtrMetadataRequest()
		req.IncludeTopicAuthorizedOperations = true
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		req.Topics = append(req.Topics, rt)
		got := scenario.One(t, "topics", scenario.Ask[*kmsg.MetadataResponse](t, v, req).Topics)
		t.Code("metadata", got.ErrorCode, kerr.UnknownTopicOrPartition)
		scenario.Equal(t, "operations", got.AuthorizedOperations, scenario.TopicOperations)
	})
}
