// Package kafkago has the examples of brokertest for segmentio's kafka-go: go test
// runs them. It is a module of its own, so that nobody who imports the broker
// gets kafka-go with it.
package kafkago
