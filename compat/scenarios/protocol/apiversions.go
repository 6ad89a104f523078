package protocol

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// apiversionsScenarios are about ApiVersions.
var apiversionsScenarios = []scenario.Scenario{
	{ID: "protocol.api-versions.unknown-version", Says: "A version of ApiVersions that is not known is answered with version 0 and UNSUPPORTED_VERSION, and the connection lives.", Refs: []string{"KIP-511", "redpanda@0a6fac4438", "case O01"}, Run: apiVersionsUnknown},
	{ID: "protocol.api-versions.header", Says: "The response header of ApiVersions is never flexible.", Refs: []string{"KIP-511", "case O01"}, Run: apiVersionsHeader},
	{ID: "protocol.api-versions.software", Says: "The client's software name and version must look like such.", Refs: []string{"KIP-511"}, Run: apiVersionsSoftware},
	{ID: "protocol.api-versions.features", Says: "Versions 3 and up tell supported and finalized features; below 4 without those whose minimum is 0.", Refs: []string{"KIP-584", "KAFKA-17492"}, Since: "4.0", Run: apiVersionsFeatures},
	{ID: "protocol.api-versions.same-in-all", Says: "Every version of ApiVersions advertises the same.", Run: apiVersionsSame},
	{ID: "protocol.api-versions.produce-0", Says: "Produce is advertised from version 0, which old librdkafka needs, and closes the connection below 3.", Refs: []string{"KAFKA-18659"}, Since: "4.0", Run: produceAdvertised},
	{ID: "protocol.api-versions.join-0", Says: "JoinGroup is advertised from version 0, which old librdkafka needs.", Refs: []string{"KAFKA-19444"}, Since: "4.0.1", Run: joinAdvertised},
	{ID: "protocol.api-versions.whole-answer", Says: "An unfit software name is INVALID_REQUEST and nothing else.", Refs: []string{"KIP-511"}, Run: apiVersionsRefused},
}

func apiVersions(t *scenario.T, c *scenario.Conn, version int16) *kmsg.ApiVersionsResponse {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "moldau-compat", "1.0"
	req.SetVersion(version)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("ApiVersions version %d: %v", version, err)
	}
	return resp.(*kmsg.ApiVersionsResponse)
}

func apiVersionsUnknown(t *scenario.T) {
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
		scenario.Equal(t, "correlation id", binary.BigEndian.Uint32(b), 77)
		resp := kmsg.NewPtrApiVersionsResponse()
		if err := resp.ReadFrom(b[4:]); err != nil {
			t.Fatalf("a body of version 0: %v", err)
		}
		t.Code("ApiVersions", resp.ErrorCode, kerr.UnsupportedVersion)
		// Kafka names ApiVersions alone: ApiVersionsRequest.getErrorResponse.
		at := slices.IndexFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == 18 })
		if at < 0 || resp.ApiKeys[at].MaxVersion < 3 {
			t.Fatalf("the versions of ApiVersions are not named: %s", scenario.Plain(resp.ApiKeys))
		}
		t.OK("the connection lives", apiVersions(t, c, 3).ErrorCode)
	}
}

func apiVersionsHeader(t *scenario.T) {
	t.Each(kmsg.ApiVersions, 0, 4, func(v int16) {
		t.OK("ApiVersions", apiVersions(t, t.Dial(), v).ErrorCode)
	})
}

func apiVersionsSoftware(t *scenario.T) {
	t.Each(kmsg.ApiVersions, 3, 4, func(v int16) {
		for _, bad := range [][2]string{{"", "1.0"}, {"moldau", ""}, {"-moldau", "1"}, {"mol dau", "1"}, {"moldau", "1."}, {"möldau", "1"}} {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = bad[0], bad[1]
			resp := scenario.AskOn[*kmsg.ApiVersionsResponse](t, t.Dial(), v, req)
			t.Code(bad[0]+" "+bad[1], resp.ErrorCode, kerr.InvalidRequest)
			scenario.Equal(t, "keys", len(resp.ApiKeys), 0)
		}
		t.OK("a good one", apiVersions(t, t.Dial(), v).ErrorCode)
	})
}

func apiVersionsFeatures(t *scenario.T) {
	t.Each(kmsg.ApiVersions, 3, 4, func(v int16) {
		resp := apiVersions(t, t.Dial(), v)
		supported := map[string][2]int16{}
		for _, f := range resp.SupportedFeatures {
			supported[f.Name] = [2]int16{f.MinVersion, f.MaxVersion}
		}
		finalized := map[string]int16{}
		for _, f := range resp.FinalizedFeatures {
			finalized[f.Name] = f.MaxVersionLevel
			scenario.Equal(t, f.Name+" finalized minimum", f.MinVersionLevel, f.MaxVersionLevel)
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
		if t.Has(kmsg.ConsumerGroupHeartbeat, 0) {
			_, told := supported["group.version"]
			scenario.Equal(t, "group.version, of minimum 0, is told", told, v >= 4)
			scenario.Equal(t, "group.version finalized", finalized["group.version"], 1)
		}
	})
}

func apiVersionsSame(t *scenario.T) {
	want := apiVersions(t, t.Conn(), 0).ApiKeys
	t.Each(kmsg.ApiVersions, 1, 4, func(v int16) {
		got := map[int16][2]int16{}
		for _, k := range apiVersions(t, t.Conn(), v).ApiKeys {
			got[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
		}
		scenario.Equal(t, "keys", len(got), len(want))
		for _, k := range want {
			scenario.Equal(t, kmsg.NameForKey(k.ApiKey), got[k.ApiKey], [2]int16{k.MinVersion, k.MaxVersion})
		}
	})
}

func produceAdvertised(t *scenario.T) {
	scenario.Equal(t, "lowest advertised", t.Advertised(kmsg.Produce).MinVersion, 0)
	topic := t.Topic(1)
	for v := range int16(3) {
		c := t.Dial()
		t.Send(c, v, t.ProduceRequest(v, -1, topic, scenario.Portion{Partition: 0, Records: scenario.PlainBatch("a").Bytes()}))
		t.Closes(c)
	}
	scenario.Equal(t, "end of the log", t.EndOffset(topic), 0)
}

func joinAdvertised(t *scenario.T) {
	scenario.Equal(t, "lowest advertised", t.Advertised(kmsg.JoinGroup).MinVersion, 0)
}

func apiVersionsRefused(t *scenario.T) {
	t.Each(kmsg.ApiVersions, 3, 4, func(v int16) {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "-", "1"
		scenario.Whole(t, "ApiVersions", scenario.AskOn[*kmsg.ApiVersionsResponse](t, t.Dial(), v, req), scenario.FilledPtr(func(r *kmsg.ApiVersionsResponse) {
			r.ErrorCode = kerr.InvalidRequest.Code
		}))
	})
}
