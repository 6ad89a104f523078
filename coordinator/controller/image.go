package controller

import (
	"iter"
	"maps"

	"github.com/tidwall/btree"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Image is the cluster's state at one offset of the metadata log. It never changes
// and any goroutine may read it; what it returns is read only. One request uses one
// image throughout.
//
// Making one takes the same time whatever the cluster's size, and it shares with
// the images before it all that did not change since.
type Image struct {
	// Offset is the first offset that the image does not contain. (Kafka's own
	// protocol speaks of the last one that an image contains: one less.)
	Offset int64
	// Epoch is the quorum's leader epoch.
	Epoch int32
	// ClusterID is the cluster's id, 22 characters of base64.
	ClusterID string

	controller int32
	delta      *Delta
	state      state
}

// ControllerID is the active controller's id; -1 if it is not known.
func (im *Image) ControllerID() int32 { return im.controller }

// Delta is what changed since the image published before.
func (im *Image) Delta() *Delta { return im.delta }

// Topic finds a topic by name.
func (im *Image) Topic(name string) (*Topic, bool) { return im.state.topics.Get(name) }

// TopicByID finds a topic by id.
func (im *Image) TopicByID(id [16]byte) (*Topic, bool) { return im.state.topicByID(id) }

// Topics lists the topics by name.
func (im *Image) Topics() iter.Seq[*Topic] { return values(im.state.topics) }

// TopicsFrom lists the topics by name, beginning with the first that is not below
// a name.
func (im *Image) TopicsFrom(name string) iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		im.state.topics.Ascend(name, func(_ string, t *Topic) bool { return yield(t) })
	}
}

// TopicCount is how many topics there are.
func (im *Image) TopicCount() int { return im.state.topics.Len() }

// Partition finds a partition of a topic by name.
func (im *Image) Partition(topic string, id int32) (*Partition, bool) {
	t, ok := im.Topic(topic)
	if !ok {
		return nil, false
	}
	return t.partition(id)
}

// Partition finds a partition of the topic.
func (t *Topic) Partition(id int32) (*Partition, bool) { return t.partition(id) }

// Broker finds a registered broker, fenced or not.
func (im *Image) Broker(id int32) (*Broker, bool) { return im.state.brokers.Get(id) }

// Brokers lists the registered brokers by id, fenced or not.
func (im *Image) Brokers() iter.Seq[*Broker] { return values(im.state.brokers) }

// Controllers lists the registered controllers by id.
func (im *Image) Controllers() iter.Seq[*Controller] { return values(im.state.controllers) }

// Endpoint finds where a listener of the broker is reached.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Config is the settings that somebody made for a resource; nil if nobody did.
func (im *Image) Config(kind ConfigKind, name string) map[string]string {
	return im.state.config(ConfigResource{kind, name})
}

// ConfigResources lists the resources that have settings, by kind and name.
func (im *Image) ConfigResources() iter.Seq[ConfigResource] {
	return func(yield func(ConfigResource) bool) {
		im.state.configs.Scan(func(key string, _ map[string]string) bool {
			return yield(ConfigResource{ConfigKind(key[0]), key[1:]})
		})
	}
}

// Feature is the finalized level of a feature; 0 if it has none. kraft.version is
// not among them: the quorum knows it.
func (im *Image) Feature(name string) int16 { return im.state.feature(name) }

// Features is the finalized levels of all features that have one.
func (im *Image) Features() map[string]int16 {
	out := maps.Collect(im.state.features.Scan)
	if im.state.level != 0 {
		out[metadata.FeatureMetadataVersion] = int16(im.state.level)
	}
	return out
}

// Level is the finalized level of metadata.version; 0 before the first record.
func (im *Image) Level() metadata.Level { return im.state.level }

// ELR reports whether eligible leader replicas are kept (KIP-966).
func (im *Image) ELR() bool { return im.state.elr() }

// NextProducerID is the first producer id that was not given out.
func (im *Image) NextProducerID() int64 { return max(im.state.producerID, 0) }

// ACLs lists the ACLs by id.
func (im *Image) ACLs() iter.Seq[*metadata.AccessControlEntry] { return values(im.state.acls) }

// Credential finds a user's SCRAM credential.
func (im *Image) Credential(mechanism int8, user string) (*metadata.UserScramCredential, bool) {
	return im.state.credentials.Get(credentialKey(mechanism, user))
}

// Credentials lists the SCRAM credentials by mechanism and user.
func (im *Image) Credentials() iter.Seq[*metadata.UserScramCredential] {
	return values(im.state.credentials)
}

// Quotas lists the client quotas by entity and name.
func (im *Image) Quotas() iter.Seq[*metadata.ClientQuota] { return values(im.state.quotas) }

// Tokens lists the delegation tokens by id.
func (im *Image) Tokens() iter.Seq[*metadata.DelegationToken] { return values(im.state.tokens) }

func values[K interface{ ~int32 | ~string }, V any](m *btree.Map[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		m.Scan(func(_ K, v V) bool { return yield(v) })
	}
}
