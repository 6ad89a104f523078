package controller

import "github.com/moldau-broker/moldau/coordinator"

// Replica makes images from a metadata log that another controller writes. It is
// fed committed records only: those of a snapshot, then those of the log after it.
// One goroutine may use it.
type Replica struct {
	clusterID string
	journal   *journal
	published int64
}

// NewReplica returns the replica of an empty log. supported are the levels of
// features that this node understands; nil is SupportedFeatures().
func NewReplica(clusterID string, supported map[string]FeatureRange) *Replica {
	if supported == nil {
		supported = SupportedFeatures()
	}
	return &Replica{clusterID: clusterID, journal: newJournal(supported), published: -1}
}

// Replay applies one record. After an error the replica is of no more use.
func (r *Replica) Replay(at coordinator.At, rec coordinator.Record) error {
	return r.journal.replay(at.Offset, rec.Value)
}

// Image returns the image at an offset, up to which all records were given, and
// false in the midst of a metadata transaction: no image may show a part of one.
// Its delta leads from the image returned before.
func (r *Replica) Image(offset int64, controllerID, epoch int32) (*Image, bool) {
	j := r.journal
	if j.before != nil {
		return nil, false
	}
	im := &Image{Offset: offset, Epoch: epoch, ClusterID: r.clusterID, controller: controllerID, state: j.copy()}
	im.delta = j.changes.delta(r.published, &im.state)
	j.changes = newChanges()
	r.published = offset
	return im, true
}
