package controller

import (
	"fmt"
	"strings"
)

// Kafka's rules for topic names.
const maxNameLength = 249

// clusterMetadataTopic is the metadata log's own name: no topic may have it.
const clusterMetadataTopic = "__cluster_metadata"

// CheckTopicName says what is wrong with a topic's name, in Kafka's words; "" if
// nothing is.
func CheckTopicName(name string) string {
	const prefix = "Topic name is invalid: "
	switch {
	case name == "":
		return prefix + "the empty string is not allowed"
	case name == "." || name == "..":
		return prefix + "'" + name + "' is not allowed"
	case len(name) > maxNameLength:
		return prefix + fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, maxNameLength)
	case strings.ContainsFunc(name, func(c rune) bool { return !legal(c) }):
		return prefix + "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
	}
	return ""
}

func legal(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// collisionKey is what two names share that only differ in '.' and '_': Kafka's
// metrics could not tell their topics apart. A name without either has none.
func collisionKey(name string) (string, bool) {
	if !strings.ContainsAny(name, "._") {
		return "", false
	}
	return strings.ReplaceAll(name, ".", "_") + "\x00", true
}

// colliding finds a topic whose name collides with one.
func (s *state) colliding(name string) (other string, ok bool) {
	key, may := collisionKey(name)
	if !may {
		return "", false
	}
	s.collisions.Ascend(key, func(k, topic string) bool {
		if strings.HasPrefix(k, key) {
			other, ok = topic, true
		}
		return false
	})
	return other, ok
}
