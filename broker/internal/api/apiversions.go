package api

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Features is what the cluster can do, beyond API versions (KIP-584).
type Features struct {
	// Supported are the levels that this release can work at, by name.
	Supported map[string]Levels
	// Finalized are the levels that the cluster works at, by name; level 0
	// is the same as absent.
	Finalized map[string]int16
	// Epoch is the offset in the metadata log that Finalized was read at, or
	// -1 before there is any.
	Epoch int64
}

// Levels is a range of feature levels, both ends included.
type Levels struct {
	Min, Max int16
}

// apiVersions serves ApiVersions (18), versions 0 to 4: it tells what the route
// table serves on this listener. From version 3 the client says which software
// it is; version 4 may be told of features whose lowest level is 0, which older
// Java clients cannot read (KAFKA-17492).
func apiVersions(_ context.Context, env *Env, call *Call, req *kmsg.ApiVersionsRequest) (*kmsg.ApiVersionsResponse, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	if req.Version >= 3 {
		if !softwareName.MatchString(req.ClientSoftwareName) || !softwareName.MatchString(req.ClientSoftwareVersion) {
			resp.ErrorCode = kerr.InvalidRequest.Code
			return resp, nil
		}
		call.Conn.SoftwareName, call.Conn.SoftwareVersion = req.ClientSoftwareName, req.ClientSoftwareVersion
	}
	for _, key := range slices.Sorted(maps.Keys(call.table)) {
		if r := call.table[key]; r.servedOn(call.Conn) {
			resp.ApiKeys = append(resp.ApiKeys, r.advertised(key))
		}
	}
	addFeatures(resp, env.features(), req.Version >= 4)
	return resp, nil
}

// softwareName is what a client may call itself and its version.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func addFeatures(resp *kmsg.ApiVersionsResponse, f Features, withZero bool) {
	for _, name := range slices.Sorted(maps.Keys(f.Supported)) {
		if f.Supported[name].Min == 0 && !withZero {
			continue
		}
		sf := kmsg.NewApiVersionsResponseSupportedFeature()
		sf.Name, sf.MinVersion, sf.MaxVersion = name, f.Supported[name].Min, f.Supported[name].Max
		resp.SupportedFeatures = append(resp.SupportedFeatures, sf)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Finalized)) {
		if f.Finalized[name] == 0 {
			continue
		}
		ff := kmsg.NewApiVersionsResponseFinalizedFeature()
		ff.Name, ff.MinVersionLevel, ff.MaxVersionLevel = name, f.Finalized[name], f.Finalized[name]
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, ff)
	}
	resp.FinalizedFeaturesEpoch = f.Epoch
}

// unknownAPIVersions answers an ApiVersions request of a version that is not
// served: in version 0, which every client reads, with the one line that tells
// it which version to ask with next (KIP-511). Its body is not looked at.
func unknownAPIVersions(call *Call, r route) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = append(resp.ApiKeys, r.advertised(call.Key))
	return resp
}
