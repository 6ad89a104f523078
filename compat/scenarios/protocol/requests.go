package protocol

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// requestsScenarios are about requests as such, whatever they ask: frames, headers, keys,
// versions and tags.
var requestsScenarios = []scenario.Scenario{
	{ID: "protocol.unsupported.version", Says: "A version that is not served closes the connection.", Run: unsupportedVersion},
	{ID: "protocol.unsupported.key", Says: "An API key that does not exist closes the connection.", Run: unsupportedKey},
	{ID: "protocol.frame.negative", Says: "A negative frame length closes the connection.", Run: closesAfter(0xff, 0xff, 0xff, 0xff)},
	{ID: "protocol.frame.empty", Says: "A frame length of 0 closes the connection.", Run: closesAfter(0, 0, 0, 0)},
	{ID: "protocol.frame.oversize", Says: "A frame larger than socket.request.max.bytes closes the connection.", Refs: []string{"KAFKA-7639", "case O13"}, Run: closesAfter(0x7f, 0xff, 0xff, 0xff)},
	{ID: "protocol.frame.short-header", Says: "A frame too short for its header closes the connection.", Run: closesAfter(0, 0, 0, 4, 0, 3, 0, 1)},
	{ID: "protocol.frame.client-id-length", Says: "A client id longer than its frame closes that connection and no other.", Refs: []string{"redpanda#28", "case O03"}, Run: bogusClientID},
	{ID: "protocol.frame.garbage-body", Says: "A body that cannot be decoded closes the connection.", Run: garbageBody},
	{ID: "protocol.frame.huge-array", Says: "An array length beyond the frame closes the connection.", Run: hugeArray},
	{ID: "protocol.frame.null-array", Says: "A null array where none is allowed closes the connection.", Run: nullArray},
	{ID: "protocol.client-id.null", Says: "A null client id is a client id.", Run: nullClientID},
	{ID: "protocol.tags.unknown", Says: "Unknown tagged fields in header and body are skipped.", Refs: []string{"KIP-482"}, Run: unknownTags},
	{ID: "protocol.pipelined", Says: "Requests that arrive before earlier ones are answered are answered in order.", Refs: []string{"kafka-python"}, Run: pipelined},
	{ID: "protocol.slow-writer", Says: "A frame may arrive one piece at a time.", Run: slowWriter},
}

func unsupportedVersion(t *scenario.T) {
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.Produce, kmsg.Fetch, kmsg.CreateTopics, kmsg.JoinGroup} {
		c := t.Dial()
		if err := c.SendRaw(header1(key.Int16(), 99)); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.Closes(c)
	}
}

func unsupportedKey(t *scenario.T) {
	for _, key := range []int16{-1, 4, 5, 6, 7, 1000, 32767} {
		c := t.Dial()
		if err := c.SendRaw(header1(key, 0)); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.Closes(c)
	}
}

// header1 is a frame of a header (version 2, which reads as 1 too) and eight zeros.
func header1(key, version int16) []byte {
	be := binary.BigEndian
	b := be.AppendUint32(nil, 4+4+3+8)
	b = be.AppendUint16(b, uint16(key))
	b = be.AppendUint16(b, uint16(version))
	b = be.AppendUint32(b, 1)
	b = append(b, 0, 1, 'c')
	return append(b, make([]byte, 8)...)
}

func closesAfter(b ...byte) func(*scenario.T) {
	return func(t *scenario.T) {
		c := t.Dial()
		if err := c.SendRaw(b); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.Closes(c)
		t.OK("another connection", apiVersions(t, t.Dial(), 0).ErrorCode)
	}
}

func bogusClientID(t *scenario.T) {
	other := t.Dial()
	t.OK("another connection", apiVersions(t, other, 0).ErrorCode)
	c := t.Dial()
	if err := c.SendRaw([]byte{0, 0, 0, 12, 0, 3, 0, 1, 0, 0, 0, 1, 0x75, 0x30, 'a', 'b'}); err != nil {
		t.Fatalf("send: %v", err)
	}
	t.Closes(c)
	t.OK("the other connection lives", apiVersions(t, other, 0).ErrorCode)
}

func garbageBody(t *scenario.T) {
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.CreateTopics, kmsg.OffsetCommit, kmsg.Fetch, kmsg.Produce} {
		t.Part(key.Name())
		c := t.Dial()
		be := binary.BigEndian
		body := slices.Repeat([]byte{0x7f}, 60)
		b := be.AppendUint32(nil, uint32(10+len(body)))
		b = be.AppendUint16(b, uint16(key.Int16()))
		b = be.AppendUint16(b, 5)
		b = be.AppendUint32(b, 1)
		b = append(b, 0xff, 0xff)
		if err := c.SendRaw(append(b, body...)); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.Closes(c)
	}
}

func hugeArray(t *scenario.T) {
	c := t.Dial()
	// Metadata v1 of 2147483647 topics.
	if err := c.SendRaw([]byte{0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff}); err != nil {
		t.Fatalf("send: %v", err)
	}
	t.Closes(c)
}

func nullArray(t *scenario.T) {
	topics := kmsg.NewPtrMetadataRequest() // Null is "all" here, and allowed.
	scenario.Ask[*kmsg.MetadataResponse](t, 1, topics)
	c := t.Dial()
	// DeleteTopics v1 of null topics, no timeout.
	if err := c.SendRaw([]byte{0, 0, 0, 18, 0, 20, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}); err != nil {
		t.Fatalf("send: %v", err)
	}
	b, err := c.ReadFrame()
	if err == nil && len(b) == 12 { // Correlation id, throttle time, no topics.
		t.Deviates("a null array where none is allowed counts as empty")
		return
	}
	if !errors.Is(err, scenario.ErrClosed) {
		t.Fatalf("got % x, %v; want a closed connection", b, err)
	}
}

func nullClientID(t *scenario.T) {
	c := t.Dial()
	// Metadata v1 of no topics, correlation id 9.
	if err := c.SendRaw([]byte{0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 9, 0xff, 0xff, 0, 0, 0, 0}); err != nil {
		t.Fatalf("send: %v", err)
	}
	b, err := c.ReadFrame()
	if err != nil {
		t.Fatalf("%v", err)
	}
	scenario.Equal(t, "correlation id", binary.BigEndian.Uint32(b), 9)
}

func unknownTags(t *scenario.T) {
	c := t.Dial()
	be := binary.BigEndian
	b := []byte{0, 3, 0, 9, 0, 0, 0, 5, 0, 1, 'c'} // Metadata v9.
	b = append(b, 1, 0x64, 2, 'x', 'y')            // One tag in the header: 100.
	b = append(b, 1, 0, 0, 0)                      // No topics, three booleans.
	b = append(b, 2, 0x65, 1, 'z', 0x66, 0)        // Two tags in the body.
	if err := c.SendRaw(append(be.AppendUint32(nil, uint32(len(b))), b...)); err != nil {
		t.Fatalf("send: %v", err)
	}
	got, err := c.ReadFrame()
	if err != nil {
		t.Fatalf("%v", err)
	}
	scenario.Equal(t, "correlation id", be.Uint32(got), 5)
}

func pipelined(t *scenario.T) {
	c := t.Dial()
	versions := t.Send(c, 0, kmsg.NewPtrApiVersionsRequest())
	md := t.Send(c, 0, kmsg.NewPtrMetadataRequest())
	scenario.Receive[*kmsg.ApiVersionsResponse](t, c, versions)
	scenario.Receive[*kmsg.MetadataResponse](t, c, md)
}

func slowWriter(t *scenario.T) {
	c := t.Dial()
	req := kmsg.NewPtrApiVersionsRequest()
	for _, b := range c.Frame(req, 1) {
		if err := c.SendRaw([]byte{b}); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.Pause(time.Millisecond)
	}
	scenario.Receive[*kmsg.ApiVersionsResponse](t, c, scenario.Pending{Correlation: 1, Request: req})
}
