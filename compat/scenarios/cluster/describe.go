package cluster

import (
	"fmt"
	"math"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// describeScenarios are about DescribeCluster, and what else is told of the cluster as a
// whole.
var describeScenarios = []scenario.Scenario{
	{ID: "cluster.describe", Says: "DescribeCluster tells cluster id, brokers and a controller.", Refs: []string{"KIP-700", "nisshi#443", "case A17"}, Run: describeCluster},
	{ID: "cluster.describe.operations", Says: "DescribeCluster tells authorized operations when asked for.", Refs: []string{"KIP-700", "kafka-ui#3141", "case A17"}, Run: describeClusterOperations},
	{ID: "cluster.describe.endpoint-type", Says: "A broker answers for brokers: controllers are MISMATCHED_ENDPOINT_TYPE, others UNSUPPORTED_ENDPOINT_TYPE.", Refs: []string{"KIP-919"}, Since: "3.7", Run: describeClusterEndpoints},
	{ID: "cluster.acls.disabled", Says: "Without an authorizer DescribeAcls is SECURITY_DISABLED.", Refs: []string{"kafka-ui#3820"}, Run: describeACLs},
	{ID: "cluster.features.update", Says: "UpdateFeatures refuses features that are not and levels that are not supported.", Refs: []string{"KIP-584", "KIP-1022"}, Run: updateFeatures},
	{ID: "cluster.describe.whole-answer", Says: "DescribeCluster tells what Metadata does of brokers, and nothing of endpoints of another type.", Refs: []string{"KIP-700", "KIP-919", "KIP-1073"}, Run: describeClusterAnswers},
	{ID: "cluster.acls.disabled.whole-answer", Says: "DescribeAcls without an authorizer tells SECURITY_DISABLED and why.", Run: describeACLAnswers},
}

func describeCluster(t *scenario.T) {
	t.Each(kmsg.DescribeCluster, 0, 2, func(v int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 1
		resp := scenario.Ask[*kmsg.DescribeClusterResponse](t, v, req)
		t.OK("describe", resp.ErrorCode)
		if resp.ClusterID == "" {
			t.Fatalf("there is no cluster id")
		}
		if v >= 1 {
			scenario.Equal(t, "endpoint type", resp.EndpointType, 1)
		}
		ids := map[int32]bool{}
		for _, b := range resp.Brokers {
			ids[b.NodeID] = true
			scenario.Equal(t, "fenced", b.IsFenced, false)
			if b.Host == "" || b.Port <= 0 {
				t.Fatalf("broker %d at host %q port %d", b.NodeID, b.Host, b.Port)
			}
		}
		scenario.Equal(t, "this broker is told", ids[t.Node()], true)
		scenario.Equal(t, "the controller is a broker", ids[resp.ControllerID], true)
		scenario.Equal(t, "operations not asked for", resp.ClusterAuthorizedOperations, math.MinInt32)
	})
}

func describeClusterOperations(t *scenario.T) {
	t.Each(kmsg.DescribeCluster, 0, 2, func(v int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType, req.IncludeClusterAuthorizedOperations = 1, true
		got := scenario.Ask[*kmsg.DescribeClusterResponse](t, v, req).ClusterAuthorizedOperations
		if got&^(1<<13|1<<14) != scenario.ClusterOperations {
			t.Fatalf("operations: got %b, want %b", got, scenario.ClusterOperations)
		}
	})
}

func describeClusterEndpoints(t *scenario.T) {
	t.Each(kmsg.DescribeCluster, 1, 2, func(v int16) {
		for endpoint, want := range map[int8]*kerr.Error{2: kerr.MismatchedEndpointType, 3: kerr.UnsupportedEndpointType, 0: kerr.UnsupportedEndpointType} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = endpoint
			resp := scenario.Ask[*kmsg.DescribeClusterResponse](t, v, req)
			t.Code(fmt.Sprint("endpoint type ", endpoint), resp.ErrorCode, want)
			if resp.ErrorMessage == nil {
				t.Fatalf("there is no error message")
			}
		}
	})
}

func describeACLs(t *scenario.T) {
	t.Each(kmsg.DescribeACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		resp := scenario.Ask[*kmsg.DescribeACLsResponse](t, v, req)
		t.Code("describe", resp.ErrorCode, kerr.SecurityDisabled)
		if resp.ErrorMessage == nil {
			t.Fatalf("there is no error message")
		}
		scenario.Equal(t, "resources", len(resp.Resources), 0)
	})
}

func updateFeatures(t *scenario.T) {
	t.Each(kmsg.UpdateFeatures, 0, 2, func(v int16) {
		for _, f := range []struct {
			name  string
			level int16
		}{{"no.such.feature", 1}, {"metadata.version", 30000}, {"metadata.version", -1}} {
			req := kmsg.NewPtrUpdateFeaturesRequest()
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType = f.name, f.level, 1
			req.FeatureUpdates = append(req.FeatureUpdates, u)
			req.ValidateOnly = v >= 1
			resp := scenario.Ask[*kmsg.UpdateFeaturesResponse](t, v, req)
			code := resp.ErrorCode
			for _, r := range resp.Results {
				code = r.ErrorCode
			}
			t.Code(fmt.Sprint(f), code, kerr.InvalidUpdateVersion)
		}
	})
}

func describeClusterAnswers(t *scenario.T) {
	b := t.Broker()
	id := scenario.Ask[*kmsg.MetadataResponse](t, t.Newest(kmsg.Metadata, 9), scenario.MetadataRequest()).ClusterID
	t.Each(kmsg.DescribeCluster, 0, 2, func(v int16) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 1
		want := scenario.FilledPtr(func(r *kmsg.DescribeClusterResponse) {
			r.EndpointType, r.ClusterID, r.ControllerID, r.ClusterAuthorizedOperations = 1, *id, t.Node(), scenario.NotAsked
			r.Brokers = []kmsg.DescribeClusterResponseBroker{scenario.Filled(func(rb *kmsg.DescribeClusterResponseBroker) {
				rb.NodeID, rb.Host, rb.Port, rb.Rack = b.NodeID, b.Host, b.Port, b.Rack
			})}
		})
		scenario.Whole(t, "brokers", scenario.Ask[*kmsg.DescribeClusterResponse](t, v, req), want)
		if v >= 2 {
			req.IncludeFencedBrokers = true
			scenario.Whole(t, "fenced brokers too", scenario.Ask[*kmsg.DescribeClusterResponse](t, v, req), want)
		}
		if v < 1 {
			return
		}
		for endpoint, says := range map[int8]string{2: "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER", 3: "Unsupported endpoint type 3", 0: "Unsupported endpoint type 0"} {
			req.EndpointType = endpoint
			scenario.Whole(t, "endpoints of type "+strconv.Itoa(int(endpoint)), scenario.Ask[*kmsg.DescribeClusterResponse](t, v, req), scenario.FilledPtr(func(r *kmsg.DescribeClusterResponse) {
				r.ErrorCode, r.ErrorMessage = kerr.UnsupportedEndpointType.Code, &says
				if endpoint == 2 {
					r.ErrorCode = kerr.MismatchedEndpointType.Code
				}
				r.EndpointType, r.ControllerID, r.ClusterAuthorizedOperations = 1, -1, scenario.NotAsked
			}))
		}
	})
}

func describeACLAnswers(t *scenario.T) {
	t.Each(kmsg.DescribeACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		scenario.Whole(t, "DescribeACLs", scenario.Ask[*kmsg.DescribeACLsResponse](t, v, req), scenario.FilledPtr(func(r *kmsg.DescribeACLsResponse) {
			r.ErrorCode, r.ErrorMessage = kerr.SecurityDisabled.Code, new("No Authorizer is configured on the broker")
		}))
	})
}
