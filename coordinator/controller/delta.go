package controller

import (
	"cmp"
	"maps"
	"slices"
)

// Delta says what differs between an image and the one published before it, so
// that no reader needs to compare two images. Lists are sorted by name or id.
type Delta struct {
	// Since is the offset of the image that the delta leads away from. Who holds
	// an image of another offset has missed some, and takes this one as a whole.
	Since int64
	// Full says that all is new: there was no image before. The lists are empty
	// then.
	Full bool
	// Created, Changed and Deleted are the topics. A topic deleted and made again
	// under its name is in Deleted and in Created. Deleted holds the last state.
	Created, Changed, Deleted []*Topic
	// Configs are the resources whose own settings changed. Settings that go with
	// their topic are here too.
	Configs []ConfigResource
	// Brokers are the ids whose registration changed or went.
	Brokers []int32
	// Features says that a finalized level changed, Security that an ACL, a
	// credential or a token did, Quotas that a client quota did.
	Features, Security, Quotas bool
}

// changes gathers a delta. A nil receiver gathers nothing: all is new.
type changes struct {
	topics   map[[16]byte]fate
	gone     map[[16]byte]*Topic
	configs  map[ConfigResource]bool
	brokers  map[int32]bool
	features bool
	secure   bool
	quota    bool
}

// fate is what became of a topic.
type fate int8

const (
	fateCreated fate = iota + 1
	fateChanged
)

func newChanges() *changes {
	return &changes{
		topics:  map[[16]byte]fate{},
		gone:    map[[16]byte]*Topic{},
		configs: map[ConfigResource]bool{},
		brokers: map[int32]bool{},
	}
}

func (c *changes) created(id [16]byte) {
	if c != nil {
		c.topics[id] = fateCreated
	}
}

func (c *changes) changed(id [16]byte) {
	if c != nil && c.topics[id] == 0 {
		c.topics[id] = fateChanged
	}
}

func (c *changes) deleted(t *Topic) {
	if c == nil {
		return
	}
	// Made and deleted between two images, a topic was never there.
	if c.topics[t.ID] != fateCreated {
		c.gone[t.ID] = t
	}
	delete(c.topics, t.ID)
}

func (c *changes) config(r ConfigResource) {
	if c != nil {
		c.configs[r] = true
	}
}

func (c *changes) broker(id int32) {
	if c != nil {
		c.brokers[id] = true
	}
}

func (c *changes) feature() {
	if c != nil {
		c.features = true
	}
}

func (c *changes) security() {
	if c != nil {
		c.secure = true
	}
}

func (c *changes) quotas() {
	if c != nil {
		c.quota = true
	}
}

// merge adds what changed after.
func (c *changes) merge(later *changes) {
	for _, t := range later.gone {
		c.deleted(t)
	}
	for id, f := range later.topics {
		if f == fateCreated {
			c.created(id)
		} else {
			c.changed(id)
		}
	}
	maps.Copy(c.configs, later.configs)
	maps.Copy(c.brokers, later.brokers)
	c.features = c.features || later.features
	c.secure = c.secure || later.secure
	c.quota = c.quota || later.quota
}

// delta is the delta that leads from since to the state.
func (c *changes) delta(since int64, s *state) *Delta {
	if c == nil {
		return &Delta{Since: since, Full: true}
	}
	d := &Delta{Since: since, Features: c.features, Security: c.secure, Quotas: c.quota}
	for id, f := range c.topics {
		t, ok := s.topicByID(id)
		if !ok {
			panic("BUG: a changed topic is not in the image")
		}
		if f == fateCreated {
			d.Created = append(d.Created, t)
		} else {
			d.Changed = append(d.Changed, t)
		}
	}
	for _, t := range c.gone {
		d.Deleted = append(d.Deleted, t)
	}
	byName := func(a, b *Topic) int { return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.ID[:], b.ID[:])) }
	slices.SortFunc(d.Created, byName)
	slices.SortFunc(d.Changed, byName)
	slices.SortFunc(d.Deleted, byName)
	d.Configs = slices.SortedFunc(maps.Keys(c.configs), func(a, b ConfigResource) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	d.Brokers = slices.Sorted(maps.Keys(c.brokers))
	return d
}
