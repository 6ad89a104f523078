// Package controller is the cluster's controller: it decides which topics,
// partitions and brokers there are, who leads each partition, and what is
// configured.
//
// Its log is the metadata log, its records are Kafka's own (protocol/metadata). A
// Shard is the active controller: a deterministic state machine that coordinator's
// runtime steps. Begin with shard.go (what it is asked, and how it answers), then
// create.go (CreateTopics), change.go (how a partition's leader and ISR follow from
// what brokers do) and broker.go (a broker's life).
//
// What the rest of the process reads is an Image: the state at one committed
// offset, immutable, sharing all that did not change with the images before it. A
// Shard publishes one per commit. A node whose controller is elsewhere makes its
// images with a Replica from the log that it fetches.
//
// Not here: consensus and snapshot files (broker/internal/quorum), what a broker
// does with an image (broker/internal/replica), authorization, and the tables of
// settings (protocol/config).
package controller
