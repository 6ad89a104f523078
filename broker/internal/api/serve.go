package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol"
)

// UnsupportedError says that a client asked for an API or a version that is
// not served. Kafka has no answer to it but to close the connection.
type UnsupportedError struct {
	Key, Version int16
	Min, Max     int16 // The versions that are served; Max is -1 when the API is not.
}

func (e *UnsupportedError) Error() string {
	if e.Max < 0 {
		return fmt.Sprintf("%s (API key %d) is not served on this listener", kmsg.NameForKey(e.Key), e.Key)
	}
	return fmt.Sprintf("%s version %d is not served, only %d to %d", kmsg.NameForKey(e.Key), e.Version, e.Min, e.Max)
}

// DecodeError says that the body of a request is not what its header announced.
type DecodeError struct {
	Key, Version int16
	Reason       string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("malformed %s request, version %d: %s", kmsg.NameForKey(e.Key), e.Version, e.Reason)
}

// LoginError says that a client on a SASL listener sent a request before it had
// authenticated. A common cause is a client configured for PLAINTEXT.
type LoginError struct {
	Key      int16
	Listener string
	Protocol string
}

func (e *LoginError) Error() string {
	return fmt.Sprintf("%s before authentication: listener %s is %s; is the client's security.protocol PLAINTEXT?",
		kmsg.NameForKey(e.Key), e.Listener, e.Protocol)
}

// Serve answers one call. The answer's Release must be called once it is
// written or dropped. An error means that there is no answer and the connection
// has to be closed.
//
// ctx ends when the client is gone. A panic is a defect of the broker, not of
// the request: only decoding runs under recover here.
func (e *Env) Serve(ctx context.Context, call *Call) (Answer, error) {
	r, ok := routes[call.Key]
	if !ok || !r.servedOn(call.Conn) {
		return Answer{}, &UnsupportedError{Key: call.Key, Version: call.Version, Min: -1, Max: -1}
	}
	if call.Version < r.min || call.Version > r.max {
		if call.Key == int16(kmsg.ApiVersions) {
			return e.encode(call, 0, unknownAPIVersions(call, r)), nil
		}
		return Answer{}, &UnsupportedError{Key: call.Key, Version: call.Version, Min: r.min, Max: r.max}
	}
	if !call.Conn.Authenticated && !r.early {
		return Answer{}, &LoginError{Key: call.Key, Listener: call.Conn.Listener, Protocol: call.Conn.Protocol}
	}
	call.table = routes
	return r.serve(ctx, e, call)
}

// decode reads the body of a call. The request shares nothing with the
// connection's buffer, so a handler may keep any part of it. Bytes behind the
// last field are ignored, as Kafka ignores them.
func decode(call *Call) (req kmsg.Request, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &DecodeError{Key: call.Key, Version: call.Version, Reason: fmt.Sprint(r)}
		}
	}()
	req = kmsg.RequestForKey(call.Key)
	req.SetVersion(call.Version)
	if err := req.ReadFrom(bytes.Clone(call.Body)); err != nil {
		return nil, &DecodeError{Key: call.Key, Version: call.Version, Reason: err.Error()}
	}
	if len(call.Body) > maxElements && elements(reflect.ValueOf(req)) > maxElements {
		return nil, &DecodeError{Key: call.Key, Version: call.Version, Reason: errTooMany.Error()}
	}
	if call.Retain != nil {
		call.Retain(retained(req))
	}
	return req, nil
}

// encode makes the answer of a response in that version.
func (e *Env) encode(call *Call, version int16, resp kmsg.Response) Answer {
	resp.SetVersion(version)
	if e.Audit != nil {
		e.Audit(call, resp)
	}
	buf := e.buffer(protocol.SmallBuffer)
	out := beginFrame(buf.B[:0], call, version)
	out = resp.AppendTo(out)
	endFrame(out, 0)
	answer := Answer{Parts: []Part{{Bytes: out}}, Release: e.giveBack(buf)}
	if t, ok := resp.(kmsg.ThrottleResponse); ok {
		if ms, after := t.Throttle(); after {
			answer.Throttle = time.Duration(ms) * time.Millisecond
		}
	}
	return answer
}

func (e *Env) buffer(n int) *protocol.Buffer {
	if e.Buffers == nil {
		return &protocol.Buffer{B: make([]byte, n)}
	}
	return e.Buffers.Get(n)
}

// giveBack returns what puts a buffer back, for Answer.Release.
func (e *Env) giveBack(buf *protocol.Buffer) func() {
	if e.Buffers == nil {
		return nil
	}
	return func() { e.Buffers.Put(buf) }
}

// beginFrame appends room for the size of a response and its header.
func beginFrame(dst []byte, call *Call, version int16) []byte {
	dst = append(dst, 0, 0, 0, 0)
	return protocol.AppendResponseHeader(dst, call.Key, version, call.Correlation)
}

// endFrame fills in the size of the response that begins frame, of which
// elsewhere bytes are not in frame.
func endFrame(frame []byte, elsewhere int) {
	size := len(frame) - 4 + elsewhere
	if size > math.MaxInt32 {
		panic(fmt.Sprintf("BUG: api: a response of %d bytes", size))
	}
	binary.BigEndian.PutUint32(frame, uint32(size))
}
