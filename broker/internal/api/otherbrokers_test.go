package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/logstore"
	record "github.com/moldau-broker/moldau/protocol/metadata"
)

// otherNode is node 1 beside node 2, which is fenced, node 3, which clients of this
// listener do not reach, and node 4, which is well; each leads a topic of its number,
// whose replicas all of them are. Nobody has heard of node 5.
func otherNode(t *testing.T) *node1 {
	n := newNode(t, 1)
	for id, listener := range map[int32]string{2: "PLAINTEXT", 3: "INTERNAL", 4: "PLAINTEXT"} {
		n.commit(&record.RegisterBroker{
			BrokerID: id, BrokerEpoch: int64(20 + id), LogDirs: [][16]byte{{byte(id)}}, Fenced: id == 2, Rack: kmsg.StringPtr(fmt.Sprint("rack", id)),
			EndPoints: []record.Endpoint{{Name: "OTHER", Host: "nowhere", Port: 1}, {Name: listener, Host: fmt.Sprint("host", id), Port: 9092}},
		})
	}
	for id := range int32(5) {
		leader := id + 1
		replicas := []int32{leader}
		for other := range int32(5) {
			if other != id {
				replicas = append(replicas, other+1)
			}
		}
		n.topic(fmt.Sprint("of", leader), byte(leader), 1, replicas...)
	}
	return n
}

// TestLeadersThatAreNotReached: what is told of partitions whose leader is fenced, has
// no such listener, or is not known. It is KRaftMetadataCache.java that has a fenced
// leader, which the controller never leaves one, lead.
func TestLeadersThatAreNotReached(t *testing.T) {
	n := otherNode(t)
	for version, listener := range map[int16]*kerr.Error{5: kerr.LeaderNotAvailable, 6: kerr.ListenerNotFound, 12: kerr.ListenerNotFound} {
		resp := ask(t, n.Env, metadataOf(version, "of1", "of2", "of3", "of4", "of5")).(*kmsg.MetadataResponse)
		var brokers []int32
		for _, b := range resp.Brokers {
			brokers = append(brokers, b.NodeID)
		}
		if !slices.Equal(brokers, []int32{1, 4}) || resp.ControllerID != 1 {
			t.Errorf("version %d: brokers %d, controller %d", version, brokers, resp.ControllerID)
		}
		var got []string
		for _, topic := range resp.Topics {
			p := topic.Partitions[0]
			slices.Sort(p.OfflineReplicas)
			got = append(got, fmt.Sprintf("%d %d %d", p.Leader, p.ErrorCode, p.OfflineReplicas))
		}
		none := fmt.Sprintf("-1 %d [2 3 5]", kerr.LeaderNotAvailable.Code)
		want := []string{"1 0 [2 3 5]", "2 0 [2 3 5]", fmt.Sprintf("-1 %d [2 3 5]", listener.Code), "4 0 [2 3 5]", none}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d: %s", version, diff)
		}
	}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 9
	for _, name := range []string{"of1", "of2", "of3", "of5", "no name/"} {
		req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
	}
	var got []string
	for _, topic := range ask(t, n.Env, req).(*kmsg.DescribeTopicPartitionsResponse).Topics {
		line := fmt.Sprint(*topic.Topic, " ", topic.ErrorCode)
		for _, p := range topic.Partitions {
			slices.Sort(p.OfflineReplicas)
			line += fmt.Sprintf(": %d %d %d", p.LeaderID, p.ErrorCode, p.OfflineReplicas)
		}
		got = append(got, line)
	}
	want := []string{"no name/ 17", "of1 0: 1 0 [2 3 5]", "of2 0: 2 0 [2 3 5]", "of3 0: -1 0 [2 3 5]", "of5 0: -1 0 [2 3 5]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMetadataOfVersion0: a client of version 0 is told only of the replicas that it
// reaches, and that there are others.
func TestMetadataOfVersion0(t *testing.T) {
	n := otherNode(t)
	n.topic("all", 8, 1, 4, 1)
	n.commit(&record.Topic{Name: "parted", TopicID: [16]byte{9}}, &record.Partition{
		TopicID: [16]byte{9}, Replicas: []int32{1, 3, 4}, ISR: []int32{4, 1}, Leader: 4, LeaderEpoch: 1, Directories: make([][16]byte, 3),
	})
	var got []string
	for _, topic := range ask(t, n.Env, metadataOf(0, "of1", "of3", "of5", "all", "parted")).(*kmsg.MetadataResponse).Topics {
		p := topic.Partitions[0]
		got = append(got, fmt.Sprintf("%s: %d %d %d %d", *topic.Topic, p.Leader, p.ErrorCode, p.Replicas, p.ISR))
	}
	want := []string{"of1: 1 9 [1 4] [1 4]", "of3: -1 5 [1 4] [1 4]", "of5: -1 5 [1 4] [1 4]", "all: 4 0 [4 1] [4 1]", "parted: 4 9 [1 4] [4 1]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := ask(t, n.Env, metadataOf(12, "of1")).(*kmsg.MetadataResponse).Topics[0].Partitions[0]; len(again.Replicas) != 5 {
		t.Errorf("the image has changed: %+v", again)
	}
}

// TestFencedBrokers: DescribeCluster tells of them only who asks.
func TestFencedBrokers(t *testing.T) {
	n := otherNode(t)
	for asked, want := range map[bool]string{false: "1 4", true: "1 2 fenced 4"} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.IncludeFencedBrokers = 2, asked
		var got []string
		for _, b := range ask(t, n.Env, req).(*kmsg.DescribeClusterResponse).Brokers {
			got = append(got, fmt.Sprint(b.NodeID))
			if b.IsFenced {
				got = append(got, "fenced")
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("asked for %v: %q", asked, got)
		}
	}
	for kind, want := range map[int8]*kerr.Error{2: kerr.MismatchedEndpointType, 0: kerr.UnsupportedEndpointType, 3: kerr.UnsupportedEndpointType} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType = 1, kind
		resp := ask(t, n.Env, req).(*kmsg.DescribeClusterResponse)
		if resp.ErrorCode != want.Code || resp.ErrorMessage == nil || len(resp.Brokers) != 0 || resp.ControllerID != -1 {
			t.Errorf("endpoints of kind %d: %s", kind, shownAll(resp))
		}
	}
}

// TestContact: admin requests go to this broker, to another where clients do not reach
// this one, or nowhere.
func TestContact(t *testing.T) {
	n := otherNode(t)
	im := n.image()
	for listener, want := range map[string]int32{"PLAINTEXT": 1, "OTHER": 3, "NONE": -1} {
		if got := n.contact(n.alive(&Conn{Listener: listener}, im)); got != want {
			t.Errorf("%s: broker %d, want %d", listener, got, want)
		}
	}
}

// coordinatedBy is a coordinator of groups that says who is.
type coordinatedBy struct {
	groupsOf
	node int32
}

func (c coordinatedBy) Coordinator(context.Context, string) (int32, error) { return c.node, nil }

func TestCoordinatorsThatAreNotReached(t *testing.T) {
	n := otherNode(t)
	for node, want := range map[int32]int16{1: 0, 4: 0, 2: kerr.CoordinatorNotAvailable.Code, 3: kerr.CoordinatorNotAvailable.Code, 5: kerr.CoordinatorNotAvailable.Code} {
		n.Groups = coordinatedBy{node: node}
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKey = 3, "g"
		resp := ask(t, n.Env, req).(*kmsg.FindCoordinatorResponse)
		host := ""
		if want == 0 {
			host = fmt.Sprint("host", node)
		}
		if resp.ErrorCode != want || resp.Host != host {
			t.Errorf("node %d: %s", node, shownAll(resp))
		}
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKey = 3, 2, "g"
	if got := ask(t, n.Env, req).(*kmsg.FindCoordinatorResponse).ErrorCode; got != kerr.InvalidRequest.Code {
		t.Errorf("a coordinator of no known kind: %d", got)
	}
}

// TestLeaderHints: who leads is told with where that is, once for each broker.
func TestLeaderHints(t *testing.T) {
	n := otherNode(t)
	v := n.view(callOf(kmsg.NewPtrMetadataRequest()))
	var nodes []node
	for topic, want := range map[string]leaderHint{"of4": {4, 5}, "of2": {2, 5}, "of3": {3, 5}, "of5": {5, 5}, "none": noLeader} {
		var hint leaderHint
		for range 2 {
			if hint, nodes = v.leader(topic, 0, nodes); hint != want {
				t.Errorf("%s: %v, want %v", topic, hint, want)
			}
		}
	}
	if len(nodes) != 1 || nodes[0].id != 4 || nodes[0].host != "host4" || nodes[0].port != 9092 || *nodes[0].rack != "rack4" {
		t.Errorf("nodes: %+v", nodes)
	}
	if hint, _ := v.leader("of4", 1, nil); hint != noLeader {
		t.Errorf("of a partition that is not there: %v", hint)
	}
}

// TestReached: clients are told the address that they reached where nobody set one, of
// this broker alone.
func TestReached(t *testing.T) {
	n := otherNode(t)
	n.Reached = func(listener string) bool { return listener == "PLAINTEXT" }
	local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.7:1234"))
	for name, tc := range map[string]struct {
		local net.Addr
		node  int32
		want  string
	}{
		"this broker":    {local, 1, "10.0.0.7 1234"},
		"another":        {local, 4, "host4 9092"},
		"not over TCP":   {nil, 1, "host1 9092"},
		"no port at all": {&net.UnixAddr{Name: "socket"}, 1, "host1 9092"},
	} {
		b, _ := n.image().Broker(tc.node)
		host, port, ok := n.endpoint(&Conn{Listener: "PLAINTEXT", Local: tc.local}, b)
		if got := fmt.Sprint(host, " ", port); !ok || got != tc.want {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
}

// TestMisled: someone is told only if a client on another machine is sent to its own.
func TestMisled(t *testing.T) {
	at := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	for name, tc := range map[string]struct {
		host        string
		peer, local net.Addr
		want        bool
	}{
		"another machine, localhost":    {"localhost", at("10.0.0.9:1"), at("10.0.0.7:9092"), true},
		"another machine, LOCALHOST.":   {"LOCALHOST.", at("10.0.0.9:1"), at("10.0.0.7:9092"), true},
		"another machine, 127.0.0.1":    {"127.0.0.1", at("10.0.0.9:1"), at("10.0.0.7:9092"), true},
		"another machine, mapped":       {"::ffff:127.0.0.1", at("10.0.0.9:1"), at("10.0.0.7:9092"), true},
		"another machine, an address":   {"10.0.0.7", at("10.0.0.9:1"), at("10.0.0.7:9092"), false},
		"another machine, a name":       {"broker", at("10.0.0.9:1"), at("10.0.0.7:9092"), false},
		"this machine, by loopback":     {"localhost", at("127.0.0.1:1"), at("127.0.0.1:9092"), false},
		"this machine, by its address":  {"localhost", at("10.0.0.7:1"), at("10.0.0.7:9092"), false},
		"another machine, to who knows": {"localhost", at("10.0.0.9:1"), nil, true},
		"nobody knows from where":       {"localhost", nil, at("10.0.0.7:9092"), false},
	} {
		told := false
		env := &Env{Misled: func(*Conn, string) { told = true }}
		env.noteMisled(&Conn{Peer: tc.peer, Local: tc.local}, tc.host)
		if told != tc.want {
			t.Errorf("%s: %v", name, told)
		}
	}
	new(Env).noteMisled(&Conn{}, "localhost") // Nobody wants to know.
}

func TestHost(t *testing.T) {
	for want, peer := range map[string]net.Addr{
		"": nil, "10.0.0.9": net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.9:1")), "socket": &net.UnixAddr{Name: "socket"},
	} {
		if got := (&Conn{Peer: peer}).Host(); got != want {
			t.Errorf("%v: %q, want %q", peer, got, want)
		}
	}
}

// brokenReplicas has none of the partitions that the image has, for a reason.
type brokenReplicas struct {
	Replicas
	err error
}

func (b brokenReplicas) Partition(string, int32) (*replica.Partition, error) { return nil, b.err }

func (b brokenReplicas) LogDir() replica.LogDir {
	return replica.LogDir{Path: "/data", Err: b.err, TotalBytes: -1, UsableBytes: -1}
}

func (b brokenReplicas) Partitions() iter.Seq[*replica.Partition] {
	panic("a directory that cannot be read")
}

// TestPartitionsThatAreNotHere: what is answered about partitions that the image has and
// this broker does not, and of those whose disk has failed.
func TestPartitionsThatAreNotHere(t *testing.T) {
	elsewhere, offline := &replica.UnknownPartitionError{}, &replica.OfflineError{Err: errors.New("no disk")}
	for name, tc := range map[string]struct{ elsewhere, offline *kerr.Error }{
		"Produce":              {kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		"Fetch":                {kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		"ListOffsets":          {kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		"OffsetForLeaderEpoch": {kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		"DeleteRecords":        {kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		"DescribeProducers":    {kerr.NotLeaderForPartition, kerr.KafkaStorageError},
		// Its group's partition is meant.
		"TxnOffsetCommit": {kerr.NotCoordinator, kerr.NotCoordinator},
		// For Kafka one that is offline is none.
		"WriteTxnMarkers by a broker": {kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition},
	} {
		for err, want := range map[error]*kerr.Error{elsewhere: tc.elsewhere, offline: tc.offline} {
			env := rightsNode(t)
			env.Replicas = brokenReplicas{err: err}
			got := shownAll(ask(t, env, rowNamed(t, name).req()))
			if !strings.Contains(got, `Topic:"t" Partitions:[{`+want.Message) && !strings.Contains(got, `Topic:"t" Partitions:[{LowWatermark:-1 `+want.Message) &&
				!strings.Contains(got, `Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {`+want.Message) {
				t.Errorf("%s when %v: %s, want %v", name, err, got, want)
			}
		}
	}
	for version := int16(4); version <= 7; version++ {
		env := rightsNode(t)
		env.Replicas = brokenReplicas{err: offline}
		want := kerr.KafkaStorageError.Code
		if version <= 5 {
			want = kerr.NotLeaderForPartition.Code
		}
		if got := ask(t, env, fetching2(version, -1)).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; got != want {
			t.Errorf("Fetch version %d: %d, want %d", version, got, want)
		}
	}
	env := rightsNode(t)
	env.Replicas = brokenReplicas{err: &logstore.FailedError{}}
	dirs := ask(t, env, kmsg.NewPtrDescribeLogDirsRequest()).(*kmsg.DescribeLogDirsResponse).Dirs
	if len(dirs) != 1 || dirs[0].ErrorCode != kerr.KafkaStorageError.Code || dirs[0].Dir != "/data" || len(dirs[0].Topics) != 0 {
		t.Errorf("DescribeLogDirs: %+v", dirs)
	}
}
