package controller

import (
	"iter"
	"maps"
	"slices"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Snapshot lists the records that make the image from nothing, in the order in
// which Kafka writes them: features with metadata.version first, nodes, topics with
// their partitions, settings, quotas, producer ids, security. Within each the order
// is that of names and ids, so that two nodes write the same bytes.
func Snapshot(im *Image) iter.Seq[coordinator.Record] {
	return func(yield func(coordinator.Record) bool) {
		for r := range im.state.records() {
			value := metadata.Encode(r, im.state.level.VersionOf(r))
			if !yield(coordinator.Record{Value: value}) {
				return
			}
		}
	}
}

// records lists the same, not encoded.
func (s *state) records() iter.Seq[metadata.Record] {
	return func(yield func(metadata.Record) bool) {
		_ = s.featureRecords(yield) && s.nodeRecords(yield) && s.topicRecords(yield) &&
			s.configRecords(yield) && s.otherRecords(yield)
	}
}

func (s *state) featureRecords(yield func(metadata.Record) bool) bool {
	if s.level == 0 {
		return true // Nothing was ever written.
	}
	if !yield(&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: int16(s.level)}) {
		return false
	}
	for name, level := range s.features.Scan {
		if !yield(&metadata.FeatureLevel{Name: name, FeatureLevel: level}) {
			return false
		}
	}
	return true
}

func (s *state) nodeRecords(yield func(metadata.Record) bool) bool {
	for b := range values(s.brokers) {
		if !yield(b.record(s.level)) {
			return false
		}
	}
	for c := range values(s.controllers) {
		if !yield(&metadata.RegisterController{
			ControllerID: c.ID, IncarnationID: c.Incarnation,
			EndPoints: endpointRecords(c.Endpoints), Features: featureRecords(c.Features),
		}) {
			return false
		}
	}
	return true
}

// record is the broker's registration as a record.
func (b *Broker) record(level metadata.Level) *metadata.RegisterBroker {
	r := &metadata.RegisterBroker{
		BrokerID: b.ID, IncarnationID: b.Incarnation, BrokerEpoch: b.Epoch,
		EndPoints: endpointRecords(b.Endpoints), Features: featureRecords(b.Features),
		Rack: b.Rack, Fenced: b.Fenced, InControlledShutdown: b.ShuttingDown,
	}
	if level.RegisterBrokerVersion() >= 3 {
		r.LogDirs = b.Dirs
	}
	if level.RegisterBrokerVersion() >= 4 {
		r.CordonedLogDirs = b.Cordoned
	}
	return r
}

func endpointRecords(in []Endpoint) []metadata.Endpoint {
	var out []metadata.Endpoint
	for _, e := range in {
		out = append(out, metadata.Endpoint{Name: e.Listener, Host: e.Host, Port: e.Port, SecurityProtocol: e.Protocol})
	}
	return out
}

func featureRecords(in map[string]FeatureRange) []metadata.FeatureRange {
	var out []metadata.FeatureRange
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out = append(out, metadata.FeatureRange{Name: name, MinSupportedVersion: in[name].Min, MaxSupportedVersion: in[name].Max})
	}
	return out
}

func (s *state) topicRecords(yield func(metadata.Record) bool) bool {
	for t := range values(s.topics) {
		if !yield(&metadata.Topic{Name: t.Name, TopicID: t.ID}) {
			return false
		}
		for _, p := range t.Partitions {
			if !yield(s.partitionRecord(t.ID, p)) {
				return false
			}
		}
	}
	return true
}

// partitionRecord is all of a partition as a record.
func (s *state) partitionRecord(topic [16]byte, p *Partition) *metadata.Partition {
	r := &metadata.Partition{
		PartitionID: p.ID, TopicID: topic,
		Replicas: p.Replicas, ISR: p.ISR, RemovingReplicas: p.Removing, AddingReplicas: p.Adding,
		Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
	}
	if p.Recovering {
		r.LeaderRecoveryState = metadata.Recovering
	}
	if s.level.Directories() {
		r.Directories = p.Directories
	}
	if s.level.PartitionVersion() >= 2 {
		r.ELR, r.LastKnownELR = dense(p.ELR), dense(p.LastKnownELR)
	}
	return r
}

func (s *state) configRecords(yield func(metadata.Record) bool) bool {
	for key, set := range s.configs.Scan {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if !yield(&metadata.Config{ResourceType: int8(key[0]), ResourceName: key[1:], Name: name, Value: new(set[name])}) {
				return false
			}
		}
	}
	return true
}

func (s *state) otherRecords(yield func(metadata.Record) bool) bool {
	for r := range values(s.quotas) {
		if !yield(r) {
			return false
		}
	}
	if s.producerID >= 0 && !yield(&metadata.ProducerIDs{BrokerID: -1, BrokerEpoch: -1, NextProducerID: s.producerID}) {
		return false
	}
	for r := range values(s.acls) {
		if !yield(r) {
			return false
		}
	}
	for r := range values(s.credentials) {
		if !yield(r) {
			return false
		}
	}
	for r := range values(s.tokens) {
		if !yield(r) {
			return false
		}
	}
	return true
}
