//go:build race

package brokertest_test

// raced says that the race detector is on, under which limits of time say nothing.
const raced = true
