// Package compact decides which records of a compacted log survive: of each key the
// latest, tombstones for a while, and what transactions and idempotent producers need.
//
// A round looks at a log from its first segment up to an offset, and goes over it
// twice. First the batches that were not compacted before are given to a Map, which
// remembers the last offset of each key, until it is full: there the round ends. Then
// every batch below goes through a Filter, which answers what becomes of it. Plan says
// which part of a log a round may look at and whether it is worth it, Groups which
// segments become one.
//
// The rules are Kafka's (Cleaner, CleanedTransactionMetadata and LogCleanerManager;
// KIP-58, KIP-98, KIP-280's parts that were built, KIP-354, KIP-534):
//
//	offsets never change, and neither does the order of batches and records
//	a batch keeps its offsets, producer, sequence and leader epoch; its checksum,
//	record count and sometimes its base timestamp change
//	who reads from the beginning to the head sees the latest value of every key
//
// Three differences. Keys are told apart by 128 bits of a keyed SHA-256, where Kafka
// uses plain MD5: nobody can make two keys that collide. A batch without records stays,
// beside those that a producer is known by, if it ends at the high watermark, as in
// Kafka since KAFKA-20452; Kafka 4.2 keeps the last batch of every round. And a round
// takes in at least one batch, however small the map.
//
// Begin with plan.go, then keymap.go and filter.go, and txns.go for transactions.
//
// Not here: files, and when rounds are run (logstore).
package compact
