// Package integration tests the built binary as its users meet it: as processes
// that talk over TCP, are killed and start again. It is a module of its own, so
// that clients and whatever else it needs stay out of the library's go.mod.
//
// Begin with lines_test.go: a text file goes into a broker by every client we
// have, across a kill -9, and must come out again whole by every other. The
// broker behind a test is a Broker (broker.go): by default the binary built from
// this tree (moldau.go), with -against apache Apache Kafka itself (apache.go). The
// control must pass what we ask of ourselves, which is how a test is shown to be
// right before it judges us.
//
// Apache's own Java clients run as the small programs of folder java (java.go):
// transactions with a reader of committed records (javatxn_test.go), Kafka Streams
// exactly once (streams_test.go), a KIP-848 group by a regular expression
// (javagroup_test.go), each with the broker killed in the middle.
//
//	go test ./...                       # our binary, 20,000 lines
//	go test ./... -lines 1000000        # the long floor
//	go test ./... -against apache       # the control
//
// What needs kcat, Apache's tools or its clients skips where they are missing; .ci/run
// says how the tools are had, Maven fetches the clients.
//
// Not here: what can be tested inside one process (broker/brokertest), and
// scenarios that run against any broker (compat).
package integration
