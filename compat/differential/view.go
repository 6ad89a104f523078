package differential

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// view is what one broker has told of a world, by the world's names. One goroutine
// at a time uses it.
type view struct {
	prefix    string // Before every name that this world makes.
	base      int64  // The world's timestamp 0, ms: hours ago, so that now is none of them.
	topics    map[string]topic
	producers map[string]producer
	members   map[string]member  // By group and member: "g0/m1".
	peeks     bool               // What is not named yet stays so: see turns.
	sessions  map[string]session // Fetch sessions.
	symbols   map[string]map[string]string
}

// topic is what is known of one.
type topic struct {
	id         [16]byte
	partitions int32
}

// producer is the identity that a broker gave, and what comes next.
type producer struct {
	id    int64
	epoch int16
	next  map[string]int32 // Sequences, by "topic-partition".
}

// member is one of a group of either protocol.
type member struct {
	id         string
	generation int32 // Or the member's epoch.
	leader     bool
	others     []string // Ids, as the leader was told.
	owned      []kmsg.ConsumerGroupHeartbeatRequestTopic
}

// session is a fetch session.
type session struct{ id, epoch int32 }

// strangers are values that no broker gives.
const (
	strangerProducer = 9_000_000_000_001
	strangerSession  = 77
)

var strangerTopic = [16]byte{0xee, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

func newView(prefix string, base int64) *view {
	return &view{
		prefix: prefix, base: base,
		topics: map[string]topic{}, producers: map[string]producer{},
		members: map[string]member{}, sessions: map[string]session{},
		symbols: map[string]map[string]string{},
	}
}

// name is a name of the world as the broker knows it. Bad names are marked with a
// leading "!" and are sent as they are.
func (v *view) name(n string) string {
	if bad, ok := strings.CutPrefix(n, "!"); ok {
		return bad
	}
	return v.prefix + n
}

// topicID is the last id that a topic was seen to have.
func (v *view) topicID(name string) [16]byte {
	if t, ok := v.topics[name]; ok {
		return t.id
	}
	return strangerTopic
}

func (v *view) producer(name string) producer {
	if p, ok := v.producers[name]; ok {
		return p
	}
	return producer{id: strangerProducer}
}

// given takes down the identity of a producer. Another epoch begins at sequence 0.
func (v *view) given(name string, id int64, epoch int16) {
	if id < 0 {
		return
	}
	v.symbol("producer", strconv.FormatInt(id, 10))
	if p, ok := v.producers[name]; ok && p.id == id && p.epoch == epoch {
		return
	}
	v.producers[name] = producer{id: id, epoch: epoch, next: map[string]int32{}}
}

func (v *view) member(group, name string) member {
	if m, ok := v.members[group+"/"+name]; ok {
		return m
	}
	return member{generation: -1}
}

// setTopic takes down a topic's id, which gets a name of its own: a topic that is
// made again is another.
func (v *view) setTopic(name string, id [16]byte, partitions int32) {
	if v.topics[name].id != id {
		incarnation := 1
		for _, n := range v.symbols["topic"] {
			if strings.HasPrefix(n, name+"#") {
				incarnation++
			}
		}
		v.class("topic")[string(id[:])] = fmt.Sprintf("%s#%d", name, incarnation)
	}
	v.topics[name] = topic{id, partitions}
}

func (v *view) class(class string) map[string]string {
	if v.symbols[class] == nil {
		v.symbols[class] = map[string]string{}
	}
	return v.symbols[class]
}

// symbol is the name of a value that the broker drew: the values of a class are
// numbered as they are first seen.
func (v *view) symbol(class, value string) string {
	known := v.class(class)
	if _, ok := known[value]; !ok && v.peeks {
		return class + "-?"
	} else if !ok {
		known[value] = fmt.Sprintf("%s-%d", class, len(known)+1)
	}
	return known[value]
}
