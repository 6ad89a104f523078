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
//	go test ./...                       # our binary, 20,000 lines
//	go test ./... -lines 1000000        # the long floor
//	go test ./... -against apache       # the control
//
// What needs kcat or Apache's tools skips where they are missing; .ci/run says how
// they are had.
//
// Not here: what can be tested inside one process (broker/brokertest), and
// scenarios that run against any broker (compat).
package integration
