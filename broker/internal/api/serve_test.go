package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol"
)

// callOf is the call that a client's request becomes.
func callOf(req kmsg.Request) *Call {
	id := "test-client"
	return &Call{
		Key: req.Key(), Version: req.GetVersion(), Correlation: 9, ClientID: &id,
		Body: req.AppendTo(nil), Received: time.Now(),
		Conn: &Conn{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Authenticated: true, Principal: "User:ANONYMOUS"},
	}
}

// ask serves the request and decodes the answer as a client would.
func ask(t *testing.T, env *Env, req kmsg.Request) kmsg.Response {
	t.Helper()
	answer, err := env.Serve(t.Context(), callOf(req))
	if err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind()
	readAnswer(t, answer, resp)
	return resp
}

// readAnswer checks the frame around a response and decodes it in the version
// that resp is set to.
func readAnswer(t *testing.T, answer Answer, resp kmsg.Response) {
	t.Helper()
	frame := flatten(t, answer)
	if size := int(binary.BigEndian.Uint32(frame)); size != len(frame)-4 {
		t.Fatalf("frame says %d bytes and has %d", size, len(frame)-4)
	}
	header := protocol.AppendResponseHeader(nil, resp.Key(), resp.GetVersion(), 9)
	body, ok := bytes.CutPrefix(frame[4:], header)
	if !ok {
		t.Fatalf("response begins %x, want header %x", frame[4:], header)
	}
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("decode %s v%d: %v", kmsg.NameForKey(resp.Key()), resp.GetVersion(), err)
	}
	if answer.Release != nil {
		answer.Release()
	}
}

// flatten is what goes over the wire.
func flatten(t *testing.T, answer Answer) []byte {
	t.Helper()
	var frame []byte
	for _, p := range answer.Parts {
		if p.Span == nil {
			frame = append(frame, p.Bytes...)
			continue
		}
		b := make([]byte, p.Span.Len())
		if _, err := p.Span.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		frame = append(frame, b...)
	}
	return frame
}

func TestServeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Call)
		want   string
	}{
		"an API that is not served":  {func(c *Call) { c.Key, c.Version = 4, 0 }, "LeaderAndISR (API key 4) is not served"},
		"a negative API key":         {func(c *Call) { c.Key = -1 }, "API key -1"},
		"a body that ends too early": {func(c *Call) { c.Version, c.Body = 3, []byte{5} }, "malformed ApiVersions request, version 3"},
	} {
		t.Run(name, func(t *testing.T) {
			call := callOf(kmsg.NewPtrApiVersionsRequest())
			tc.change(call)
			_, err := new(Env).Serve(t.Context(), call)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// testRoute runs a handler through all that Serve does, under a key that is
// taken for the test.
func testRoute(h func(context.Context, *Env, *Call, *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error)) route {
	return on(0, 9, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic}, h)
}

// TestDecodedRequestIsTheHandlersOwn overwrites the connection's buffer after
// the handler returned, as the next request does, and wants what the handler
// kept unharmed.
func TestDecodedRequestIsTheHandlersOwn(t *testing.T) {
	var kept *kmsg.SyncGroupRequest
	r := on(0, 5, nothing, func(_ context.Context, _ *Env, _ *Call, req *kmsg.SyncGroupRequest) (*kmsg.SyncGroupResponse, error) {
		kept = req
		return kmsg.NewPtrSyncGroupResponse(), nil
	})
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = 5
	req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "a", MemberAssignment: []byte("to a")}}
	call := callOf(req)
	if _, err := r.serve(t.Context(), new(Env), call); err != nil {
		t.Fatal(err)
	}
	clear(call.Body)
	if got := string(kept.GroupAssignment[0].MemberAssignment); got != "to a" {
		t.Errorf("assignment became %q", got)
	}
}

func TestThrottleTimeMutesTheConnection(t *testing.T) {
	r := testRoute(func(context.Context, *Env, *Call, *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
		resp := kmsg.NewPtrMetadataResponse()
		resp.ThrottleMillis = 250
		return resp, nil
	})
	for version, want := range map[int16]time.Duration{9: 250 * time.Millisecond, 5: 0} { // From version 6 after the answer (KIP-219).
		req := kmsg.NewPtrMetadataRequest()
		req.Version = version
		answer, err := r.serve(t.Context(), new(Env), callOf(req))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Throttle != want {
			t.Errorf("version %d: throttled %v, want %v", version, answer.Throttle, want)
		}
	}
}

func TestLoginComesFirst(t *testing.T) {
	call := callOf(kmsg.NewPtrMetadataRequest())
	call.Conn.Authenticated, call.Conn.Listener, call.Conn.Protocol = false, "EXTERNAL", "SASL_SSL"
	call.Key, call.Version = int16(kmsg.ApiVersions), 0
	if _, err := new(Env).Serve(t.Context(), call); err != nil {
		t.Errorf("ApiVersions before login: %v", err)
	}
	for key, r := range routes {
		if r.early {
			continue
		}
		call.Key, call.Version, call.Body = key, r.max, nil
		_, err := new(Env).Serve(t.Context(), call)
		if _, ok := errors.AsType[*LoginError](err); !ok {
			t.Errorf("%s before login: %v", kmsg.NameForKey(key), err)
		}
	}
}

func TestUnknowns(t *testing.T) {
	resp := kmsg.NewPtrMetadataResponse()
	resp.Topics = append(resp.Topics, kmsg.MetadataResponseTopic{Partitions: []kmsg.MetadataResponseTopicPartition{
		{ErrorCode: kerr.NotLeaderForPartition.Code}, {ErrorCode: kerr.UnknownServerError.Code},
	}})
	if diff := cmp.Diff([]string{"Metadata.Topics[0].Partitions[1].ErrorCode"}, Unknowns(resp)); diff != "" {
		t.Error(diff)
	}
	join := kmsg.NewPtrJoinGroupResponse()
	join.ErrorCode = kerr.UnknownServerError.Code
	if got := Unknowns(join); got != nil {
		t.Errorf("%v, though Kafka sends it there", got)
	}
}

func TestRetained(t *testing.T) {
	req := kmsg.NewPtrMetadataRequest()
	empty := retained(req)
	for range 1000 {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("twelve bytes")
		req.Topics = append(req.Topics, topic)
	}
	// At least a pointer to a string header and its bytes a topic, at most
	// twice that and what append set aside.
	if got := (retained(req) - empty) / 1000; got < 12+16+24 || got > 200 {
		t.Errorf("%d bytes a topic", got)
	}
}

// FuzzDecode holds decode to its contract for every API and version: an error
// or a request, never a panic, and never much more memory than the factor that
// connections set aside.
func FuzzDecode(f *testing.F) {
	for key := range int16(kmsg.MaxKey + 1) {
		req := kmsg.RequestForKey(key)
		for _, v := range []int16{0, req.MaxVersion()} {
			req.SetVersion(v)
			f.Add(key, v, req.AppendTo(nil))
		}
	}
	f.Add(int16(3), int16(9), []byte("\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req := kmsg.RequestForKey(key)
		if req == nil || version < 0 || version > req.MaxVersion() {
			return
		}
		call := &Call{Key: key, Version: version, Body: body}
		var held int64
		call.Retain = func(n int64) { held = n }
		if _, err := decode(call); err != nil {
			return
		}
		if most := int64(len(body)+100) * protocol.DecodeFactor; held > most {
			t.Fatalf("%s v%d: %d bytes of frame hold %d decoded", kmsg.NameForKey(key), version, len(body), held)
		}
	})
}
