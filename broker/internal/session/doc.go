// Package session keeps fetch sessions (KIP-227): what a client or follower
// fetches is remembered, so that a request names only what it wants changed, and
// an answer only what has changed.
//
// A Cache is stepped with the time and a source of random numbers. It starts no
// goroutine, takes no lock and reads no clock: its owner makes sure that one call
// runs at a time, and does the reading and waiting in between.
//
// A poll over ten thousand partitions of which three have something new looks at
// three. A session keeps the partitions that are ready: those named by the
// request, those whose last answer had data or an error, and those reported by
// Session.Ready since. Whoever watches a partition for a session reports it when
// its offsets, its log start or its leader change. Among those that are ready the
// order is Kafka's: who was served longest ago comes first.
//
// Begin with cache.go (which session, or which error), then poll.go (what to
// read, what to answer).
//
// Not here: the requests themselves (package api), the partitions and their
// waiters (package replica).
package session
