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

// NewCopiedNode is node 1 of two, with topic t of three partitions, of which node 2 has
// a copy that is in sync and never fetches: nothing that is written is committed. The
// id is the topic's.
func NewCopiedNode(t *testing.T) (env *Env, id [16]byte) {
	n := newNode(t, 2)
	id = n.topic("t", 1, 3, 1, 2)
	n.topic(consumerOffsets, 2, 1)
	return n.Env, id
}
