package controller

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Topic is a topic. Once it is in an image it never changes.
type Topic struct {
	ID         [16]byte
	Name       string
	Partitions []*Partition // By partition id.

	// owner is the generation of the state that may change the topic in place.
	owner uint64
}

// Partition is a partition. It never changes.
type Partition struct {
	ID             int32
	Replicas       []int32 // Broker ids, the preferred leader first.
	ISR            []int32
	Adding         []int32    // Replicas that a reassignment adds.
	Removing       []int32    // Replicas that a reassignment removes.
	Directories    [][16]byte // The directory of each replica.
	ELR            []int32    // Eligible leader replicas.
	LastKnownELR   []int32    // The last leader, while there is none.
	Leader         int32      // -1: none.
	LeaderEpoch    int32
	PartitionEpoch int32
	Recovering     bool // After an unclean election.
}

// Endpoint is where a listener of a node is reached.
type Endpoint struct {
	Listener string
	Host     string
	Port     uint16
	Protocol int16 // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
}

// Broker is a registered broker. It never changes.
type Broker struct {
	ID           int32
	Epoch        int64 // The offset of its registration.
	Incarnation  [16]byte
	Endpoints    []Endpoint
	Rack         *string
	Fenced       bool
	ShuttingDown bool
	Features     map[string]FeatureRange
	Dirs         [][16]byte // Directories online.
	Cordoned     [][16]byte // Directories that take no new replicas; nil until the broker has told.

	// registered is the offset of the registration's record: what the broker must
	// have seen before it serves. It may be above Epoch.
	registered int64
}

// Active reports whether the broker may be in an ISR and lead.
func (b *Broker) Active() bool { return !b.Fenced && !b.ShuttingDown }

// Controller is a registered controller. It never changes.
type Controller struct {
	ID          int32
	Incarnation [16]byte
	Endpoints   []Endpoint
	Features    map[string]FeatureRange
}

// state is what the log says so far. Copying it takes no time that depends on its
// size: the trees share their nodes until one of the copies changes them.
type state struct {
	end      int64 // The offset after the last record applied.
	level    metadata.Level
	features *btree.Map[string, int16] // Finalized levels but metadata.version's; none is 0.

	brokers     *btree.Map[int32, *Broker]
	controllers *btree.Map[int32, *Controller]
	topics      *btree.Map[string, *Topic]
	topicIDs    *btree.Map[string, *Topic] // By the 16 bytes of the id.
	configs     *btree.Map[string, map[string]string]
	producerID  int64 // The next to be given out; -1 until one was.
	// collisions holds the topics with a '.' or '_' in their name, by the name that
	// Kafka's metrics would give them and then their own.
	collisions *btree.Map[string, string]

	quotas      *btree.Map[string, *metadata.ClientQuota]
	acls        *btree.Map[string, *metadata.AccessControlEntry]
	credentials *btree.Map[string, *metadata.UserScramCredential]
	tokens      *btree.Map[string, *metadata.DelegationToken]

	// generation changes with each copy: a topic of another generation is shared.
	generation uint64
}

func newState() state {
	return state{
		features:    new(btree.Map[string, int16]),
		brokers:     new(btree.Map[int32, *Broker]),
		controllers: new(btree.Map[int32, *Controller]),
		topics:      new(btree.Map[string, *Topic]),
		topicIDs:    new(btree.Map[string, *Topic]),
		configs:     new(btree.Map[string, map[string]string]),
		producerID:  -1,
		collisions:  new(btree.Map[string, string]),
		quotas:      new(btree.Map[string, *metadata.ClientQuota]),
		acls:        new(btree.Map[string, *metadata.AccessControlEntry]),
		credentials: new(btree.Map[string, *metadata.UserScramCredential]),
		tokens:      new(btree.Map[string, *metadata.DelegationToken]),
		generation:  1,
	}
}

// copy returns the state as it is now, to be read only. The receiver may go on
// changing.
func (s *state) copy() state {
	c := *s
	c.features = s.features.Copy()
	c.brokers = s.brokers.Copy()
	c.controllers = s.controllers.Copy()
	c.topics = s.topics.Copy()
	c.topicIDs = s.topicIDs.Copy()
	c.configs = s.configs.Copy()
	c.collisions = s.collisions.Copy()
	c.quotas = s.quotas.Copy()
	c.acls = s.acls.Copy()
	c.credentials = s.credentials.Copy()
	c.tokens = s.tokens.Copy()
	s.generation++
	return c
}

func (s *state) topicByID(id [16]byte) (*Topic, bool) { return s.topicIDs.Get(string(id[:])) }

// setTopic puts a topic into both indexes.
func (s *state) setTopic(t *Topic) {
	s.topics.Set(t.Name, t)
	s.topicIDs.Set(string(t.ID[:]), t)
}

// ownTopic returns the topic as one that no image shares, so that many changes to
// one topic copy its list of partitions once.
func (s *state) ownTopic(t *Topic) *Topic {
	if t.owner == s.generation {
		return t
	}
	own := *t
	own.owner = s.generation
	own.Partitions = slices.Clone(t.Partitions)
	s.setTopic(&own)
	return &own
}

func (s *state) setPartition(t *Topic, p *Partition) {
	t = s.ownTopic(t)
	if int(p.ID) == len(t.Partitions) {
		t.Partitions = append(t.Partitions, p)
		return
	}
	t.Partitions[p.ID] = p
}

// configKey orders the settings by kind and name.
func configKey(r ConfigResource) string { return string(byte(r.Kind)) + r.Name }

func (s *state) config(r ConfigResource) map[string]string {
	c, _ := s.configs.Get(configKey(r))
	return c
}

// clusterConfig is the settings of every broker.
func (s *state) clusterConfig() map[string]string { return s.config(ConfigResource{KindBroker, ""}) }

// feature is the finalized level of a feature that is in the log.
func (s *state) feature(name string) int16 {
	if name == metadata.FeatureMetadataVersion {
		return int16(s.level)
	}
	level, _ := s.features.Get(name)
	return level
}

// elr reports whether eligible leader replicas are kept (KIP-966).
func (s *state) elr() bool { return s.feature(metadata.FeatureELR) >= 1 }

// active reports whether a broker may be in an ISR and lead.
func (s *state) active(id int32) bool {
	b, ok := s.brokers.Get(id)
	return ok && b.Active()
}

// partition finds a partition of a topic.
func (t *Topic) partition(id int32) (*Partition, bool) {
	if id < 0 || int(id) >= len(t.Partitions) {
		return nil, false
	}
	return t.Partitions[id], true
}

// reassigning reports whether the partition's replicas are being moved.
func (p *Partition) reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// preferred is the replica that should lead.
func (p *Partition) preferred() int32 {
	if len(p.Replicas) == 0 {
		return metadata.NoLeader
	}
	return p.Replicas[0]
}

// directory is the directory of a replica.
func (p *Partition) directory(broker int32) ([16]byte, bool) {
	i := slices.Index(p.Replicas, broker)
	if i < 0 || i >= len(p.Directories) {
		return [16]byte{}, false
	}
	return p.Directories[i], true
}
