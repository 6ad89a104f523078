package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// bench is a machine that is given commands in the language of scripts.
type bench struct {
	t *testing.T
	*coordtest.Machine
	parser  parser
	records int // How many were written since the last take.
}

func newBench(t *testing.T, cfg *Config) *bench {
	b := &bench{t: t, parser: parser{ids: &names{numbers: make(map[string]string)}}}
	b.Machine = coordtest.NewMachine(func() coordinator.Shard { return New(*cfg) }, 1)
	b.OnEvent = func(e coordtest.Event) {
		if e.Record != nil {
			b.records++
		}
	}
	return b
}

// run gives one command and returns its reply as scripts show it; "" is none yet.
func (b *bench) run(command string) string {
	b.t.Helper()
	in, err := b.parser.parse(command)
	if err != nil {
		b.t.Fatal(err)
	}
	r, ok := b.Ask(in)
	if !ok {
		return ""
	}
	return b.parser.ids.short(showReply(r))
}

func (b *bench) want(command, want string) {
	b.t.Helper()
	if got := b.run(command); got != want {
		b.t.Errorf("%q: %s\nwant %s", command, got, want)
	}
}

func (b *bench) shard() *Shard { return b.Shard().(*Shard) }

// TestLiveGroupKeepsWhatItReads: a stable consumer group loses the offsets of
// topics that nobody subscribes to, any other live group loses none.
func TestLiveGroupKeepsWhatItReads(t *testing.T) {
	cfg := DefaultConfig()
	b := newBench(t, &cfg)
	for _, g := range []string{"knows protocols:=range:t", "damaged protocols:=range:!", "connect type:=connect protocols:=range:t"} {
		name, _, _ := strings.Cut(g, " ")
		b.run("join " + g + " v:=3 session:=30m client:=" + name)
		b.Tick(3 * time.Second)
		b.parser.ids.short(b.shard().soft()) // Gives the member its short name.
	}
	b.want("sync knows v:=3 member:=knows-1", `type=null protocol=null assigned=""`)
	b.want("sync damaged v:=3 member:=damaged-2", `type=null protocol=null assigned=""`)
	b.want("sync connect v:=3 member:=connect-3", `type=null protocol=null assigned=""`)
	for n, g := range []string{"knows", "damaged", "connect"} {
		b.want(fmt.Sprintf("save %s t/0=1 u/0=1 member:=%s-%d gen:=1", g, g, n+1), "saved t/0: u/0:")
	}
	beats := func(d time.Duration) {
		for range d / (20 * time.Minute) {
			b.Tick(20 * time.Minute)
			for n, g := range []string{"knows", "damaged", "connect"} {
				b.want(fmt.Sprintf("beat %s member:=%s-%d", g, g, n+1), "ok ")
			}
		}
	}
	all := `offsets t/0=1 epoch=-1 "" u/0=1 epoch=-1 ""`
	beats(cfg.OffsetsRetention - time.Hour)
	b.want("fetch knows", all)
	beats(2 * time.Hour)
	b.want("fetch knows", `offsets t/0=1 epoch=-1 ""`)
	b.want("fetch damaged", all)
	b.want("fetch connect", all)
}

// TestOverCapacity: a limit that was lowered makes a group rebalance at the next
// load, and the last to come back are turned away.
func TestOverCapacity(t *testing.T) {
	cfg := DefaultConfig()
	cfg.MaxSize = 3
	b := newBench(t, &cfg)
	for _, c := range []string{"a", "b", "d"} {
		b.run("join g v:=3 client:=" + c)
	}
	b.Tick(6 * time.Second)
	b.parser.ids.short(b.shard().soft())
	b.run("sync g v:=3 member:=a-1")
	cfg.MaxSize = 2
	b.Failover()
	b.want("beat g member:=a-1", "ok REBALANCE_IN_PROGRESS")
	b.run("join g member:=b-2")
	b.run("join g member:=d-3")
	b.want("join g member:=a-1", "GROUP_MAX_SIZE_REACHED member=")
	if got, want := b.parser.ids.short(b.shard().soft()), "g CompletingRebalance gen=2 leader=b-2 b-2 d-3 pending=0 unsynced=2\n"; got != want {
		t.Errorf("%swant\n%s", got, want)
	}
}

// TestCleaningIsCutUp: tombstones go in batches that any log takes, others get
// their turn between them, and nothing is forgotten, whether the offsets are those
// of many groups or of one.
func TestCleaningIsCutUp(t *testing.T) {
	expire := func(b *bench) { b.Tick(2 * DefaultConfig().OffsetsRetention) }
	forget := func(b *bench) { b.want("topics-deleted t", ""); b.Tick(0) }
	many := func(b *bench) (offsets int64) {
		for n := range int64(5000) {
			b.run(fmt.Sprintf("save %s-%d t/0=1", strings.Repeat("g", 50), n))
		}
		return b.Log.End()
	}
	one := func(b *bench) (offsets int64) {
		command := []byte("save " + strings.Repeat("g", 50))
		for n := range 5000 {
			command = fmt.Appendf(command, " t/%d=1", n)
		}
		b.run(string(command))
		return b.Log.End()
	}
	for name, tc := range map[string]struct {
		fill  func(*bench) int64
		start func(*bench)
	}{
		"expired offsets of many groups": {many, expire},
		"a deleted topic of many groups": {many, forget},
		"expired offsets of one group":   {one, expire},
		"a deleted topic of one group":   {one, forget},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.RetentionCheckInterval = 24 * time.Hour
			b := newBench(t, &cfg)
			offsets := tc.fill(b)
			largest, size := 0, 0
			b.OnEvent = func(e coordtest.Event) {
				switch {
				case e.Record == nil:
					size = 0
				default:
					size += len(e.Record.Key)
					largest = max(largest, size)
				}
			}
			tc.start(b)
			if wrote := b.Log.End() - offsets; wrote < offsets {
				t.Errorf("%d tombstones for %d offsets", wrote, offsets)
			}
			if limit := cleanupBytes + 1000; largest == 0 || largest > limit {
				t.Errorf("a batch has keys of %d bytes, want at most %d", largest, limit)
			}
			if hard := b.shard().hard(); hard != "" {
				t.Errorf("%d bytes are left", len(hard))
			}
		})
	}
}

// TestRefusedInTheMiddle: who waits for deleted topics is told when a later part
// of the work is refused, and the next one can go on.
func TestRefusedInTheMiddle(t *testing.T) {
	cfg := DefaultConfig()
	b := newBench(t, &cfg)
	for n := range 3000 {
		b.run(fmt.Sprintf("save %s-%d t/0=1", strings.Repeat("g", 50), n))
	}
	first := b.Do(TopicsDeleted{Names: []string{"t"}})
	second := b.Do(TopicsDeleted{Names: []string{"t"}})
	why := &coordinator.RefusedError{Err: errors.New("disk full")}
	b.Log.Fail(why)
	b.Tick(time.Second)
	if r := b.Replies[first]; !errors.Is(r.Err, why) {
		t.Errorf("the first got %+v", r)
	}
	if r, ok := b.Replies[second]; !ok || r.Err != nil {
		t.Errorf("the second got %+v, %v", r, ok)
	}
	if hard := b.shard().hard(); hard != "" {
		t.Errorf("left:\n%s", hard)
	}
}

// TestRefusedCleaning: a round that is refused does not end the rounds, and is not
// tried again before the next is due, even if it had not come to its end.
func TestRefusedCleaning(t *testing.T) {
	for name, partitions := range map[string]int{"one step": 1, "more than one": 5000} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.RetentionCheckInterval = 24 * time.Hour
			b := newBench(t, &cfg)
			command := []byte("save " + strings.Repeat("g", 50))
			for n := range partitions {
				command = fmt.Appendf(command, " t/%d=1", n)
			}
			b.run(string(command))
			end, tries := b.Log.End(), 0
			b.OnEvent = func(e coordtest.Event) {
				if e.Due != nil {
					tries++
				}
			}
			b.Tick(cfg.OffsetsRetention - cfg.RetentionCheckInterval/2)
			tries = 0
			for range 100 {
				b.Log.Fail(&coordinator.RefusedError{Err: errors.New("no replicas")})
			}
			b.Tick(3 * cfg.RetentionCheckInterval)
			if tries != 3 || b.Log.End() != end {
				t.Errorf("tried %d times in three intervals, and wrote %d records", tries, b.Log.End()-end)
			}
			b.Log.Fail(nil)
			b.Tick(cfg.RetentionCheckInterval)
			b.want("list", "groups")
		})
	}
}

// TestCommitVersions: what each version stores, as Kafka 4.2.2 does.
func TestCommitVersions(t *testing.T) {
	id := [16]byte{7}
	for version := int16(2); version <= 10; version++ {
		s := New(DefaultConfig())
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.RetentionTimeMillis = version, "g", 500
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Offset, rp.LeaderEpoch = 1, 3
		req.Topics = []kmsg.OffsetCommitRequestTopic{{
			Topic: "t", TopicID: id, Partitions: []kmsg.OffsetCommitRequestTopicPartition{rp},
		}}
		eff := s.Step(coordinator.Moment{Now: coordtest.Start}, 1, Request{Body: req})
		if err := s.Replay(coordinator.At{ProducerID: -1}, eff.Records[0]); err != nil {
			t.Fatal(err)
		}
		got := s.groups["g"].offsets["t"][0]
		want := committed{offset: 1, leaderEpoch: -1, commitMs: coordtest.Start.UnixMilli(), expireMs: -1}
		if version <= 4 {
			want.expireMs = want.commitMs + 500
		}
		if version >= 6 {
			want.leaderEpoch = 3
		}
		if version == 10 {
			want.topicID = id
		}
		if got != want {
			t.Errorf("version %d stores %+v, want %+v", version, got, want)
		}
	}
}

// TestDeletedTopicsByID: the offsets of a topic that was made again stay.
func TestDeletedTopicsByID(t *testing.T) {
	s := New(DefaultConfig())
	m := coordinator.Moment{Now: coordtest.Start}
	old, again := [16]byte{1}, [16]byte{2}
	for p, id := range [][16]byte{old, again, {}} {
		r := offsetRecord(offsetKey{"g", "t", int32(p)}, committed{expireMs: -1, topicID: id})
		if err := s.Replay(coordinator.At{Offset: int64(p), ProducerID: -1}, r); err != nil {
			t.Fatal(err)
		}
	}
	eff := s.Step(m, 1, TopicsDeleted{Names: []string{"t"}, IDs: [][16]byte{old}})
	var gone []int32
	for _, r := range eff.Records {
		var k kmsg.OffsetCommitKey
		must(k.ReadFrom(r.Key))
		gone = append(gone, k.Partition)
	}
	if fmt.Sprint(gone) != "[0 2]" {
		t.Errorf("forgot partitions %v, want those of the old id and of none, [0 2]", gone)
	}
}

// TestTooLarge: what no retry can help has errors of its own.
func TestTooLarge(t *testing.T) {
	cfg := DefaultConfig()
	b := newBench(t, &cfg)
	b.run("join g v:=3")
	b.Tick(3 * time.Second)
	b.parser.ids.short(b.shard().soft())
	large := &coordinator.RefusedError{Err: fmt.Errorf("append: %w", &batch.TooLargeError{})}
	b.Log.Fail(large)
	b.want("sync g v:=3 member:=c-1", "UNKNOWN_SERVER_ERROR")
	b.Log.Fail(large)
	b.want("save o t/0=1", "saved t/0:INVALID_COMMIT_OFFSET_SIZE")
	b.want("save o t/0=1", "saved t/0:")
	b.Log.Fail(large)
	b.want("forget o t/0", "forgot UNKNOWN_SERVER_ERROR")
	if kerr.UnknownServerError.Code != -1 {
		t.Error("UNKNOWN_SERVER_ERROR is not -1")
	}
}

// TestUnreadable: a record of a type that a newer release wrote is skipped; one
// that is damaged stops the load.
func TestUnreadable(t *testing.T) {
	typed := func(typ uint16, body ...byte) []byte { return append(binary.BigEndian.AppendUint16(nil, typ), body...) }
	good := offsetRecord(offsetKey{"g", "t", 0}, committed{expireMs: -1})
	for name, tc := range map[string]struct {
		record coordinator.Record
		fails  bool
	}{
		"unknown type":         {coordinator.Record{Key: typed(999, 1, 2, 3), Value: []byte{1}}, false},
		"unknown type, gone":   {coordinator.Record{Key: typed(999)}, false},
		"no key":               {coordinator.Record{Value: []byte{1}}, true},
		"offset key cut short": {coordinator.Record{Key: good.Key[:5], Value: good.Value}, true},
		"offset cut short":     {coordinator.Record{Key: good.Key, Value: good.Value[:5]}, true},
		"group key cut short":  {coordinator.Record{Key: typed(keyGroupMetadata, 0, 9), Value: nil}, true},
		"group cut short":      {coordinator.Record{Key: groupRecordKey("g"), Value: []byte{0, 3, 0}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(DefaultConfig())
			if err := s.Replay(coordinator.At{ProducerID: -1}, tc.record); (err != nil) != tc.fails {
				t.Errorf("Replay: %v, want an error: %v", err, tc.fails)
			}
			if len(s.groups) > 0 {
				t.Errorf("made groups of it: %s", s.hard())
			}
		})
	}
}
