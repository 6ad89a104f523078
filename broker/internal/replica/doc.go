// Package replica holds the partitions of which this broker has a copy: it
// appends what producers send, answers fetches, knows what is committed, and lets
// callers wait for it.
//
// A Manager follows the cluster's image: it makes, opens, leads and deletes the
// partitions that are assigned to this broker, and finds them by name. A
// Partition is a log (logstore), a replication state (package state, which
// decides) and who waits. Begin with manager.go, then partition.go (how a
// decision is carried out), append.go and read.go.
//
// Locks. The owner lock of a partition orders what changes its log and its state;
// it is held over the system calls of that log, and over nothing else: not over a
// sync, not while something is waited for. Readers do not take it: what they need
// is published as a state.View and as the marks of the log. A Waiter's lock and a
// partition's list of watches are taken inside it, for field access only.
//
// Not here: what a request looks like and who may send it (package api), fetch
// sessions (package session), the election of leaders (coordinator/controller).
package replica
