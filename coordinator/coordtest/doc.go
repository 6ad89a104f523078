// Package coordtest runs one coordinator shard by hand: no goroutine, no clock,
// no disk. A Machine steps a shard as coordinator.Runtime would, on a Log in
// memory. Run plays a script of commands against a Machine and compares what
// came of it with the golden text that stands between the commands.
//
// Begin with script.go. The runtime itself is tested in package coordinator, on
// the same Log.
package coordtest
