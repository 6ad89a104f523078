package api

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// listableKinds are the kinds of resources that ListConfigResources lists, in the
// order of its answer. Version 0 was ListClientMetricsResources and knows that kind
// alone.
var listableKinds = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics,
	kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic,
}

// listConfigResources serves ListConfigResources (74), versions 0 and 1: what
// settings can be described of. Groups and client metrics subscriptions are listed
// if somebody set something; topics and brokers always.
func listConfigResources(_ context.Context, env *Env, call *Call, req *kmsg.ListConfigResourcesRequest) (*kmsg.ListConfigResourcesResponse, error) {
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	if !env.MayCluster(call.Conn, kmsg.ACLOperationDescribeConfigs) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil
	}
	kinds := listableKinds
	if req.Version == 0 {
		kinds = []kmsg.ConfigResourceType{kmsg.ConfigResourceTypeClientMetrics}
	}
	for _, asked := range req.ResourceTypes {
		if !slices.Contains(kinds, kmsg.ConfigResourceType(asked)) {
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			return resp, nil
		}
	}
	im := env.Image()
	for _, kind := range kinds {
		if len(req.ResourceTypes) > 0 && !slices.Contains(req.ResourceTypes, int8(kind)) {
			continue
		}
		for _, name := range env.resourceNames(call.Conn, im, kind) {
			r := kmsg.NewListConfigResourcesResponseConfigResource()
			r.Type, r.Name = int8(kind), name
			if err := call.charge(&r); err != nil {
				return resp, err
			}
			resp.ConfigResources = append(resp.ConfigResources, r)
		}
	}
	return resp, nil
}

// resourceNames are the resources of a kind.
func (e *Env) resourceNames(c *Conn, im *controller.Image, kind kmsg.ConfigResourceType) (names []string) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		for t := range im.Topics() {
			names = append(names, t.Name)
		}
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for b := range im.Brokers() {
			if _, _, ok := e.endpoint(c, b); ok { // Fenced ones too.
				names = append(names, strconv.Itoa(int(b.ID)))
			}
		}
	default:
		for r := range im.ConfigResources() {
			if r.Kind == controller.ConfigKind(kind) {
				names = append(names, r.Name)
			}
		}
	}
	return names
}
