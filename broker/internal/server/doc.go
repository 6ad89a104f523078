// Package server is the broker's network side: listeners, connections, frames
// in and answers out.
//
// One goroutine serves one connection: it reads a request, calls the Handler
// and writes the answer, and only then looks at the next request, so answers
// come in the order of requests, as Kafka promises by muting the channel.
// Clients may send ahead; answers to requests that came together leave together.
// A large Produce is handed over while it still arrives. A connection that is
// silent holds no buffer. While a handler waits for
// something (it has asked for ctx.Done), a second goroutine reads one byte
// ahead, so that a client that hangs up ends the wait.
//
// What a peer can make us hold is bounded: how many connections (admit.go), how
// large a request (protocol.Limits), how much memory all requests together
// (budget.go) and all unread answers (unread.go), how long a connection may make no
// progress (request.go, write.go).
//
// Begin with conn.go: serve, next and handle are the life of a connection. Then
// request.go, how requests come in; write.go, how answers go out; and watch.go,
// the only part with a second goroutine.
//
// Not here: what requests mean (api), and TLS and SASL (Listener.Upgrade and
// the handler).
package server
