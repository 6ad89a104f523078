package api

import "testing"

// NewNode is a node with partitions in memory, for tests that put a server
// before it; topic makes a topic with that many partitions.
func NewNode(t *testing.T) (env *Env, topic func(name string, partitions int)) {
	n := newNode(t, 1)
	made := byte(0)
	return n.Env, func(name string, partitions int) {
		made++
		n.topic(name, made, partitions)
	}
}
