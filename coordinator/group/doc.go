// Package group is the group coordinator: it decides who is a member of a
// consumer group, which partitions each member reads, and how far it has read.
//
// A Shard serves one partition of __consumer_offsets. It is a deterministic state
// machine: Step takes the time and one input and returns effects as data; it
// starts no goroutine, reads no clock and does no I/O.
//
// A group's hard state is what its log says: the last GroupMetadata record
// (group.stored) and the committed offsets (offsets.go). The rest is soft: the
// classic state machine (classic.go) runs ahead of the log while members join,
// and a failover takes it back to the generation that was last written. The
// inputs of a classic member are in join.go, rebalance.go, sync.go and member.go;
// offset commits and fetches in commit.go and fetch.go; what tools ask in
// admin.go; what time does to offsets in expire.go.
//
// A group of the consumer protocol (KIP-848) is hard state altogether: a heartbeat
// (consumerbeat.go) makes a draft of what the group becomes and the records that
// say so (change.go, consumerrecords.go), and takes the member one step nearer to
// what it is meant to read (reconcile.go). What is meant is decided by package
// assign; what patterns match is looked up outside (regex.go). The cluster's topics
// come with each request, as an image that never changes (cluster.go). A group
// changes from one protocol to the other while it runs (convert.go); until all of
// its consumers have, the others speak the classic protocol in it (classicmember.go).
//
// Begin with shard.go, then classic.go and join.go, or consumer.go and
// consumerbeat.go.
//
// Not here: whether the caller may see the group and whether a topic exists (both
// ask the image, in the broker), and the log, the timers' clock and the waiting
// (package coordinator).
package group
