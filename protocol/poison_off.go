//go:build !invariants

package protocol

func poison([]byte) {}
