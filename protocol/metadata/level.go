package metadata

import (
	"slices"
	"strconv"
)

// The names of the features that a Kafka cluster finalizes.
const (
	FeatureMetadataVersion = "metadata.version"
	FeatureKRaftVersion    = "kraft.version"
	FeatureTransaction     = "transaction.version"
	FeatureGroup           = "group.version"
	FeatureELR             = "eligible.leader.replicas.version"
	FeatureShare           = "share.version"
	FeatureStreams         = "streams.version"
)

// Level is a level of the feature metadata.version: what the cluster may write.
type Level int16

// Levels that something here depends on; levels lists them all.
const (
	Level33IV3 Level = 7  // The oldest that Kafka 4 reads.
	Level34IV0 Level = 8  // RegisterBroker version 2.
	Level36IV0 Level = 12 // An ISR shrink no longer raises the leader epoch (KAFKA-15021).
	Level36IV1 Level = 13 // Metadata transactions.
	Level37IV0 Level = 15 // Controllers register.
	Level37IV2 Level = 17 // Directories (KIP-858).
	Level40IV1 Level = 23 // Eligible leader replicas (KIP-966).
	Level42IV1 Level = 29 // The newest of Kafka 4.2.
	Level43IV0 Level = 30 // Cordoned log directories.
	Level44IV2 Level = 33 // Controllers unregister (KIP-1312).
)

// levels lists the levels from Level33IV3 on: name, and whether the level changed
// records in a way that an older one cannot hold.
var levels = []struct {
	name    string
	changed bool
}{
	{"3.3-IV3", true},
	{"3.4-IV0", true},
	{"3.5-IV0", false},
	{"3.5-IV1", false},
	{"3.5-IV2", true},
	{"3.6-IV0", false},
	{"3.6-IV1", true},
	{"3.6-IV2", true},
	{"3.7-IV0", true},
	{"3.7-IV1", false},
	{"3.7-IV2", true},
	{"3.7-IV3", false},
	{"3.7-IV4", false},
	{"3.8-IV0", false},
	{"3.9-IV0", false},
	{"4.0-IV0", false},
	{"4.0-IV1", true},
	{"4.0-IV2", false},
	{"4.0-IV3", false},
	{"4.1-IV0", false},
	{"4.1-IV1", false},
	{"4.2-IV0", false},
	{"4.2-IV1", false},
	{"4.3-IV0", true},
	{"4.4-IV0", false},
	{"4.4-IV1", true},
	{"4.4-IV2", true},
}

// NewestLevel is the newest level that this package knows the name of.
const NewestLevel = Level44IV2

// String is Kafka's name, such as 4.2-IV1.
func (l Level) String() string {
	if i := int(l - Level33IV3); i >= 0 && i < len(levels) {
		return levels[i].name
	}
	return "unknown level " + strconv.Itoa(int(l))
}

// Known reports whether the level is one of Kafka's.
func (l Level) Known() bool { return l >= Level33IV3 && l <= NewestLevel }

// ParseLevel reads a name (4.2-IV1) or a release (4.2, 4.2.0: its newest level).
func ParseLevel(s string) (Level, bool) {
	if len(s) > 3 && s[3] == '.' {
		s = s[:3]
	}
	for i, l := range slices.Backward(levels) {
		if l.name == s || l.name[:3] == s {
			return Level33IV3 + Level(i), true
		}
	}
	return 0, false
}

// ChangedSince reports whether going from l down to older would lose records or
// fields.
func (l Level) ChangedSince(older Level) bool {
	for ; l > older; l-- {
		if levels[l-Level33IV3].changed {
			return true
		}
	}
	return false
}

// RegisterBrokerVersion is the version of RegisterBroker at this level.
func (l Level) RegisterBrokerVersion() int16 {
	switch {
	case l >= Level43IV0:
		return 4
	case l >= Level37IV2:
		return 3
	case l >= Level34IV0:
		return 2
	}
	return 1
}

// PartitionVersion is the version of Partition and PartitionChange at this level.
func (l Level) PartitionVersion() int16 {
	switch {
	case l >= Level40IV1:
		return 2
	case l >= Level37IV2:
		return 1
	}
	return 0
}

// Directories reports whether replicas have directories in the metadata (KIP-858).
func (l Level) Directories() bool { return l >= Level37IV2 }

// Transactions reports whether metadata transactions may be written (KIP-868).
func (l Level) Transactions() bool { return l >= Level36IV1 }

// VersionOf is the version in which r is written at this level.
func (l Level) VersionOf(r Record) int16 {
	switch r := r.(type) {
	case *RegisterBroker:
		return l.RegisterBrokerVersion()
	case *Partition, *PartitionChange:
		return l.PartitionVersion()
	case *BrokerRegistrationChange:
		return r.lowestVersion()
	}
	return 0
}

// lowestVersion is the oldest version that can hold r: Kafka writes this one.
func (r *BrokerRegistrationChange) lowestVersion() int16 {
	switch {
	case r.CordonedLogDirs != nil:
		return 3
	case len(r.LogDirs) > 0:
		return 2
	case r.InControlledShutdown != 0:
		return 1
	}
	return 0
}
