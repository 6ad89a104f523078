package api

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func toldTopics(t *testing.T, env *Env, req *kmsg.MetadataRequest) (got []string) {
	t.Helper()
	for _, topic := range ask(t, env, req).(*kmsg.MetadataResponse).Topics {
		name := "null"
		if topic.Topic != nil {
			name = *topic.Topic
		}
		got = append(got, fmt.Sprintf("%q id%d: %d, %d partitions", name, topic.TopicID[0], topic.ErrorCode, len(topic.Partitions)))
	}
	return got
}

// TestMetadataOfTopics: topics by name or by id, each once, and requests that are neither.
func TestMetadataOfTopics(t *testing.T) {
	id := func(n byte) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{TopicID: [16]byte{n, 0xee}} }
	name := func(s string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &s} }
	both := name("t")
	both.TopicID = id(2).TopicID
	all := []string{`"__consumer_offsets" id4: 0, 1 partitions`, `"r" id3: 0, 1 partitions`, `"t" id1: 0, 1 partitions`, `"u" id2: 0, 1 partitions`}
	for what, tc := range map[string]struct {
		version int16
		topics  []kmsg.MetadataRequestTopic
		want    []string
	}{
		"all":                   {10, nil, all},
		"all, in version 0":     {0, []kmsg.MetadataRequestTopic{}, []string{`"__consumer_offsets" id0: 0, 1 partitions`, `"r" id0: 0, 1 partitions`, `"t" id0: 0, 1 partitions`, `"u" id0: 0, 1 partitions`}},
		"none":                  {12, []kmsg.MetadataRequestTopic{}, nil},
		"a name twice":          {12, []kmsg.MetadataRequestTopic{name("t"), name("none"), name("t"), name("none")}, []string{`"t" id1: 0, 1 partitions`, `"none" id0: 3, 0 partitions`}},
		"no name":               {12, []kmsg.MetadataRequestTopic{name("no name/")}, []string{`"no name/" id0: 17, 0 partitions`}},
		"an id twice":           {12, []kmsg.MetadataRequestTopic{id(1), id(77), id(1), id(77)}, []string{`"null" id77: 100, 0 partitions`, `"t" id1: 0, 1 partitions`}},
		"ids go before names":   {12, []kmsg.MetadataRequestTopic{name("u"), id(1)}, []string{`"t" id1: 0, 1 partitions`}},
		"a name and an id":      {12, []kmsg.MetadataRequestTopic{both}, []string{`"u" id2: 0, 1 partitions`}},
		"neither":               {12, []kmsg.MetadataRequestTopic{{}, name("t")}, []string{`"" id0: 42, 0 partitions`, `"t" id0: 42, 0 partitions`}},
		"neither, beside an id": {12, []kmsg.MetadataRequestTopic{{}, id(1)}, []string{`"t" id1: 0, 1 partitions`}},
		"an id too early":       {11, []kmsg.MetadataRequestTopic{both, name("u")}, []string{`"t" id2: 42, 0 partitions`, `"u" id0: 42, 0 partitions`}},
	} {
		req := metadataOf(tc.version)
		req.Topics, req.AllowAutoTopicCreation = tc.topics, false
		env := rightsNode(t)
		env.AutoCreate = nil
		if diff := cmp.Diff(tc.want, toldTopics(t, env, req)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

// TestMetadataCreates: a missing topic is made if client and broker want it, and what
// comes of that is told.
func TestMetadataCreates(t *testing.T) {
	makes := func(n *node1, err error) func(context.Context, string) error {
		return func(_ context.Context, topic string) error {
			if err == nil {
				n.topic(topic, 9, 2)
			}
			return err
		}
	}
	for name, tc := range map[string]struct {
		version int16
		allowed bool
		create  bool // What the broker is set to.
		err     error
		want    string
	}{
		"made":                        {12, true, true, nil, `"new" id9: 0, 2 partitions`},
		"not wanted":                  {4, false, true, nil, `"new" id0: 3, 0 partitions`},
		"always wanted before 4":      {3, false, true, nil, `"new" id0: 0, 2 partitions`},
		"not allowed":                 {12, true, false, nil, `"new" id0: 3, 0 partitions`},
		"refused":                     {12, true, true, kerr.InvalidReplicationFactor, `"new" id0: 3, 0 partitions`},
		"refused because of its name": {12, true, true, kerr.InvalidTopicException, `"new" id0: 17, 0 partitions`},
	} {
		n := newNode(t, 1)
		if tc.create {
			n.AutoCreate = makes(n, tc.err)
		}
		req := metadataOf(tc.version, "new")
		req.AllowAutoTopicCreation = tc.allowed
		if diff := cmp.Diff([]string{tc.want}, toldTopics(t, n.Env, req)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestMetadataNotesWhoIsMisled: of this broker's own address.
func TestMetadataNotesWhoIsMisled(t *testing.T) {
	at := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	n := newNode(t, 2)
	n.Reached = func(string) bool { return true }
	var hosts []string
	n.Misled = func(_ *Conn, host string) { hosts = append(hosts, host) }
	call := callOf(metadataOf(12))
	call.Conn.Local, call.Conn.Peer = at("127.0.0.1:9092"), at("10.0.0.9:1")
	answer, err := n.Serve(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	answer.Release()
	if diff := cmp.Diff([]string{"127.0.0.1"}, hosts); diff != "" {
		t.Error(diff)
	}
}
