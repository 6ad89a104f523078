package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	record "github.com/moldau-broker/moldau/protocol/metadata"
)

// TestListConfigResources: kinds in Kafka's order; of brokers those that the
// client's listener leads to, fenced or not; of groups and client metrics those with
// settings.
func TestListConfigResources(t *testing.T) {
	n := newNode(t, 2)
	n.topic("b", 1, 1)
	n.topic("a", 2, 1)
	n.commit(
		&record.RegisterBroker{BrokerID: 3, BrokerEpoch: 30, LogDirs: [][16]byte{{3}}, EndPoints: []record.Endpoint{{Name: "INTERNAL", Host: "h", Port: 1}}},
		&record.BrokerRegistrationChange{BrokerID: 2, BrokerEpoch: 11, Fenced: record.Fence},
		&record.Config{ResourceType: int8(kmsg.ConfigResourceTypeTopic), ResourceName: "a", Name: "retention.ms", Value: kmsg.StringPtr("1")},
		&record.Config{ResourceType: int8(kmsg.ConfigResourceTypeGroupConfig), ResourceName: "g", Name: "consumer.session.timeout.ms", Value: kmsg.StringPtr("50000")},
		&record.Config{ResourceType: int8(kmsg.ConfigResourceTypeGroupConfig), ResourceName: "gone", Name: "consumer.session.timeout.ms", Value: kmsg.StringPtr("50000")},
		&record.Config{ResourceType: int8(kmsg.ConfigResourceTypeGroupConfig), ResourceName: "gone", Name: "consumer.session.timeout.ms"},
		&record.Config{ResourceType: int8(kmsg.ConfigResourceTypeClientMetrics), ResourceName: "m", Name: "interval.ms", Value: kmsg.StringPtr("1000")},
	)
	type resource struct {
		Kind int8
		Name string
	}
	list := func(version int16, kinds ...int8) ([]resource, int16) {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = version, kinds
		resp := ask(t, n.Env, req).(*kmsg.ListConfigResourcesResponse)
		var got []resource
		for _, r := range resp.ConfigResources {
			got = append(got, resource{r.Type, r.Name})
		}
		return got, resp.ErrorCode
	}
	for _, tc := range []struct {
		kinds []int8
		want  []resource
	}{
		{nil, []resource{{32, "g"}, {16, "m"}, {8, "1"}, {8, "2"}, {4, "1"}, {4, "2"}, {2, "a"}, {2, "b"}}},
		{[]int8{2, 32, 2}, []resource{{32, "g"}, {2, "a"}, {2, "b"}}},
	} {
		if got, code := list(1, tc.kinds...); code != 0 || !cmp.Equal(got, tc.want) {
			t.Errorf("kinds %v: %v, error %d, want %v", tc.kinds, got, code, tc.want)
		}
	}
	for _, kind := range []int8{0, 1, 3, -1} {
		if got, code := list(1, 2, kind); code != kerr.UnsupportedVersion.Code || got != nil {
			t.Errorf("kind %d: %v, error %d", kind, got, code)
		}
	}
	if got, code := list(0); code != 0 || len(got) != 1 || got[0].Name != "m" {
		t.Errorf("version 0: %v, error %d", got, code)
	}
	n.Authorize = deny(kmsg.ACLResourceTypeCluster)
	if got, code := list(1); code != kerr.ClusterAuthorizationFailed.Code || got != nil {
		t.Errorf("not allowed: %v, error %d", got, code)
	}
}
