package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// TestRecordVersions reads every version that Kafka ever wrote; what a version
// does not carry has the value that Kafka gives it.
func TestRecordVersions(t *testing.T) {
	for version := int16(0); version <= 4; version++ {
		t.Run(fmt.Sprint("group v", version), func(t *testing.T) {
			v := kmsg.GroupMetadataValue{
				Version: version, ProtocolType: "consumer", Generation: 7,
				Protocol: new("range"), Leader: new("m"), CurrentStateTimestamp: 99,
				Members: []kmsg.GroupMetadataValueMember{{
					MemberID: "m", InstanceID: new("i"), ClientID: "c", ClientHost: "/h",
					RebalanceTimeoutMillis: 500, SessionTimeoutMillis: 300,
					Subscription: subscription("t"), Assignment: []byte("a"),
				}},
			}
			s := New(DefaultConfig())
			r := coordinator.Record{Key: groupRecordKey("g"), Value: v.AppendTo(nil)}
			if err := s.Replay(coordinator.At{ProducerID: -1}, r); err != nil {
				t.Fatal(err)
			}
			g := s.groups["g"]
			m := g.members[0]
			wantSince, wantRebalance, static := int64(99), int32(500), true
			if version < 2 {
				wantSince = -1
			}
			if version < 1 {
				wantRebalance = 300
			}
			if version < 3 {
				static = false
			}
			if g.state != stable || g.sinceMs != wantSince || m.rebalanceMs != wantRebalance || (m.instance != nil) != static ||
				g.leader != "m" || g.generation != 7 || string(m.assignment) != "a" {
				t.Errorf("group %+v, member %+v", g.classic, m)
			}
			if err := s.check(); err != nil {
				t.Error(err)
			}
		})
		t.Run(fmt.Sprint("offset v", version), func(t *testing.T) {
			v := kmsg.OffsetCommitValue{
				Version: version, Offset: 5, LeaderEpoch: 3, Metadata: "x",
				CommitTimestamp: 10, ExpireTimestamp: 20, TopicID: [16]byte{9},
			}
			want := committed{offset: 5, leaderEpoch: -1, metadata: "x", commitMs: 10, expireMs: -1, at: 1}
			switch version {
			case 1:
				want.expireMs = 20
			case 3:
				want.leaderEpoch = 3
			case 4:
				want.leaderEpoch, want.topicID = 3, [16]byte{9}
			}
			for keyVersion := range int16(2) {
				key := kmsg.OffsetCommitKey{Version: keyVersion, Group: "g", Topic: "t", Partition: 2}
				s := New(DefaultConfig())
				r := coordinator.Record{Key: key.AppendTo(nil), Value: v.AppendTo(nil)}
				if err := s.Replay(coordinator.At{Offset: 1, ProducerID: -1}, r); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, s.groups["g"].offsets["t"][2], cmp.AllowUnexported(committed{})); diff != "" {
					t.Errorf("key version %d (-want +got)\n%s", keyVersion, diff)
				}
			}
		})
	}
}

// TestTransactions replays what transactional producers wrote.
func TestTransactions(t *testing.T) {
	const a, b = int64(1), int64(2)
	key := offsetKey{"g", "t", 0}
	type log struct {
		*testing.T
		coordtest.Log
	}
	save := func(l *log, producer, offset int64) {
		r := offsetRecord(key, committed{offset: offset, expireMs: -1})
		if _, err := l.AppendTxn(coordtest.Start, producer, 0, []coordinator.Record{r}); err != nil {
			l.Fatal(err)
		}
	}
	gone := func(l *log) {
		if _, err := l.Append(coordtest.Start, []coordinator.Record{offsetTombstone(key)}); err != nil {
			l.Fatal(err)
		}
	}
	end := func(l *log, producer int64, commit bool) { l.AppendMarker(coordtest.Start, producer, 0, commit) }
	for name, tc := range map[string]struct {
		write  func(l *log)
		stable string // What OffsetFetch with RequireStable says.
	}{
		"open": {func(l *log) { save(l, a, 1) }, `offsets t/0=-1 epoch=-1 ""UNSTABLE_OFFSET_COMMIT`},
		"open over an older commit": {
			func(l *log) { save(l, -1, 9); save(l, a, 1) }, `offsets t/0=-1 epoch=-1 ""UNSTABLE_OFFSET_COMMIT`,
		},
		"committed": {func(l *log) { save(l, a, 1); end(l, a, true) }, `offsets t/0=1 epoch=0 ""`},
		"aborted":   {func(l *log) { save(l, a, 1); end(l, a, false) }, `offsets t/0=-1 epoch=-1 ""`},
		"aborted over an older commit": {
			func(l *log) { save(l, -1, 9); save(l, a, 1); end(l, a, false) }, `offsets t/0=9 epoch=0 ""`,
		},
		"a plain commit came after it": {
			func(l *log) { save(l, a, 1); save(l, -1, 9); end(l, a, true) }, `offsets t/0=9 epoch=0 ""`,
		},
		"two producers, one still open": {
			func(l *log) { save(l, a, 1); save(l, b, 2); end(l, a, true) }, `offsets t/0=-1 epoch=-1 ""UNSTABLE_OFFSET_COMMIT`,
		},
		"two producers, the later record wins": {
			func(l *log) { save(l, a, 1); save(l, b, 2); end(l, b, true); end(l, a, true) }, `offsets t/0=2 epoch=0 ""`,
		},
		"deleted while open": {
			func(l *log) { save(l, a, 1); gone(l); end(l, a, true) }, `offsets t/0=-1 epoch=-1 ""`,
		},
		"a marker without records": {func(l *log) { end(l, a, true) }, `offsets t/0=-1 epoch=-1 ""`},
		"a second transaction of the same producer": {
			func(l *log) { save(l, a, 1); end(l, a, true); save(l, a, 2); end(l, a, false) }, `offsets t/0=1 epoch=0 ""`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &log{T: t}
			tc.write(l)
			s := New(DefaultConfig())
			if err := coordtest.Replay(s, &l.Log); err != nil {
				t.Fatal(err)
			}
			if err := s.check(); err != nil {
				t.Error(err)
			}
			in, err := (&parser{ids: &names{}}).parse("fetch g t/0 stable:=yes")
			if err != nil {
				t.Fatal(err)
			}
			eff := s.Step(coordinator.Moment{Now: coordtest.Start}, 1, in)
			if got := showReply(eff.Replies[0]); got != tc.stable {
				t.Errorf("%s\nwant %s", got, tc.stable)
			}
			if len(s.groups) > 0 && s.hard() == "" {
				t.Errorf("a group is left of which the log says nothing: %s", s.soft())
			}
		})
	}
}

// TestPendingHoldsTheGroup: while a transaction is open its offsets are the
// group's: neither it nor they expire, and deleting the group deletes them.
func TestPendingHoldsTheGroup(t *testing.T) {
	cfg := DefaultConfig()
	b := newBench(t, &cfg)
	b.want("save g t/0=5 t/1=6", "saved t/0: t/1:")
	r := offsetRecord(offsetKey{"g", "t", 0}, committed{offset: 1, expireMs: -1})
	if _, err := b.Log.AppendTxn(b.Now(), 1, 0, []coordinator.Record{r}); err != nil {
		t.Fatal(err)
	}
	b.Failover()
	b.Tick(cfg.OffsetsRetention + time.Hour)
	b.want("list", "groups g::Empty:classic")
	b.want("fetch g t/0 stable:=yes", `offsets t/0=-1 epoch=-1 ""UNSTABLE_OFFSET_COMMIT`)
	b.want("fetch g", `offsets t/0=5 epoch=-1 ""`)
	b.want("delete g", "deleted g:")
	b.want("list", "groups")
	b.Log.AppendMarker(b.Now(), 1, 0, true)
	b.Failover()
	b.want("list", "groups")
	if hard := b.shard().hard(); hard != "" {
		t.Errorf("the commit of the transaction brought back\n%s", hard)
	}
}

// TestConsumersOutliveTheirOffsets: a group of consumers stays when it is loaded
// from a log that takes its last offset back, in whatever way.
func TestConsumersOutliveTheirOffsets(t *testing.T) {
	for name, offset := range map[string]func(*bench){
		"a transaction that was aborted": func(b *bench) {
			txnCommit(t, b.Machine, nil)
			b.Do(coordinator.Marker{ProducerID: 7, Epoch: 1})
		},
		"an offset that was deleted": func(b *bench) {
			b.want("save g member:=m gen:=1 u/0=1", "saved u/0:")
			b.want("forget g u/0", "forgot  u/0:")
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			b := newBench(t, &cfg)
			b.run("topics 1 t=1")
			b.run("hb g member:=m topics:=t")
			offset(b)
			b.Failover()
			b.want("hb g member:=m epoch:=1", "member=m epoch=1")
		})
	}
}
