package protocol

import (
	"cmp"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Defaults of Limits.
const (
	DefaultProduceBytes         = 100 << 20
	DefaultOtherBytes           = 8 << 20
	DefaultUnauthenticatedBytes = 512 << 10
)

// DecodeFactor is how many times the size of a frame its decoded form may
// take: kmsg checks an array's length against the bytes left, then allocates
// its elements, and the leanest element on the wire (a topic of Produce v12)
// is 88 times larger in memory.
const DecodeFactor = 90

// Limits says how large a request frame may be, in bytes without its four-byte
// size. The zero value of a field means its default.
type Limits struct {
	// Produce bounds requests that carry records. Default 100 MiB. Kafka's
	// socket.request.max.bytes.
	Produce int
	// Other bounds every other request. Kafka has no such limit below
	// socket.request.max.bytes; but nothing that a client sends besides
	// records comes near the default of 8 MiB, and all of it is decoded at
	// up to DecodeFactor times its size: a server lowers the limit to what its
	// queued.max.request.bytes allows.
	Other int
	// Unauthenticated bounds requests of a peer that still has to
	// authenticate. Default 512 KiB. Kafka's sasl.server.max.receive.size.
	Unauthenticated int
}

// WithDefaults returns the limits with every zero replaced by its default.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Produce:         cmp.Or(l.Produce, DefaultProduceBytes),
		Other:           min(cmp.Or(l.Other, DefaultOtherBytes), cmp.Or(l.Produce, DefaultProduceBytes)),
		Unauthenticated: cmp.Or(l.Unauthenticated, DefaultUnauthenticatedBytes),
	}
}

// SizeError says that a frame announces a size that is not accepted. Nothing of
// the frame was read.
type SizeError struct {
	Key  int16 // The API, or -1 when the size alone was reason enough.
	Size int64 // What the peer announced.
	Max  int64 // What it may announce.
}

func (e *SizeError) Error() string {
	what := "a request"
	if e.Key >= 0 {
		what = "a " + kmsg.NameForKey(e.Key) + " request"
	}
	if e.Size < MinRequestBytes {
		return fmt.Sprintf("%s of %d bytes, fewer than a request has%s", what, e.Size, e.hint())
	}
	setting := " (socket.request.max.bytes)"
	if e.Key >= 0 {
		setting = " (a share of queued.max.request.bytes)"
	}
	return fmt.Sprintf("%s of %d bytes, more than the %d allowed%s%s", what, e.Size, e.Max, setting, e.hint())
}

// hint guesses what the four bytes of an absurd size really are: a client that
// speaks another protocol is the most common cause.
func (e *SizeError) hint() string {
	first := string([]byte{byte(e.Size >> 24), byte(e.Size >> 16), byte(e.Size >> 8), byte(e.Size)})
	switch {
	case first[0] == 0x16 && first[1] == 3, first[0] == 0x15 && first[1] == 3:
		return " (they are the beginning of a TLS handshake: is the client's security.protocol SSL, and this listener's not?)"
	case first == "GET " || first == "POST" || first == "HEAD" || first == "PUT ":
		return " (they are the beginning of an HTTP request: this port speaks Kafka's protocol)"
	}
	return ""
}

// Check refuses a frame of that size by the size alone, before its API is
// known.
func (l Limits) Check(size int64, authenticated bool) error {
	most := int64(max(l.Produce, l.Other))
	if !authenticated {
		most = int64(l.Unauthenticated)
	}
	if size < MinRequestBytes || size > most {
		return &SizeError{Key: -1, Size: size, Max: most}
	}
	return nil
}

// CheckAPI refuses a frame of that size for that API.
func (l Limits) CheckAPI(key int16, size int64) error {
	if key != int16(kmsg.Produce) && size > int64(l.Other) {
		return &SizeError{Key: key, Size: size, Max: int64(l.Other)}
	}
	return nil
}
