package differential

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// everything are all APIs that actions ask, at the versions that kmsg knows.
func everything() versions {
	all := versions{}
	for _, a := range actions() {
		all[a.api] = [2]int16{0, kmsg.RequestForKey(a.api.Int16()).MaxVersion()}
	}
	return all
}

// TestWorldsOfASeed: the same seed and number draw the same requests, another other ones.
func TestWorldsOfASeed(t *testing.T) {
	script := func(seed uint64, world int) string {
		v, lines := newView("p-", 1000), []string{}
		for _, s := range (Fuzzer{Seed: seed, Steps: 40}).Draw(world, everything()) {
			lines = append(lines, s.title()+v.normalise(s.request(v)).String())
		}
		return strings.Join(lines, "\n")
	}
	first := script(1, 2)
	if diff := cmp.Diff(first, script(1, 2)); diff != "" {
		t.Errorf("the same world twice:\n%s", diff)
	}
	if first == script(1, 3) || first == script(2, 2) {
		t.Error("two worlds are the same")
	}
}

// TestWorldsAskEverything: a few dozen worlds ask each API, in several versions, and
// whatever is drawn can be sent.
func TestWorldsAskEverything(t *testing.T) {
	asked := map[kmsg.Key]map[int16]bool{}
	for world := range 60 {
		v := newView("p-", 1000)
		for _, s := range (Fuzzer{Seed: 1, Steps: 40}).Draw(world, everything()) {
			req := s.request(v)
			if req.Key() != s.API.Int16() || req.GetVersion() != s.Version {
				t.Fatalf("step %d is %s v%d and asks API %d v%d", s.Number, s.API.Name(), s.Version, req.Key(), req.GetVersion())
			}
			if asked[s.API] == nil {
				asked[s.API] = map[int16]bool{}
			}
			asked[s.API][s.Version] = true
			again := kmsg.RequestForKey(req.Key())
			again.SetVersion(s.Version)
			if err := again.ReadFrom(req.AppendTo(nil)); err != nil {
				t.Fatalf("%s v%d: %v", s.API.Name(), s.Version, err)
			}
		}
	}
	for key, v := range everything() {
		if len(asked[key]) == 0 || v[1] > 0 && len(asked[key]) == 1 {
			t.Errorf("%s was asked in versions %v of 0 to %d", key.Name(), asked[key], v[1])
		}
	}
}

// TestNormalise: what a broker draws itself has the same name on both sides, what it
// decides has not.
func TestNormalise(t *testing.T) {
	view := func(prefix string, producer int64, topic byte, member string) *view {
		v := newView(prefix, 1_000_000)
		v.given("p0", producer, 3)
		v.setTopic("t0", [16]byte{topic}, 1)
		v.symbol("member", member)
		return v
	}
	a, b := view("a-", 7, 1, "m-uuid-a"), view("b-", 4000, 2, "m-uuid-b")
	for name, c := range map[string]struct {
		a, b any
		want []string // Paths that differ.
	}{
		"ids, names and members": {
			&kmsg.JoinGroupResponse{MemberID: "m-uuid-a", LeaderID: "m-uuid-a"},
			&kmsg.JoinGroupResponse{MemberID: "m-uuid-b", LeaderID: "m-uuid-b"},
			nil,
		},
		"another leader": {
			&kmsg.JoinGroupResponse{MemberID: "m-uuid-a", LeaderID: "m-uuid-a"},
			&kmsg.JoinGroupResponse{MemberID: "m-uuid-b", LeaderID: "other"},
			[]string{".LeaderID"},
		},
		"producers and epochs": {
			&kmsg.InitProducerIDResponse{ProducerID: 7, ProducerEpoch: 3},
			&kmsg.InitProducerIDResponse{ProducerID: 4000, ProducerEpoch: 4},
			[]string{".ProducerEpoch"},
		},
		"a producer that was never given": {
			&kmsg.InitProducerIDResponse{ProducerID: 7},
			&kmsg.InitProducerIDResponse{ProducerID: 7},
			[]string{".ProducerID"},
		},
		"codes": {
			&kmsg.HeartbeatResponse{ErrorCode: 25},
			&kmsg.HeartbeatResponse{ErrorCode: 22},
			[]string{".ErrorCode"},
		},
		"throttling is no difference": {
			&kmsg.HeartbeatResponse{ThrottleMillis: 5},
			&kmsg.HeartbeatResponse{},
			nil,
		},
		"lists without order, and topic ids": {
			&kmsg.MetadataResponse{Topics: []kmsg.MetadataResponseTopic{{Topic: new("a-t0"), TopicID: [16]byte{1}}, {Topic: new("a-t1"), ErrorCode: 3}}},
			&kmsg.MetadataResponse{Topics: []kmsg.MetadataResponseTopic{{Topic: new("b-t1"), ErrorCode: 3}, {Topic: new("b-t0"), TopicID: [16]byte{2}}}},
			nil,
		},
		"topics of others": {
			&kmsg.MetadataResponse{Topics: []kmsg.MetadataResponseTopic{{Topic: new("of another world")}}},
			&kmsg.MetadataResponse{},
			nil,
		},
		"lists with order": {
			&kmsg.FindCoordinatorResponse{Coordinators: []kmsg.FindCoordinatorResponseCoordinator{{Key: "a-x"}, {Key: "a-y"}}},
			&kmsg.FindCoordinatorResponse{Coordinators: []kmsg.FindCoordinatorResponseCoordinator{{Key: "b-y"}, {Key: "b-x"}}},
			[]string{".Coordinators[].Key", ".Coordinators[].Key"},
		},
		"topics of an assignment": {
			&kmsg.SyncGroupResponse{MemberAssignment: assigned(0, "a-t0", "a-t1")},
			&kmsg.SyncGroupResponse{MemberAssignment: assigned(0, "b-t1", "b-t0")},
			nil,
		},
		"other topics of an assignment": {
			&kmsg.SyncGroupResponse{MemberAssignment: assigned(0, "a-t0", "a-t1")},
			&kmsg.SyncGroupResponse{MemberAssignment: assigned(0, "b-t0", "b-t2")},
			[]string{".MemberAssignment.Topics[].Topic"},
		},
		"versions of an assignment": {
			&kmsg.SyncGroupResponse{MemberAssignment: assigned(0, "a-t0")},
			&kmsg.SyncGroupResponse{MemberAssignment: assigned(1, "b-t0")},
			[]string{".MemberAssignment.AssignmentVersion"},
		},
		"an assignment of another kind": {
			&kmsg.SyncGroupResponse{MemberAssignment: []byte("for m0")},
			&kmsg.SyncGroupResponse{MemberAssignment: []byte("for m1")},
			[]string{".MemberAssignment"},
		},
		"times": {
			&kmsg.ListOffsetsResponse{Topics: []kmsg.ListOffsetsResponseTopic{{Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Timestamp: 1_000_005}, {Timestamp: 99_000_000}, {Timestamp: -1}}}}},
			&kmsg.ListOffsetsResponse{Topics: []kmsg.ListOffsetsResponseTopic{{Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Timestamp: 1_000_006}, {Timestamp: 99_000_777}, {Timestamp: -1}}}}},
			[]string{".Topics[].Partitions[].Timestamp"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range differ(a.normalise(c.a), b.normalise(c.b)) {
				got = append(got, p.path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func assigned(version int16, topics ...string) []byte {
	a := kmsg.ConsumerMemberAssignment{Version: version}
	for _, topic := range topics {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: []int32{0, 1}})
	}
	return a.AppendTo(nil)
}

// TestBatchesAreRead: what a batch says is compared, whatever its codec; and a
// change of it is seen.
func TestBatchesAreRead(t *testing.T) {
	v := newView("p-", 1_000_000)
	read := func(b batch) string { return v.batches(b.bytes(v, "t0-0")).String() }
	for codec := range int16(5) {
		b := batch{count: 2, codec: codec, at: 5, tag: 9}
		got := read(b)
		if !strings.Contains(got, `s9-1`) || !strings.Contains(got, "FirstTimestamp:t+5") || strings.Contains(got, "Checksum") {
			t.Errorf("codec %d: %s", codec, got)
		}
		b.tag = 8
		if got == read(b) {
			t.Errorf("codec %d: other records read alike", codec)
		}
		b.fault = faultCRC
		if got := read(b); !strings.Contains(got, "Checksum:bad") {
			t.Errorf("codec %d: a wrong checksum is not seen: %s", codec, got)
		}
	}
}

// TestShrink: of any list of steps that a difference needs, those are what is left.
func TestShrink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "steps")
		steps := make([]int, n)
		for i := range steps {
			steps[i] = i
		}
		needed := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 4).Draw(t, "needed"))))
		got := shrink(steps, 10_000, func(some []int) bool {
			return !slices.ContainsFunc(needed, func(s int) bool { return !slices.Contains(some, s) })
		})
		if diff := cmp.Diff(needed, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestFuzz: two brokers that are the same do not differ, and two of which one is set
// otherwise do, in a script of as few steps as that takes.
func TestFuzz(t *testing.T) {
	plain := func(more ...string) string {
		return brokertest.Start(t, brokertest.Config(append(more, "offsets.topic.num.partitions=2", "transaction.state.log.num.partitions=2")...)).Addr()
	}
	one, two, other := plain(), plain(), plain("log.retention.ms=12345678")
	var out bytes.Buffer
	same := Fuzzer{Here: one, There: two, Seed: 1, Worlds: 1, Steps: 8, Out: &out}
	tally, err := same.Run(t.Context())
	if err != nil || len(tally.Found) > 0 || tally.Requests == 0 {
		t.Fatalf("two brokers that are the same differ: %v %v\n%s", err, tally, out.String())
	}
	planted := Fuzzer{Here: one, There: other, Seed: 1, Worlds: 50, Steps: 4, Patience: time.Millisecond, APIs: []string{"DescribeConfigs"}, Out: &out}
	tally, err = planted.Run(t.Context())
	if err != nil || len(tally.Found) == 0 {
		t.Fatalf("no difference was found: %v %v", err, tally)
	}
	if got := out.String(); !strings.Contains(got, "12345678") || !strings.Contains(got, "control:") || strings.Count(got, "\n  ") > 10 {
		t.Errorf("printed:%s", got)
	}
}

// TestWhoIsNamedFirst: of several members that a list is the first to tell, the same one
// has the first name on both sides, whatever ids the brokers drew.
func TestWhoIsNamedFirst(t *testing.T) {
	told := func(ids ...string) kmsg.Response {
		resp := kmsg.NewPtrJoinGroupResponse()
		resp.Version = 5
		for i, id := range ids {
			m := kmsg.NewJoinGroupResponseMember()
			m.MemberID, m.ProtocolMetadata = id, []byte{'a' + byte(i)}
			resp.Members = append(resp.Members, m)
		}
		return resp
	}
	reversed := told("z", "y", "x").(*kmsg.JoinGroupResponse)
	slices.Reverse(reversed.Members)
	here := newView("w.", 0).normalise(told("z", "y", "x")).String()
	for name, other := range map[string]kmsg.Response{"other ids": told("1", "2", "3"), "ids the other way round": told("x", "y", "z"), "another order": reversed} {
		if there := newView("w.", 0).normalise(other).String(); there != here {
			t.Errorf("%s:\n%s\n%s", name, here, there)
		}
	}
}
