// Package marker decides how the outcome of transactions travels to the partitions
// that they wrote to: which broker gets which markers next, what is tried again and
// when, and which transactions are through.
//
// Sender is a pure core: Step takes the time and one event and returns what is to
// be sent and told, as data. It starts no goroutine, reads no clock and does no I/O.
//
// Begin with sender.go, then answer.go.
//
// Not here: which markers are owed (package txn), and the connections (broker).
package marker
