package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// TestSecurityRecords: what this controller does not yet decide it still keeps: it
// may load a log that Kafka wrote, and no snapshot may lose it.
func TestSecurityRecords(t *testing.T) {
	acl := &metadata.AccessControlEntry{ID: [16]byte{1}, Principal: "User:a"}
	scram := &metadata.UserScramCredential{Name: "a", Mechanism: 1, Iterations: 4096}
	token := &metadata.DelegationToken{TokenID: "t", Owner: "User:a"}
	quota := func(value float64, parts ...metadata.QuotaEntity) *metadata.ClientQuota {
		return &metadata.ClientQuota{Entity: parts, Name: "producer_byte_rate", Value: value}
	}
	user, client := metadata.QuotaEntity{Type: "user", Name: new("a")}, metadata.QuotaEntity{Type: "client-id"}
	recs := []metadata.Record{
		&metadata.FeatureLevel{Name: metadata.FeatureMetadataVersion, FeatureLevel: 29},
		acl, &metadata.AccessControlEntry{ID: [16]byte{2}}, &metadata.RemoveAccessControlEntry{ID: [16]byte{2}},
		scram, &metadata.UserScramCredential{Name: "a", Mechanism: 2}, &metadata.RemoveUserScramCredential{Name: "a", Mechanism: 2},
		token, &metadata.DelegationToken{TokenID: "u"}, &metadata.RemoveDelegationToken{TokenID: "u"},
		quota(1, user, client), quota(2, client, user), // The same entity: the order of its parts means nothing.
		quota(3, user), &metadata.ClientQuota{Entity: []metadata.QuotaEntity{user}, Name: "producer_byte_rate", Remove: true},
	}
	r := NewReplica(testCluster, nil)
	replayAll := func(r *Replica, recs []metadata.Record) *Image {
		for i, rec := range recs {
			value := metadata.Encode(rec, metadata.Level42IV1.VersionOf(rec))
			if err := r.Replay(coordinator.At{Offset: int64(i)}, coordinator.Record{Value: value}); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
		}
		im, _ := r.Image(int64(len(recs)), 1, 1)
		return im
	}
	im := replayAll(r, recs)
	var kept []metadata.Record
	for a := range im.ACLs() {
		kept = append(kept, a)
	}
	for s := range im.Credentials() {
		kept = append(kept, s)
	}
	for k := range im.Tokens() {
		kept = append(kept, k)
	}
	for q := range im.Quotas() {
		kept = append(kept, q)
	}
	if diff := cmp.Diff([]metadata.Record{acl, scram, token, quota(2, client, user)}, kept); diff != "" {
		t.Errorf("(-want +kept)\n%s", diff)
	}
	again := NewReplica(testCluster, nil)
	for rec := range Snapshot(im) {
		if err := again.Replay(coordinator.At{}, rec); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(dump(&im.state), dump(&again.journal.state)); diff != "" {
		t.Errorf("a snapshot loses something\n%s", diff)
	}
	next := replayAll(r, []metadata.Record{&metadata.RemoveAccessControlEntry{ID: [16]byte{1}}})
	if d := next.Delta(); !d.Security || d.Quotas || d.Features {
		t.Errorf("delta %+v", d)
	}
}

// FuzzReplay feeds any bytes as records: a log may be damaged, and must then be
// refused, not crash the node. After what was accepted the state must still be one
// that a snapshot can hold.
func FuzzReplay(f *testing.F) {
	_, golden := kafkaLog(f)
	for _, rec := range golden[:40] {
		f.Add(golden[1].Value, golden[2].Value, rec.Value)
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		r := NewReplica(testCluster, nil)
		for i, value := range [][]byte{golden[1].Value, a, b, c, a, b, c} {
			if err := r.Replay(coordinator.At{Offset: int64(i)}, coordinator.Record{Value: value}); err != nil {
				return
			}
		}
		im, ok := r.Image(7, 1, 1)
		if !ok {
			return
		}
		again := NewReplica(testCluster, nil)
		for rec := range Snapshot(im) {
			if err := again.Replay(coordinator.At{}, rec); err != nil {
				t.Fatalf("loading the snapshot: %v", err)
			}
		}
		if diff := cmp.Diff(dump(&im.state), dump(&again.journal.state)); diff != "" {
			t.Fatalf("loading the snapshot gives another state\n%s", diff)
		}
	})
}
