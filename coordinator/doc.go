// Package coordinator runs coordinators: state machines whose state is a log.
//
// A Shard decides: Step takes the time and one input and returns effects as data
// (records, replies, timers). The Runtime acts: it appends the records to the
// shard's Log, replays them into the shard, and sends the replies once all that
// they rest on is committed. Start, failover and test take the same path, for a
// shard's state comes from its log only.
//
// Begin with shard.go, which says what a shard may do; then runtime.go and
// serve.go, the loop around it; then load.go.
//
// Not here: what the shards decide (packages controller, group and txn), and the
// log itself: this package declares what it needs as Log, and the broker gives it
// a partition or the metadata quorum.
package coordinator
