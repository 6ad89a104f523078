//go:build race

package brokertest_test

// slower is how many times longer all takes under the race detector, at most.
const slower = 10
