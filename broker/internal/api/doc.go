// Package api answers Kafka's requests: one file per API, one table of what is
// served, one place where an error becomes a Kafka code.
//
// A connection (package server) hands over a Call, whose body is not decoded
// yet, and gets an Answer, which is bytes and spans of log files. Env.Serve
// does what all APIs share: it looks up the route, checks the version, decodes
// under recover, calls the handler and encodes what it returns. An error from
// Serve means that the connection must be closed, as Kafka does for what it
// cannot parse; everything that Kafka answers with a code is an Answer.
//
// # How to add an API
//
// Write a file named after it (deleterecords.go) with one handler:
//
//	// deleteRecords serves DeleteRecords (21), versions 0 to 2: ...
//	func deleteRecords(ctx context.Context, env *Env, call *Call, req *kmsg.DeleteRecordsRequest) (*kmsg.DeleteRecordsResponse, error)
//
// and a line in table.go: the lowest and the highest version, and the right
// that it takes:
//
//	kmsg.DeleteRecords: on(0, 2, need{kmsg.ACLOperationDelete, kmsg.ACLResourceTypeTopic}, deleteRecords),
//
// and rows in the table of rights (rights_test.go): what is answered with each
// right, and without it. A test wants both lines.
//
// The maximum is Kafka 4.2's (a test compares); the response's version is set
// for the handler. req and everything in it belongs to the handler. call names
// the connection: its listener, principal, client. The handler asks env.May
// before it tells or changes anything, maps errors with code, and waits only
// with ctx, which ends when the client hangs up. It returns an error only when
// no answer is possible. A throttle time in the response also mutes the
// connection. What the handler needs from other packages is a field of Env, as
// a small interface or a func that env.go declares.
//
// An API whose request or response must not pass through kmsg (Produce, Fetch)
// uses raw instead of on, and makes its Answer itself.
//
// Begin with table.go, then call.go. Not here: sockets (server), partitions
// (replica), groups and transactions (coordinator).
package api
