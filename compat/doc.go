// Package compat says how much like Apache Kafka a broker is.
//
// It plays scenarios: small conversations with a broker, each with a stable id, one
// sentence of what Kafka does, and where that is known from. They speak in raw requests
// over a plain connection, because exact versions, error codes and bytes are what is
// judged. A Runner plays them against an address and makes a Report; two reports can be
// compared.
//
// Apache Kafka itself is the control: a scenario that Kafka 4.2 does not pass is wrong. A
// deliberate difference of a broker (docs/deviations.md) is a second expected result
// inside of a scenario: it is reported as such, and Strict makes it a failure.
//
// Each area of scenarios, the first word of their ids, is a folder of compat/scenarios;
// begin with compat/scenarios/produce for how one reads. Package compat/scenario is what
// they are handed, and compat/lives has tests that play them in long lives of a broker of
// ours. Not here: other people's test suites (compat/franz-go and its like).
package compat
