// Package bench measures brokers that speak Kafka's protocol: `moldau bench`.
//
// Three drivers put a load on any bootstrap address with franz-go and report
// throughput, latency and, for a process on the same machine, what the broker
// spent: Produce (produce.go), Consume (consume.go) and EndToEnd (e2e.go).
//
// Absolute figures depend on the machine and on what else it does. So the
// comparison (compare.go, `make bench`) plays each workload against several
// brokers in turn, one of them the floor (floor.go): a probe that does nothing
// but the duty that no broker can leave out, frames, CRC, write and sendfile. It
// is no broker: it forgets all at its end and checks nothing else. What is
// worth reading is the ratio to it.
//
// Begin with workloads.go to see what is measured, then measure.go for how.
//
// Not here: benchmarks of single functions, which stand beside them as Go
// benchmarks (`make benchstat`).
package bench
