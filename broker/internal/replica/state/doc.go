// Package state decides the replication of one partition on one broker: who
// leads, which replicas are in sync, how far records are committed, who may be
// answered, what a follower cuts off and what it fetches next.
//
// A State is stepped with the time and an event, and returns effects as data. It
// starts no goroutine, takes no lock, reads no clock and does no I/O, so that
// what can lose data (leader epochs, the in-sync replicas, the high watermark,
// truncation) is replayable from a seed. Whoever owns the State carries the
// effects out, in the order in which the fields of Effects are written, and
// reports what came of them as further events before anything else happens.
//
// Begin with event.go (what goes in and what comes out), then leader.go (the
// high watermark and who waits for it), isr.go (the in-sync replicas) and
// follower.go (fetching and truncation).
//
// Not here: the log (logstore), locks and waiting (package replica), requests
// between brokers and elections (the controller).
package state
