package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// MinRequestBytes is the size of the smallest request that can be valid: API
// key, version, correlation number and a null client id.
const MinRequestBytes = 2 + 2 + 4 + 2

// RequestHeader is what stands before the body of every request (request
// header versions 1 and 2; version 0 belonged to ControlledShutdown alone,
// which Kafka 4.0 removed).
type RequestHeader struct {
	Key         int16
	Version     int16
	Correlation int32
	// ClientID is the client.id setting of the client; nil is null, which
	// Kafka treats as empty. It aliases the frame.
	ClientID []byte
}

// HeaderError says that a frame does not begin with a request header.
type HeaderError struct {
	Key    int16 // The API named in the first two bytes; -1 when there are none.
	Reason string
}

func (e *HeaderError) Error() string {
	return fmt.Sprintf("malformed request header: %s (best guess of the API: %d %s)", e.Reason, e.Key, kmsg.NameForKey(e.Key))
}

// ReadRequestHeader parses the header of one request frame and returns what
// follows it, the body. Both alias frame.
//
// An API that the protocol does not know is an error here, as nobody can tell
// where its header ends. A version that nobody knows is not: it has the shape
// of the newest one, so that ApiVersions can be answered and a warning can name
// the client.
func ReadRequestHeader(frame []byte) (h RequestHeader, body []byte, err error) {
	if len(frame) < 2 {
		return h, nil, &HeaderError{Key: -1, Reason: "no API key"}
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	if len(frame) < MinRequestBytes {
		return h, nil, &HeaderError{Key: h.Key, Reason: fmt.Sprintf("%d bytes are too few", len(frame))}
	}
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.Correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	if !known(h.Key) {
		return h, nil, &HeaderError{Key: h.Key, Reason: "unknown API key"}
	}

	// The client id is never in compact form, not even in flexible headers.
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	body = frame[MinRequestBytes:]
	switch {
	case n < -1 || n > len(body):
		return h, nil, &HeaderError{Key: h.Key, Reason: fmt.Sprintf("client id of length %d in %d bytes", n, len(body))}
	case n >= 0:
		h.ClientID, body = body[:n:n], body[n:]
	}
	if !Flexible(h.Key, h.Version) {
		return h, body, nil
	}
	if body, err = skipTags(body); err != nil {
		return h, nil, &HeaderError{Key: h.Key, Reason: err.Error()}
	}
	return h, body, nil
}

// AppendRequestHeader appends the header that ReadRequestHeader reads.
func AppendRequestHeader(dst []byte, h RequestHeader) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Correlation))
	n := int16(-1)
	if h.ClientID != nil {
		n = int16(len(h.ClientID))
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	dst = append(dst, h.ClientID...)
	if Flexible(h.Key, h.Version) {
		dst = append(dst, 0)
	}
	return dst
}

// AppendResponseHeader appends the header of the response to a request of that
// API and version: the correlation number, and in flexible versions an empty
// set of tagged fields.
//
// ApiVersions always has the old form: a client sends it before it knows what
// the broker speaks, and must be able to read an answer of version 0 to a
// question of any version (KIP-511).
func AppendResponseHeader(dst []byte, key, version int16, correlation int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if key != int16(kmsg.ApiVersions) && Flexible(key, version) {
		dst = append(dst, 0)
	}
	return dst
}

// Flexible says whether that version of the API has tagged fields and compact
// lengths (KIP-482), and with them request header version 2.
func Flexible(key, version int16) bool {
	return known(key) && version >= firstFlexible[key]
}

func known(key int16) bool {
	return key >= 0 && int(key) < len(firstFlexible)
}

// firstFlexible holds the first flexible version of each API, by its key.
var firstFlexible = flexibleVersions()

func flexibleVersions() (first [kmsg.MaxKey + 1]int16) {
	for key := range first {
		first[key] = math.MaxInt16 // SaslHandshake and OffsetDelete never are.
		req := kmsg.RequestForKey(int16(key))
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			if req.IsFlexible() {
				first[key] = v
				break
			}
		}
	}
	return first
}

// skipTags returns what follows a set of tagged fields. None is defined for
// request headers, and Kafka ignores those that it does not know.
func skipTags(b []byte) ([]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return nil, fmt.Errorf("%d tagged fields in %d bytes", count, len(b))
	}
	b = b[n:]
	for ; count > 0; count-- {
		_, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errors.New("a tagged field without a tag")
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, fmt.Errorf("a tagged field of %d bytes in %d", size, len(b))
		}
		b = b[n+int(size):]
	}
	return b, nil
}
