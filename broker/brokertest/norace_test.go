//go:build !race

package brokertest_test

// raced: see race_test.go.
const raced = false
