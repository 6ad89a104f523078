package controller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// feature is what is known of one feature besides metadata.version.
type feature struct {
	max int16
	// bootstrap holds, for each level from 1, the level of metadata.version from
	// which on a new cluster finalizes it.
	bootstrap []metadata.Level
	// needs is the level of metadata.version that level 1 depends on.
	needs metadata.Level
}

// known lists the features of Kafka 4.2 and the levels that its own release
// supports.
var known = map[string]feature{
	metadata.FeatureTransaction: {2, []metadata.Level{24, 24}, 0},
	metadata.FeatureGroup:       {1, []metadata.Level{22}, 0},
	metadata.FeatureELR:         {1, []metadata.Level{26}, metadata.Level40IV1},
	metadata.FeatureShare:       {1, []metadata.Level{28}, 0},
	metadata.FeatureStreams:     {1, []metadata.Level{29}, 0},
}

// SupportedFeatures returns the levels that Kafka 4.2 supports.
func SupportedFeatures() map[string]FeatureRange {
	out := map[string]FeatureRange{
		metadata.FeatureMetadataVersion: {int16(metadata.Level33IV3), int16(metadata.Level42IV1)},
		metadata.FeatureKRaftVersion:    {0, 1},
	}
	for name, f := range known {
		out[name] = FeatureRange{0, f.max}
	}
	return out
}

// Bootstrap returns what the log of a new cluster begins with at a level of
// metadata.version: the levels that Kafka's formatter finalizes by default.
func Bootstrap(level metadata.Level) []metadata.Record {
	out := []metadata.Record{&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: int16(level)}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		var finalized int16
		for i, from := range known[name].bootstrap {
			if level >= from {
				finalized = int16(i) + 1
			}
		}
		if finalized > 0 {
			out = append(out, &metadata.FeatureLevel{Name: name, FeatureLevel: finalized})
		}
	}
	return out
}

// activation is what a controller writes before it serves: an empty log's first
// records, as one transaction, or the end of one that its predecessor left open.
func (s *Shard) activation() []metadata.Record {
	var out []metadata.Record
	level := s.level
	if s.before != nil {
		out = append(out, &metadata.AbortTransaction{Reason: new("Controller failover")})
		level = s.before.level // Perhaps the first records were never ended.
	}
	if level != 0 {
		return out
	}
	var elr bool
	for _, r := range s.cfg.Bootstrap {
		if f, ok := r.(*metadata.FeatureLevel); ok {
			elr = elr || f.Name == metadata.FeatureELR && f.FeatureLevel > 0
			if f.Name == metadata.FeatureMetadataVersion {
				level = metadata.Level(f.FeatureLevel)
			}
		}
	}
	if level == 0 {
		panic("BUG: Config.Bootstrap does not set metadata.version")
	}
	if level.Transactions() {
		out = append(out, &metadata.BeginTransaction{Name: new("Bootstrap records")})
	}
	out = append(out, s.cfg.Bootstrap...)
	if elr {
		// With ELR a partition's leader depends on the bound, so that it must be the
		// same for all brokers.
		out = append(out, minISRConfig(new(strconv.Itoa(s.cfg.MinInsyncReplicas)), ""))
	}
	if level.Transactions() {
		out = append(out, &metadata.EndTransaction{})
	}
	return out
}

func minISRConfig(value *string, broker string) *metadata.Config {
	return &metadata.Config{ResourceType: int8(KindBroker), ResourceName: broker, Name: minInsyncReplicas, Value: value}
}

// Types of an UpdateFeatures request.
const (
	upgrade         int8 = 1
	safeDowngrade   int8 = 2
	unsafeDowngrade int8 = 3
)

// updateFeatures serves UpdateFeatures: all of the request, or nothing.
func (s *Shard) updateFeatures(_ *step, req *kmsg.UpdateFeaturesRequest) ([]metadata.Record, *kmsg.UpdateFeaturesResponse) {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	proposed := maps.Collect(s.features.Scan)
	proposed[metadata.FeatureMetadataVersion] = int16(s.level)
	for _, u := range req.FeatureUpdates {
		proposed[u.Feature] = u.MaxVersionLevel
	}
	var recs []metadata.Record
	for _, u := range req.FeatureUpdates {
		r, refusal := s.updateFeature(u, req.Version, proposed)
		if refusal != nil {
			resp.ErrorCode = refusal.code()
			resp.ErrorMessage = new("The update failed for all features since the following feature had an error: " + refusal.Message)
			return nil, resp
		}
		recs = append(recs, r)
	}
	if req.Version <= 1 {
		for _, u := range req.FeatureUpdates {
			r := kmsg.NewUpdateFeaturesResponseResult()
			r.Feature = u.Feature
			resp.Results = append(resp.Results, r)
		}
	}
	if req.ValidateOnly {
		return nil, resp
	}
	for _, u := range req.FeatureUpdates {
		if u.Feature == metadata.FeatureELR && u.MaxVersionLevel > 0 {
			recs = append(s.elrSafety(), recs...)
		}
	}
	return recs, resp
}

// elrSafety makes min.insync.replicas the same for all brokers before ELR begins.
func (s *Shard) elrSafety() []metadata.Record {
	var recs []metadata.Record
	if _, ok := s.clusterConfig()[minInsyncReplicas]; !ok {
		recs = append(recs, minISRConfig(new(strconv.Itoa(s.cfg.MinInsyncReplicas)), ""))
	}
	for key, set := range s.configs.Scan {
		if _, ok := set[minInsyncReplicas]; ok && ConfigKind(key[0]) == KindBroker && len(key) > 1 {
			recs = append(recs, minISRConfig(nil, key[1:]))
		}
	}
	return recs
}

// updateFeature checks one update and makes its record.
func (s *Shard) updateFeature(u kmsg.UpdateFeaturesRequestFeatureUpdate, version int16, proposed map[string]int16) (metadata.Record, *Refusal) {
	refusal := func(why string) *Refusal {
		return refuse(kerr.InvalidUpdateVersion, "Invalid update version %d for feature %s. %s", u.MaxVersionLevel, u.Feature, why)
	}
	kind := u.UpgradeType
	if version == 0 {
		kind = upgrade
		if u.AllowDowngrade {
			kind = safeDowngrade
		}
	}
	current := s.feature(u.Feature)
	if u.Feature == metadata.FeatureKRaftVersion {
		current = s.cfg.KRaftVersion()
	}
	switch why := s.unsupported(u.Feature, u.MaxVersionLevel); {
	case kind < upgrade || kind > unsafeDowngrade:
		return nil, refusal("The controller does not support the given upgrade type.")
	case u.MaxVersionLevel < 0:
		return nil, refusal("A feature version cannot be less than 0.")
	case why != "":
		return nil, refusal(why)
	case u.MaxVersionLevel < current && kind == upgrade:
		return nil, refusal("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case u.MaxVersionLevel > current && kind != upgrade:
		return nil, refusal("Can't downgrade to a newer version.")
	case u.Feature == metadata.FeatureMetadataVersion:
		return s.updateLevel(metadata.Level(u.MaxVersionLevel), kind)
	case u.Feature == metadata.FeatureKRaftVersion && u.MaxVersionLevel != current:
		// It is a control record: the quorum changes it.
		return nil, refusal("Can't change the version of this feature here.")
	case u.Feature == metadata.FeatureKRaftVersion:
		return &metadata.NoOp{}, nil
	}
	if f := known[u.Feature]; u.MaxVersionLevel > 0 && f.needs > 0 && proposed[metadata.FeatureMetadataVersion] < int16(f.needs) {
		return nil, refusal(fmt.Sprintf("%s could not be set to %d because it depends on %s level %d",
			u.Feature, u.MaxVersionLevel, metadata.FeatureMetadataVersion, f.needs))
	}
	return &metadata.FeatureLevel{Name: u.Feature, FeatureLevel: u.MaxVersionLevel}, nil
}

// updateLevel checks an update of metadata.version: going down must lose nothing.
func (s *Shard) updateLevel(to metadata.Level, kind int8) (metadata.Record, *Refusal) {
	if to < s.level && s.level.ChangedSince(to) {
		why := "Refusing to perform the requested downgrade because it might delete metadata information."
		if kind == unsafeDowngrade {
			why = "Unsafe metadata downgrade is not supported in this version."
		}
		return nil, refuse(kerr.InvalidUpdateVersion, "Unsupported metadata.version downgrade from %d to %d. %s", int16(s.level), int16(to), why)
	}
	return &metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: int16(to)}, nil
}

// unsupported says which node does not support a level, and how; "" if all do.
func (s *Shard) unsupported(name string, level int16) string {
	reason := func(what string, r FeatureRange) string {
		switch {
		case r.contains(level):
			return ""
		case r.Max == 0:
			return what + " does not support this feature."
		case r.Min == r.Max:
			return fmt.Sprintf("%s only supports versions %d", what, r.Min)
		}
		return fmt.Sprintf("%s only supports versions %d-%d", what, r.Min, r.Max)
	}
	if why := reason(fmt.Sprintf("Local controller %d", s.cfg.NodeID), s.cfg.Supported[name]); why != "" {
		return why
	}
	for b := range values(s.brokers) {
		if why := reason(fmt.Sprintf("Broker %d", b.ID), b.Features[name]); why != "" {
			return why
		}
	}
	for c := range values(s.controllers) {
		if why := reason(fmt.Sprintf("Controller %d", c.ID), c.Features[name]); c.ID != s.cfg.NodeID && why != "" {
			return why
		}
	}
	for _, id := range s.cfg.Voters() {
		if _, ok := s.controllers.Get(id); id != s.cfg.NodeID && !ok {
			return fmt.Sprintf("controller %d has not registered, and may not support this feature", id)
		}
	}
	return ""
}
