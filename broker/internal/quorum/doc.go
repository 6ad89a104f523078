// Package quorum keeps the metadata log: the Raft group of the controllers.
//
// Consensus is go.etcd.io/raft/v3, stepped by one loop (node.go). Its log is
// __cluster_metadata-0 in the log store: one Raft entry is one record batch, the
// term is the batch's leader epoch, and the snapshots are Kafka's .checkpoint
// files, so that Kafka's tools read all of it. Raft's own messages are the only
// thing that is not Kafka's; with one voter there are none.
//
// # The walk of a record
//
// A shard's Append (leadership.go) hands a function to the loop. The loop calls it
// with the offset that the batch will have, proposes the bytes to Raft, and does
// what Raft then is ready for: append the batch and sync it (storage.go), store
// term and vote (state.go), move the commit. Append returns when the batch is on
// disk; whoever waits for the commit is told by OnCommit.
//
// # What always holds
//
//   - Entry index i is the batch number i - snapshot index since the newest
//     snapshot; the snapshot's header carries its index (tag 10000).
//   - A batch is synced before Raft hears that it is stored, so the commit never
//     passes unsynced bytes, with one voter too (trap C-4).
//   - Term and vote are synced, file and directory, before a message that depends
//     on them leaves (C-3), and the commit after every change of voters.
//   - A leader never writes in an epoch that it led before a restart: every start
//     campaigns for a new term (C-2).
//   - A committed entry is never overwritten; trying is a BUG (C-20).
//
// Not here: what the records mean (coordinator/controller, protocol/metadata).
package quorum
