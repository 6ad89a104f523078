// Package txn is the transaction coordinator: it decides which producer may write
// under a transactional id, which partitions its transaction covers, and whether
// that transaction committed.
//
// A Shard serves one partition of __transaction_state. It is a deterministic state
// machine: Step takes the time and one input and returns effects as data; it
// starts no goroutine, reads no clock and does no I/O. What the log says of a
// transactional id is its newest record (transaction, in state.go), so there is no
// state on the way: a record that was appended counts at once, and whoever is told
// of it waits until it is committed.
//
// The life of a transaction, file by file: InitProducerId gives the producer an
// epoch (init.go), partitions are added (add.go), EndTxn or the timeout decides
// (end.go, expire.go), and the shard sends the Markers that it owes to the
// partitions; when it hears that all are Written the transaction is complete
// (complete.go). Producer ids come in small runs from outside (ids.go). What tools
// ask is in list.go.
//
// Transactions have two versions (KIP-890). In the first the producer adds its
// partitions itself and keeps its epoch. In the second the partitions' leaders add
// them, and each end of a transaction raises the epoch, so that nothing late of one
// transaction can slip into the next. The request says which one a client speaks.
//
// Begin with shard.go, then state.go, then end.go.
//
// Not here: who may use a transactional id and whether a topic exists (both ask the
// image, in the broker), how markers travel (package marker), and the log, the
// timers' clock and the waiting (package coordinator).
package txn
