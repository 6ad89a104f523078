// Package metadata holds the records of a KRaft cluster's metadata log, and their
// exact bytes: what Kafka writes, this reads, and the reverse.
//
// A record's value is a frame (frame version 1, record key, record version, each
// an unsigned varint) followed by a body in Kafka's flexible encoding; its key is
// null. Each record type is a Go struct that lists its fields once, in fields; the
// same list serves reading and writing. Begin with record.go (Encode and Decode),
// then topic.go for the records seen most. Level (level.go) names the levels of
// metadata.version and says which record versions each allows.
//
// The control records that the quorum itself writes (leader change, snapshot
// header and footer, kraft.version, voters) have another frame and are in
// control.go.
//
// Not here: record batches (protocol/batch), and what the records mean
// (coordinator/controller).
package metadata
