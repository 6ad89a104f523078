package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Directory ids with a meaning of their own: those whose first 8 bytes are zero and
// whose last are below 100.
var (
	dirMigrating  = [16]byte{}      // From before directories were in the metadata.
	dirUnassigned = [16]byte{15: 1} // The broker has not chosen yet.
	dirLost       = [16]byte{15: 2} // No longer there.
)

func reservedDir(id [16]byte) bool {
	return [15]byte(id[:15]) == [15]byte{} && id[15] < 100
}

// journal is a state that follows its log, with what the log has changed since the
// last image was taken.
//
// Records between BeginTransaction and EndTransaction are applied at once, but no
// image shows them before the end: before is the state that images are made from
// meanwhile, and that an abort goes back to.
type journal struct {
	state
	supported map[string]FeatureRange
	changes   *changes // Since the last image; nil: all is new.

	before        *state // Of the open transaction; nil if there is none.
	beforeChanges *changes
}

func newJournal(supported map[string]FeatureRange) *journal {
	return &journal{state: newState(), supported: supported}
}

// replay applies one record. An error means that this release cannot follow the
// log, or that the log contradicts itself.
func (j *journal) replay(offset int64, value []byte) error {
	r, err := metadata.Decode(value)
	if err != nil {
		return err
	}
	j.end = offset + 1
	if err := j.apply(r); err != nil {
		return fmt.Errorf("%s: %w", r.Key(), err)
	}
	return nil
}

func (j *journal) apply(r metadata.Record) error {
	switch r := r.(type) {
	case *metadata.Topic:
		return j.applyTopic(r)
	case *metadata.Partition:
		return j.applyPartition(r)
	case *metadata.PartitionChange:
		return j.applyPartitionChange(r)
	case *metadata.RemoveTopic:
		return j.applyRemoveTopic(r)
	case *metadata.ClearELR:
		return j.applyClearELR(r)
	case *metadata.Config:
		j.applyConfig(r)
	case *metadata.FeatureLevel:
		return j.applyFeature(r)
	case *metadata.ProducerIDs:
		if r.NextProducerID <= j.producerID {
			return fmt.Errorf("next producer id falls from %d to %d", j.producerID, r.NextProducerID)
		}
		j.producerID = r.NextProducerID
	case *metadata.BeginTransaction, *metadata.EndTransaction, *metadata.AbortTransaction:
		return j.applyTransaction(r)
	case *metadata.NoOp, *metadata.ZkMigrationState:
	default:
		return j.applyOther(r)
	}
	return nil
}

func (j *journal) applyOther(r metadata.Record) error {
	switch r := r.(type) {
	case *metadata.RegisterBroker, *metadata.UnregisterBroker, *metadata.BrokerRegistrationChange,
		*metadata.FenceBroker, *metadata.UnfenceBroker:
		return j.applyBroker(r)
	case *metadata.RegisterController:
		j.controllers.Set(r.ControllerID, &Controller{
			ID: r.ControllerID, Incarnation: r.IncarnationID,
			Endpoints: endpoints(r.EndPoints), Features: featureRanges(r.Features),
		})
	case *metadata.UnregisterController:
		if _, ok := j.controllers.Delete(r.ControllerID); !ok {
			return fmt.Errorf("controller %d is not registered", r.ControllerID)
		}
	default:
		return j.applySecurity(r)
	}
	return nil
}

func (j *journal) applySecurity(r metadata.Record) error {
	switch r := r.(type) {
	case *metadata.AccessControlEntry:
		j.acls.Set(string(r.ID[:]), r)
		j.changes.security()
	case *metadata.RemoveAccessControlEntry:
		j.acls.Delete(string(r.ID[:]))
		j.changes.security()
	case *metadata.UserScramCredential:
		j.credentials.Set(credentialKey(r.Mechanism, r.Name), r)
		j.changes.security()
	case *metadata.RemoveUserScramCredential:
		j.credentials.Delete(credentialKey(r.Mechanism, r.Name))
		j.changes.security()
	case *metadata.DelegationToken:
		j.tokens.Set(r.TokenID, r)
		j.changes.security()
	case *metadata.RemoveDelegationToken:
		j.tokens.Delete(r.TokenID)
		j.changes.security()
	case *metadata.ClientQuota:
		if r.Remove {
			j.quotas.Delete(quotaKey(r))
		} else {
			j.quotas.Set(quotaKey(r), r)
		}
		j.changes.quotas()
	default:
		panic(fmt.Sprintf("BUG: no rule for %s", r.Key()))
	}
	return nil
}

func credentialKey(mechanism int8, user string) string { return string(byte(mechanism)) + user }

// quotaKey orders quotas by entity, whatever the order of its parts, then by what
// is limited.
func quotaKey(r *metadata.ClientQuota) string {
	parts := slices.SortedFunc(slices.Values(r.Entity), func(a, b metadata.QuotaEntity) int {
		return cmp.Compare(a.Type, b.Type)
	})
	var key strings.Builder
	for _, p := range parts {
		key.WriteString(p.Type)
		if p.Name != nil {
			key.WriteString("\x01" + *p.Name)
		}
		key.WriteByte(0)
	}
	return key.String() + "\x00" + r.Name
}

func (j *journal) applyTopic(r *metadata.Topic) error {
	if old, ok := j.topics.Get(r.Name); ok {
		return fmt.Errorf("topic %s exists, with id %x", r.Name, old.ID)
	}
	if old, ok := j.topicByID(r.TopicID); ok {
		return fmt.Errorf("topic id %x exists, of %s", r.TopicID, old.Name)
	}
	j.setTopic(&Topic{ID: r.TopicID, Name: r.Name, owner: j.generation})
	if key, ok := collisionKey(r.Name); ok {
		j.collisions.Set(key+r.Name, r.Name)
	}
	j.changes.created(r.TopicID)
	return nil
}

func (j *journal) applyPartition(r *metadata.Partition) error {
	t, ok := j.topicByID(r.TopicID)
	if !ok {
		return fmt.Errorf("no topic has the id %x", r.TopicID)
	}
	if r.PartitionID < 0 || int(r.PartitionID) > len(t.Partitions) {
		return fmt.Errorf("partition %d of %s, which has %d", r.PartitionID, t.Name, len(t.Partitions))
	}
	dirs, err := replicaDirs(r.Directories, len(r.Replicas))
	if err != nil {
		return fmt.Errorf("partition %s-%d: %w", t.Name, r.PartitionID, err)
	}
	j.setPartition(t, &Partition{
		ID: r.PartitionID, Replicas: r.Replicas, ISR: r.ISR, Adding: r.AddingReplicas, Removing: r.RemovingReplicas,
		Directories: dirs, ELR: dense(r.ELR), LastKnownELR: dense(r.LastKnownELR),
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
		Recovering: r.LeaderRecoveryState == metadata.Recovering,
	})
	j.changes.changed(r.TopicID)
	return nil
}

// replicaDirs gives every replica a directory: partitions from before KIP-858 have
// none in their records.
func replicaDirs(dirs [][16]byte, replicas int) ([][16]byte, error) {
	if !slices.ContainsFunc(dirs, func(d [16]byte) bool { return d != dirMigrating }) {
		return make([][16]byte, replicas), nil
	}
	if len(dirs) != replicas {
		return nil, fmt.Errorf("%d directories for %d replicas", len(dirs), replicas)
	}
	return dirs, nil
}

// dense makes no difference between null and empty, as a partition does not.
func dense[T any](v []T) []T {
	if len(v) == 0 {
		return nil
	}
	return v
}

func (j *journal) applyPartitionChange(r *metadata.PartitionChange) error {
	t, ok := j.topicByID(r.TopicID)
	if !ok {
		return fmt.Errorf("no topic has the id %x", r.TopicID)
	}
	p, ok := t.partition(r.PartitionID)
	if !ok {
		return fmt.Errorf("partition %d of %s, which has %d", r.PartitionID, t.Name, len(t.Partitions))
	}
	next, err := p.merge(r)
	if err != nil {
		return fmt.Errorf("partition %s-%d: %w", t.Name, p.ID, err)
	}
	j.setPartition(t, next)
	j.changes.changed(r.TopicID)
	return nil
}

// merge is the partition after a change.
func (p *Partition) merge(r *metadata.PartitionChange) (*Partition, error) {
	n := *p
	n.PartitionEpoch++
	replace(&n.ISR, r.ISR)
	replace(&n.Replicas, r.Replicas)
	replace(&n.Removing, r.RemovingReplicas)
	replace(&n.Adding, r.AddingReplicas)
	replace(&n.ELR, r.ELR)
	replace(&n.LastKnownELR, r.LastKnownELR)
	replace(&n.Directories, r.Directories)
	if r.Leader != metadata.LeaderAsBefore {
		n.Leader = r.Leader
		n.LeaderEpoch++
	}
	if r.LeaderRecoveryState != metadata.RecoveryAsBefore {
		n.Recovering = r.LeaderRecoveryState == metadata.Recovering
	}
	var err error
	n.Directories, err = replicaDirs(n.Directories, len(n.Replicas))
	return &n, err
}

func replace[T any](v *[]T, with []T) {
	if with != nil {
		*v = dense(with)
	}
}

func (j *journal) applyRemoveTopic(r *metadata.RemoveTopic) error {
	t, ok := j.topicIDs.Delete(string(r.TopicID[:]))
	if !ok {
		return fmt.Errorf("no topic has the id %x", r.TopicID)
	}
	j.topics.Delete(t.Name)
	if key, ok := collisionKey(t.Name); ok {
		j.collisions.Delete(key + t.Name)
	}
	j.changes.deleted(t)
	resource := ConfigResource{KindTopic, t.Name}
	if _, ok := j.configs.Delete(configKey(resource)); ok {
		j.changes.config(resource)
	}
	return nil
}

func (j *journal) applyClearELR(r *metadata.ClearELR) error {
	var topics []*Topic
	if r.TopicName == "" {
		topics = j.topics.Values()
	} else {
		t, ok := j.topics.Get(r.TopicName)
		if !ok {
			return fmt.Errorf("no topic %s", r.TopicName)
		}
		topics = []*Topic{t}
	}
	for _, t := range topics {
		for i, p := range t.Partitions {
			if len(p.ELR) == 0 && len(p.LastKnownELR) == 0 {
				continue
			}
			n := *p
			n.ELR, n.LastKnownELR = nil, nil
			n.PartitionEpoch++
			t = j.ownTopic(t)
			t.Partitions[i] = &n
			j.changes.changed(t.ID)
		}
	}
	return nil
}

func (j *journal) applyConfig(r *metadata.Config) {
	resource := ConfigResource{ConfigKind(r.ResourceType), r.ResourceName}
	// The old map may be in an image: never change it.
	next := maps.Clone(j.config(resource))
	switch {
	case r.Value == nil:
		delete(next, r.Name)
	case next == nil:
		next = map[string]string{r.Name: *r.Value}
	default:
		next[r.Name] = *r.Value
	}
	if len(next) == 0 {
		j.configs.Delete(configKey(resource))
	} else {
		j.configs.Set(configKey(resource), next)
	}
	j.changes.config(resource)
}

func (j *journal) applyFeature(r *metadata.FeatureLevel) error {
	if r.Name == metadata.FeatureKRaftVersion {
		return nil // Written by mistake in some logs (KAFKA-18979): its place is a control record.
	}
	if rng := j.supported[r.Name]; !rng.contains(r.FeatureLevel) {
		return fmt.Errorf("%s is at level %d, this release supports %d to %d: start a release that supports it",
			r.Name, r.FeatureLevel, rng.Min, rng.Max)
	}
	switch {
	case r.Name == metadata.FeatureMetadataVersion:
		j.level = metadata.Level(r.FeatureLevel)
	case r.FeatureLevel == 0:
		j.features.Delete(r.Name)
	default:
		j.features.Set(r.Name, r.FeatureLevel)
	}
	j.changes.feature()
	return nil
}

func (j *journal) applyTransaction(r metadata.Record) error {
	_, begin := r.(*metadata.BeginTransaction)
	if begin == (j.before != nil) {
		return fmt.Errorf("a metadata transaction is open: %v", j.before != nil)
	}
	switch r.(type) {
	case *metadata.BeginTransaction:
		before := j.state.copy()
		j.before, j.beforeChanges = &before, j.changes
		if j.changes != nil {
			j.changes = newChanges()
		}
	case *metadata.EndTransaction:
		if j.beforeChanges != nil {
			j.beforeChanges.merge(j.changes)
			j.changes = j.beforeChanges
		}
		j.before, j.beforeChanges = nil, nil
	case *metadata.AbortTransaction:
		// Images may have been made from before: it is shared.
		generation, end := j.generation, j.end
		j.state, j.changes = j.before.copy(), j.beforeChanges
		j.generation, j.end = generation+1, end
		j.before, j.beforeChanges = nil, nil
	}
	return nil
}
