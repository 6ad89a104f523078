package api

import (
	"net"
	"time"
)

// Conn is what a handler may know of the connection that a call came over. It
// belongs to the goroutine of the connection, which serves one call at a time.
type Conn struct {
	ID       uint64 // Unique within the process, for logs.
	Listener string // The listener's name, as in listeners and advertised.listeners.
	Protocol string // Kafka's name: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
	// Controller says that the listener is one of controller.listener.names,
	// where another set of APIs is served.
	Controller bool
	// Peer and Local are the ends of the connection.
	Peer, Local net.Addr

	// Authenticated is false only on SASL listeners until the exchange is
	// done; then Principal is set. Without SASL, Principal is
	// User:ANONYMOUS, or the name in the client's certificate.
	Authenticated bool
	Principal     string

	// SoftwareName and SoftwareVersion are what the client said in
	// ApiVersions (KIP-511); empty before, and for clients that never do.
	SoftwareName, SoftwareVersion string

	// Draining is closed when the broker begins to shut down: whoever waits
	// for more records answers with what there is. Nil never closes.
	Draining <-chan struct{}
}

// Host is the peer's address without its port, as Kafka shows client hosts.
func (c *Conn) Host() string {
	if c.Peer == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(c.Peer.String())
	if err != nil {
		return c.Peer.String()
	}
	return host
}

// Call is one request, its body not decoded yet.
type Call struct {
	Key, Version int16
	Correlation  int32
	// ClientID is the client.id setting of the client; nil is null.
	ClientID *string
	// Body is the request behind its header. It aliases the connection's
	// buffer and is valid until the answer is written.
	Body []byte
	// Stream, if not nil, is the body instead, of a large Produce: its batches
	// are appended as they arrive, in one buffer that stays in the processor's
	// cache, rather than when all of them are in memory.
	Stream Stream
	Conn   *Conn

	// Received is when the last byte of Body, or the first of Stream, had
	// arrived.
	Received time.Time
	// Reserve, if not nil, asks the connection for that much memory, until
	// Serve returns, for what a handler makes of the body itself. It may block,
	// and an error of it is the handler's.
	Reserve func(bytes int64) error
	// Retain, if not nil, tells the connection how many bytes the decoded
	// request holds, so that the rest of what was set aside for decoding it
	// is free for others. It is called at most once.
	Retain func(bytes int64)

	table   map[int16]route // What is served, for ApiVersions.
	charged int64           // By charge, and not reserved yet.
}

// Stream is the body of a request that is still arriving.
type Stream interface {
	// Peek returns the next n bytes, and waits for them. They are valid until
	// the next Peek. protocol.ErrFrameEnd says that there are fewer; any
	// other error is the connection's.
	Peek(n int) ([]byte, error)
	// Skip goes over n bytes that were peeked at.
	Skip(n int)
	// Left is how many bytes are not skipped.
	Left() int
}

// Client is the client id, or the empty string when it is null, which Kafka
// takes for the same.
func (c *Call) Client() string {
	if c.ClientID == nil {
		return ""
	}
	return *c.ClientID
}

// Answer is a response on its way to the client.
type Answer struct {
	// Parts follow each other on the wire. The first begins with the size of
	// the frame and the response header.
	Parts []Part
	// Release, if not nil, is called once when the parts are written, or
	// will never be.
	Release func()
	// Throttle is how long the connection is not read from after the answer
	// was written (KIP-219). The client was told the same time.
	Throttle time.Duration
	// None says that the client expects no answer: Produce with acks=0.
	None bool
	// Close closes the connection after the answer was written.
	Close bool
}

// Part is a piece of an answer: bytes in memory, or a span of a log file.
type Part struct {
	Bytes []byte
	Span  Span // Used when not nil; Bytes is empty then.
}

// Len is how many bytes of the response this part is.
func (p Part) Len() int {
	if p.Span != nil {
		return p.Span.Len()
	}
	return len(p.Bytes)
}

// Span is a run of bytes in a log's segment files that goes to the client as it
// is. Whoever made the answer pins it until Answer.Release.
type Span interface {
	Len() int
	// Buffers appends the span as mapped slices, which Go code must not
	// load: they are for writev alone. It says false, and appends nothing,
	// when the file is not mapped.
	Buffers(dst net.Buffers) (net.Buffers, bool)
	// ReadAt copies len(p) bytes from off on into memory.
	ReadAt(p []byte, off int64) (int, error)
	// File is the open file that holds the span and where it begins there,
	// for sendfile; it says false when there is no single such file.
	File() (fd uintptr, off int64, ok bool)
}
