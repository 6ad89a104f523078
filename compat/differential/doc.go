// Package differential asks two brokers the same and compares what they answer.
//
// A world is a random conversation, drawn from a seed: topics, producers,
// transactional ids and groups of its own, and a few dozen requests about them,
// mostly valid, some slightly off. Its steps name things by what they are in the
// world ("the id that producer p0 was given", "one generation too low"); each
// broker's answers fill in its own values, and the answers are compared with those
// values replaced by names again. So what a broker draws itself makes no
// difference, and a step can be left out without changing the others: a world that
// ends in a difference is shrunk by leaving out all that it does without.
//
// Apache Kafka is right, unless known.go says why not.
//
// Begin with step.go, then generate.go (how a world is drawn), play.go (how it is
// asked) and normalise.go (how answers become comparable). Not here: differences
// that only show under load, between nodes or across restarts.
package differential
