//go:build !race

package brokertest_test

// slower is for limits of time: see race_test.go.
const slower = 1
