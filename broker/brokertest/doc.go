// Package brokertest runs a real Kafka broker inside a Go test:
//
//	mb := brokertest.Start(t, brokertest.Topic("orders", 3))
//	client, err := kgo.NewClient(kgo.SeedBrokers(mb.Addrs()...))
//
// The broker is the product itself, whole: it is not a fake that was written for
// tests. By default its disk is in memory and it listens on a free port of
// 127.0.0.1. It is ready when Start returns, milliseconds later, and gone when
// the test ends, with every goroutine and file. It writes nothing, unless the
// test fails: then its log is in the test's. There is no state outside a Cluster,
// so any number may run at once.
//
// Inside a testing/synctest bubble the network is in memory too, because no
// bubble's clock moves while a goroutine reads a socket. Give Dial to the client
// there:
//
//	kgo.Dialer(mb.Dial)
//
// What can go wrong with a broker can be made to go wrong: see Crash, Kill,
// Restart, Cut and Heal for the machine and the network, and On for single
// requests. Reset makes it new for the next test.
//
// Begin with Start and the functions that return an Option. docs/brokertest.md
// has recipes, and says how what franz-go's kfake does is done here.
//
// Not here: several brokers in one cluster, and anything that needs Docker.
package brokertest
