package group

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// txnCommit asks to commit an offset of t/0 for group "g" in a producer's
// transaction, and returns the code.
func txnCommit(t *testing.T, m *coordtest.Machine, change func(*kmsg.TxnOffsetCommitRequest)) int16 {
	t.Helper()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = 5, "g", 7, 1, -1
	rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	rp.Offset = 10
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{rp}}}
	if change != nil {
		change(req)
	}
	r, ok := m.Ask(Request{Body: req, Guard: 99})
	if !ok || r.Err != nil {
		t.Fatalf("answered %v: %v", ok, r.Err)
	}
	return r.Body.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
}

// fetchOne says what is committed for t/0 of group "g", as a stable reader sees it
// and as any does.
func fetchOne(t *testing.T, m *coordtest.Machine) (stable, any string) {
	t.Helper()
	var out []string
	for _, requireStable := range []bool{true, false} {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.RequireStable = 8, requireStable
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}}}}
		r, _ := m.Ask(Request{Body: req})
		p := r.Body.(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0]
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s", p.Offset, errorName(p.ErrorCode))))
	}
	return out[0], out[1]
}

// TestTxnCommit: offsets that are committed in a transaction count when its marker
// commits them, before and after a failover.
func TestTxnCommit(t *testing.T) {
	for _, commit := range []bool{true, false} {
		for _, failover := range []bool{true, false} {
			t.Run(fmt.Sprintf("commit=%v failover=%v", commit, failover), func(t *testing.T) {
				m := coordtest.NewMachine(newScript().NewShard, 1)
				if code := txnCommit(t, m, nil); code != 0 {
					t.Fatalf("code %d", code)
				}
				if failover {
					m.Failover()
				}
				if stable, any := fetchOne(t, m); stable != "-1 UNSTABLE_OFFSET_COMMIT" || any != "-1" {
					t.Errorf("open: stable %q, any %q", stable, any)
				}
				m.Do(coordinator.Marker{ProducerID: 8, Epoch: 1, Commit: !commit}) // Somebody else's.
				m.Do(coordinator.Marker{ProducerID: 7, Epoch: 2, Commit: commit})
				if failover {
					m.Failover()
				}
				want := "-1"
				if commit {
					want = "10"
				}
				if stable, any := fetchOne(t, m); stable != want || any != want {
					t.Errorf("ended: stable %q, any %q, want %q", stable, any, want)
				}
			})
		}
	}
}

func TestTxnCommitIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*kmsg.TxnOffsetCommitRequest)
		want   *kerr.Error
	}{
		"no group, but a generation": {func(r *kmsg.TxnOffsetCommitRequest) { r.Group, r.Generation = "none", 3 }, kerr.IllegalGeneration},
		"metadata too long": {func(r *kmsg.TxnOffsetCommitRequest) {
			r.Topics[0].Partitions[0].Metadata = kmsg.StringPtr(strings.Repeat("m", 11))
		}, kerr.OffsetMetadataTooLarge},
		"a member that is none":    {func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.Generation = "nobody", 1 }, kerr.UnknownMemberID},
		"an instance that is none": {func(r *kmsg.TxnOffsetCommitRequest) { r.InstanceID = kmsg.StringPtr("i") }, kerr.UnknownMemberID},
		"another generation":       {func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.Generation = "member", 9 }, kerr.IllegalGeneration},
		"the member":               {func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.Generation = "member", 1 }, nil},
		"nobody in particular":     {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := coordtest.NewMachine(newScript().NewShard, 1)
			member := joinAlone(m)
			code := txnCommit(t, m, func(r *kmsg.TxnOffsetCommitRequest) {
				if tc.change != nil {
					tc.change(r)
				}
				if r.MemberID == "member" {
					r.MemberID = member
				}
			})
			if want := tc.want; want == nil && code != 0 || want != nil && code != want.Code {
				t.Errorf("code %d, want %v", code, want)
			}
			if stable, _ := fetchOne(t, m); (code == 0) != strings.Contains(stable, "UNSTABLE") {
				t.Errorf("code %d, and the offset is %q", code, stable)
			}
		})
	}
}

// joinAlone makes group "g" of one member, in its first generation.
func joinAlone(m *coordtest.Machine) (member string) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.ProtocolType = 3, "g", "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 60_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}
	ticket := m.Do(Request{ClientID: "c", Body: req})
	m.Tick(DefaultConfig().InitialRebalanceDelay)
	return m.Replies[ticket].Body.(*kmsg.JoinGroupResponse).MemberID
}

// TestTxnCommitRefusedByLog: what the log finds wrong with the producer is for the
// caller to say.
func TestTxnCommitRefusedByLog(t *testing.T) {
	m := coordtest.NewMachine(newScript().NewShard, 1)
	fenced := errors.New("producer was fenced")
	m.Log.Fail(&coordinator.RefusedError{Err: fenced})
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Group, req.Generation = "g", -1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)}}
	if r, _ := m.Ask(Request{Body: req}); !errors.Is(r.Err, fenced) {
		t.Errorf("answered %v, %v", r.Body, r.Err)
	}
}

// TestTxnCommitOfTooMuchMetadata is case T11: an offset that is turned away for its
// metadata leaves nothing open, and the others of its request count.
func TestTxnCommitOfTooMuchMetadata(t *testing.T) {
	cfg := DefaultConfig()
	b := newBench(t, &cfg)
	bad := txnCommit(t, b.Machine, func(r *kmsg.TxnOffsetCommitRequest) {
		good := r.Topics[0].Partitions[0]
		good.Partition = 1
		r.Topics[0].Partitions[0].Metadata = new(strings.Repeat("m", 10_000))
		r.Topics[0].Partitions = append(r.Topics[0].Partitions, good)
	})
	if bad != kerr.OffsetMetadataTooLarge.Code {
		t.Errorf("code %d", bad)
	}
	b.want("fetch g t/0 t/1 stable:=yes", `offsets t/0=-1 epoch=-1 "" t/1=-1 epoch=-1 ""UNSTABLE_OFFSET_COMMIT`)
	b.Do(coordinator.Marker{ProducerID: 7, Epoch: 1, Commit: true})
	b.want("fetch g t/0 t/1 stable:=yes", `offsets t/0=-1 epoch=-1 "" t/1=10 epoch=-1 ""`)
}

// TestTxnCommitUnwritten: of a commit of which nothing was written the group is left.
func TestTxnCommitUnwritten(t *testing.T) {
	for _, generation := range []int32{-1, 1} {
		m := coordtest.NewMachine(newScript().NewShard, 1)
		txnCommit(t, m, func(req *kmsg.TxnOffsetCommitRequest) {
			req.Generation = generation
			req.Topics[0].Partitions[0].Metadata = new("more than ten")
		})
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{"g"}
		r, _ := m.Ask(Request{Body: req})
		want := int16(0)
		if generation >= 0 {
			want = kerr.GroupIDNotFound.Code
		}
		if code := r.Body.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode; code != want {
			t.Errorf("generation %d: delete says %s, want %s", generation, errorName(code), errorName(want))
		}
	}
}
