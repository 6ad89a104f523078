//go:build !race

package compat_test

// patience: see race_test.go.
const patience = 1
