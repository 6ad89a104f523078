package compat

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var protocolScenarios = []Scenario{
	{ID: "protocol.api-versions.unknown-version", Says: "A version of ApiVersions that is not known is answered with version 0 and UNSUPPORTED_VERSION, and the connection lives.", Refs: []string{"KIP-511", "redpanda@0a6fac4438", "case O01"}, Run: apiVersionsUnknown},
	{ID: "protocol.api-versions.header", Says: "The response header of ApiVersions is never flexible.", Refs: []string{"KIP-511", "case O01"}, Run: apiVersionsHeader},
	{ID: "protocol.api-versions.software", Says: "The client's software name and version must look like such.", Refs: []string{"KIP-511"}, Run: apiVersionsSoftware},
	{ID: "protocol.api-versions.features", Says: "Versions 3 and up tell supported and finalized features; below 4 without those whose minimum is 0.", Refs: []string{"KIP-584", "KAFKA-17492"}, Since: "4.0", Run: apiVersionsFeatures},
	{ID: "protocol.api-versions.same-in-all", Says: "Every version of ApiVersions advertises the same.", Run: apiVersionsSame},
	{ID: "protocol.api-versions.produce-0", Says: "Produce is advertised from version 0, which old librdkafka needs, and closes the connection below 3.", Refs: []string{"KAFKA-18659"}, Since: "4.0", Run: produceAdvertised},
	{ID: "protocol.api-versions.join-0", Says: "JoinGroup is advertised from version 0, which old librdkafka needs.", Refs: []string{"KAFKA-19444"}, Since: "4.0.1", Run: joinAdvertised},
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

func apiVersions(t *T, c *Conn, version int16) *kmsg.ApiVersionsResponse {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "moldau-compat", "1.0"
	req.SetVersion(version)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("ApiVersions version %d: %v", version, err)
	}
	return resp.(*kmsg.ApiVersionsResponse)
}

func apiVersionsUnknown(t *T) {
	for _, v := range []int16{99, 127, 32767} {
		c := t.Dial()
		frame := []byte{0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 77, 255, 255, 0, 0, 0, 0}
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
		binary.BigEndian.PutUint16(frame[6:], uint16(v))
		if err := c.SendRaw(frame); err != nil {
			t.Fatalf("send: %v", err)
		}
		b, err := c.ReadFrame()
		if err != nil {
			t.Fatalf("version %d: %v", v, err)
		}
		equal(t, "correlation id", binary.BigEndian.Uint32(b), 77)
		resp := kmsg.NewPtrApiVersionsResponse()
		if err := resp.ReadFrom(b[4:]); err != nil {
			t.Fatalf("a body of version 0: %v", err)
		}
		t.code("ApiVersions", resp.ErrorCode, kerr.UnsupportedVersion)
		// Kafka names ApiVersions alone: ApiVersionsRequest.getErrorResponse.
		at := slices.IndexFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == 18 })
		if at < 0 || resp.ApiKeys[at].MaxVersion < 3 {
			t.Fatalf("the versions of ApiVersions are not named: %s", plain(resp.ApiKeys))
		}
		t.ok("the connection lives", apiVersions(t, c, 3).ErrorCode)
	}
}

func apiVersionsHeader(t *T) {
	t.each(kmsg.ApiVersions, 0, 4, func(v int16) {
		t.ok("ApiVersions", apiVersions(t, t.Dial(), v).ErrorCode)
	})
}

func apiVersionsSoftware(t *T) {
	t.each(kmsg.ApiVersions, 3, 4, func(v int16) {
		for _, bad := range [][2]string{{"", "1.0"}, {"moldau", ""}, {"-moldau", "1"}, {"mol dau", "1"}, {"moldau", "1."}, {"möldau", "1"}} {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = bad[0], bad[1]
			resp := askOn[*kmsg.ApiVersionsResponse](t, t.Dial(), v, req)
			t.code(bad[0]+" "+bad[1], resp.ErrorCode, kerr.InvalidRequest)
			equal(t, "keys", len(resp.ApiKeys), 0)
		}
		t.ok("a good one", apiVersions(t, t.Dial(), v).ErrorCode)
	})
}

func apiVersionsFeatures(t *T) {
	t.each(kmsg.ApiVersions, 3, 4, func(v int16) {
		resp := apiVersions(t, t.Dial(), v)
		supported := map[string][2]int16{}
		for _, f := range resp.SupportedFeatures {
			supported[f.Name] = [2]int16{f.MinVersion, f.MaxVersion}
		}
		finalized := map[string]int16{}
		for _, f := range resp.FinalizedFeatures {
			finalized[f.Name] = f.MaxVersionLevel
			equal(t, f.Name+" finalized minimum", f.MinVersionLevel, f.MaxVersionLevel)
		}
		if resp.FinalizedFeaturesEpoch < 0 {
			t.Fatalf("finalized features epoch %d", resp.FinalizedFeaturesEpoch)
		}
		if supported["metadata.version"][0] < 7 || finalized["metadata.version"] < 7 {
			t.Fatalf("metadata.version: supported %v, finalized %d", supported["metadata.version"], finalized["metadata.version"])
		}
		for name, levels := range supported {
			if v < 4 && levels[0] == 0 {
				t.Fatalf("%s has minimum 0, which readers of version 3 take for an error", name)
			}
		}
		if t.has(kmsg.ConsumerGroupHeartbeat, 0) {
			_, told := supported["group.version"]
			equal(t, "group.version, of minimum 0, is told", told, v >= 4)
			equal(t, "group.version finalized", finalized["group.version"], 1)
		}
	})
}

func apiVersionsSame(t *T) {
	want := apiVersions(t, t.Conn(), 0).ApiKeys
	t.each(kmsg.ApiVersions, 1, 4, func(v int16) {
		got := map[int16][2]int16{}
		for _, k := range apiVersions(t, t.Conn(), v).ApiKeys {
			got[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
		}
		equal(t, "keys", len(got), len(want))
		for _, k := range want {
			equal(t, kmsg.NameForKey(k.ApiKey), got[k.ApiKey], [2]int16{k.MinVersion, k.MaxVersion})
		}
	})
}

func produceAdvertised(t *T) {
	equal(t, "lowest advertised", t.Advertised(kmsg.Produce).MinVersion, 0)
	topic := t.Topic(1)
	for v := range int16(3) {
		c := t.Dial()
		t.send(c, v, t.produceRequest(v, -1, topic, portion{0, plainBatch("a").bytes()}))
		t.closes(c)
	}
	equal(t, "end of the log", t.endOffset(topic), 0)
}

func joinAdvertised(t *T) {
	equal(t, "lowest advertised", t.Advertised(kmsg.JoinGroup).MinVersion, 0)
}

func unsupportedVersion(t *T) {
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.Produce, kmsg.Fetch, kmsg.CreateTopics, kmsg.JoinGroup} {
		c := t.Dial()
		if err := c.SendRaw(header1(key.Int16(), 99)); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.closes(c)
	}
}

func unsupportedKey(t *T) {
	for _, key := range []int16{-1, 4, 5, 6, 7, 1000, 32767} {
		c := t.Dial()
		if err := c.SendRaw(header1(key, 0)); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.closes(c)
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

func closesAfter(b ...byte) func(*T) {
	return func(t *T) {
		c := t.Dial()
		if err := c.SendRaw(b); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.closes(c)
		t.ok("another connection", apiVersions(t, t.Dial(), 0).ErrorCode)
	}
}

func bogusClientID(t *T) {
	other := t.Dial()
	t.ok("another connection", apiVersions(t, other, 0).ErrorCode)
	c := t.Dial()
	if err := c.SendRaw([]byte{0, 0, 0, 12, 0, 3, 0, 1, 0, 0, 0, 1, 0x75, 0x30, 'a', 'b'}); err != nil {
		t.Fatalf("send: %v", err)
	}
	t.closes(c)
	t.ok("the other connection lives", apiVersions(t, other, 0).ErrorCode)
}

func garbageBody(t *T) {
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
		t.closes(c)
	}
}

func hugeArray(t *T) {
	c := t.Dial()
	// Metadata v1 of 2147483647 topics.
	if err := c.SendRaw([]byte{0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff}); err != nil {
		t.Fatalf("send: %v", err)
	}
	t.closes(c)
}

func nullArray(t *T) {
	topics := kmsg.NewPtrMetadataRequest() // Null is "all" here, and allowed.
	ask[*kmsg.MetadataResponse](t, 1, topics)
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
	if !errors.Is(err, ErrClosed) {
		t.Fatalf("got % x, %v; want a closed connection", b, err)
	}
}

func nullClientID(t *T) {
	c := t.Dial()
	// Metadata v1 of no topics, correlation id 9.
	if err := c.SendRaw([]byte{0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 9, 0xff, 0xff, 0, 0, 0, 0}); err != nil {
		t.Fatalf("send: %v", err)
	}
	b, err := c.ReadFrame()
	if err != nil {
		t.Fatalf("%v", err)
	}
	equal(t, "correlation id", binary.BigEndian.Uint32(b), 9)
}

func unknownTags(t *T) {
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
	equal(t, "correlation id", be.Uint32(got), 5)
}

func pipelined(t *T) {
	c := t.Dial()
	versions := t.send(c, 0, kmsg.NewPtrApiVersionsRequest())
	md := t.send(c, 0, kmsg.NewPtrMetadataRequest())
	receive[*kmsg.ApiVersionsResponse](t, c, versions)
	receive[*kmsg.MetadataResponse](t, c, md)
}

func slowWriter(t *T) {
	c := t.Dial()
	req := kmsg.NewPtrApiVersionsRequest()
	for _, b := range c.Frame(req, 1) {
		if err := c.SendRaw([]byte{b}); err != nil {
			t.Fatalf("send: %v", err)
		}
		t.pause(time.Millisecond)
	}
	receive[*kmsg.ApiVersionsResponse](t, c, Pending{1, req})
}
