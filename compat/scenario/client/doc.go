// Package client makes whole clients for scenarios, franz-go and sarama, with timers that
// nothing waits for, on connections that can be broken at the worst moment.
package client
