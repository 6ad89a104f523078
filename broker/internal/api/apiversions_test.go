package api

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func askAPIVersions(t *testing.T, env *Env, version int16) *kmsg.ApiVersionsResponse {
	t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = version
	req.ClientSoftwareName, req.ClientSoftwareVersion = "apache-kafka-java", "4.2.0"
	return ask(t, env, req).(*kmsg.ApiVersionsResponse)
}

func TestApiVersionsTellsTheTable(t *testing.T) {
	for version := int16(0); version <= 4; version++ {
		resp := askAPIVersions(t, new(Env), version)
		if resp.ErrorCode != 0 {
			t.Fatalf("version %d: error %d", version, resp.ErrorCode)
		}
		got := make(map[int16][2]int16)
		for _, k := range resp.ApiKeys {
			got[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
		}
		for key, r := range routes {
			want := [2]int16{r.advertisedMin, r.max}
			if have, ok := got[key]; !ok || have != want {
				t.Errorf("version %d: %s is %v, want %v", version, kmsg.NameForKey(key), have, want)
			}
			delete(got, key)
		}
		if len(got) > 0 {
			t.Errorf("version %d: tells of %v, which is not served", version, got)
		}
	}
}

// TestApiVersionsFromTheFuture is case O01: the answer has the body of version
// 0, error 35 and the range of key 18, whatever the request holds.
func TestApiVersionsFromTheFuture(t *testing.T) {
	for _, version := range []int16{5, 99, 32767} {
		call := callOf(kmsg.NewPtrApiVersionsRequest())
		call.Version, call.Body = version, []byte{0xff, 0xff, 0xff}
		answer, err := new(Env).Serve(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		// Size, correlation 9, error 35, one key: 18 from 0 to 4.
		const want = "00000010 00000009 0023 00000001 0012 0000 0004"
		if got := hex.EncodeToString(flatten(t, answer)); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("version %d: %s, want %s", version, got, want)
		}
	}
}

// TestClientSoftware is case O19: each connection knows whose it is, and a name or
// version that does not look like one is refused.
func TestClientSoftware(t *testing.T) {
	for name, tc := range map[string]struct {
		name, version string
		want          int16
	}{
		"as Java says it":      {"apache-kafka-java", "4.2.0", 0},
		"one character":        {"k", "1", 0},
		"dots within":          {"a.b-c", "1.0-rc.1", 0},
		"empty name":           {"", "1", kerr.InvalidRequest.Code},
		"empty version":        {"k", "", kerr.InvalidRequest.Code},
		"ends with a dash":     {"k-", "1", kerr.InvalidRequest.Code},
		"begins with a dot":    {".k", "1", kerr.InvalidRequest.Code},
		"a space within":       {"my client", "1", kerr.InvalidRequest.Code},
		"a newline at the end": {"k\n", "1", kerr.InvalidRequest.Code},
	} {
		t.Run(name, func(t *testing.T) {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, tc.name, tc.version
			call := callOf(req)
			answer, err := new(Env).Serve(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
			readAnswer(t, answer, resp)
			if resp.ErrorCode != tc.want {
				t.Errorf("error %d, want %d", resp.ErrorCode, tc.want)
			}
			name, version := "", "" // What the connection keeps.
			if tc.want == 0 {
				name, version = tc.name, tc.version
			}
			if call.Conn.SoftwareName != name || call.Conn.SoftwareVersion != version {
				t.Errorf("connection's software is %q %q, want %q %q", call.Conn.SoftwareName, call.Conn.SoftwareVersion, name, version)
			}
		})
	}
}

func TestFeatures(t *testing.T) {
	env := &Env{Features: func() Features {
		return Features{
			Supported: map[string]Levels{"metadata.version": {7, 29}, "group.version": {0, 1}},
			Finalized: map[string]int16{"metadata.version": 29, "group.version": 1, "share.version": 0},
			Epoch:     42,
		}
	}}
	names := func(version int16) (supported, finalized []string, epoch int64) {
		resp := askAPIVersions(t, env, version)
		for _, f := range resp.SupportedFeatures {
			supported = append(supported, f.Name)
		}
		for _, f := range resp.FinalizedFeatures {
			finalized = append(finalized, f.Name)
		}
		return supported, finalized, resp.FinalizedFeaturesEpoch
	}
	for version, want := range map[int16][]string{
		3: {"metadata.version"}, // KAFKA-17492.
		4: {"group.version", "metadata.version"},
	} {
		supported, finalized, epoch := names(version)
		if diff := cmp.Diff(want, supported); diff != "" {
			t.Errorf("version %d, supported: %s", version, diff)
		}
		if diff := cmp.Diff([]string{"group.version", "metadata.version"}, finalized); diff != "" || epoch != 42 {
			t.Errorf("version %d, finalized of epoch %d: %s", version, epoch, diff)
		}
	}
	env.Features = nil
	if _, _, epoch := names(4); epoch != -1 {
		t.Errorf("epoch %d of a cluster that is not known yet", epoch)
	}
}
