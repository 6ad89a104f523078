// Package compat says how much like Apache Kafka a broker is.
//
// It holds scenarios: small conversations with a broker, each with a stable id,
// one sentence of what Kafka does, and where that is known from. They speak in
// raw requests over a plain connection, because exact versions, error codes and
// bytes are what is judged; record batches are built and read here, by nothing
// that a broker under test could share. A Runner plays scenarios against an
// address and makes a Report; two reports can be compared.
//
// Apache Kafka itself is the control: a scenario that Kafka 4.2 does not pass is
// wrong. A deliberate difference of a broker (docs/deviations.md) is a second
// expected result inside of a scenario: it is reported as such, and Strict makes
// it a failure.
//
// Begin with scenario.go (what a scenario is), then produce.go for how one reads,
// then t.go (what a scenario is handed). Not here: scenarios that stop and start
// a broker of ours, which are tests of package broker, and other people's test
// suites (compat/franz-go).
package compat
