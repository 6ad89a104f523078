package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// TestLogIsTheModel runs random operations on a log and on a list of batches, and reads
// both in every way. Crashes are kill -9: nothing written may be missing after them.
func TestLogIsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := vfs.NewMem()
		m := &model{disk: disk, fs: vfs.NewFault(disk), now: t0, cfg: Config{
			SegmentBytes:       rapid.SampledFrom([]int64{300, 1000, 5000}).Draw(rt, "segment.bytes"),
			IndexIntervalBytes: rapid.SampledFrom([]int64{1, 200, 4096}).Draw(rt, "index.interval.bytes"),
			SegmentIndexBytes:  rapid.SampledFrom([]int64{0, 36}).Draw(rt, "segment.index.bytes"),
			Delete:             true, RetentionAge: -1, ProducerIDExpiry: math.MaxInt64,
		}}
		m.open(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"":          m.compare,
			"append":    m.append,
			"produce":   m.produce,
			"replicate": m.replicate,
			"fail":      m.fail,
			"truncate":  m.truncate,
			"advance":   m.advance,
			"retain":    m.retain,
			"reopen":    m.reopen,
			"restart":   m.restart,
		})
		if err := m.store.Close(1); err != nil {
			rt.Fatal(err)
		}
		if m.log.onDisk.Load() {
			if err := Verify(m.disk, m.log.Dir(), false); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// model is a log and what must be in it.
type model struct {
	disk  *vfs.Mem
	fs    *vfs.Fault // Of disk.
	cfg   Config
	store *Store
	log   *Log
	now   time.Time

	batches    []batch.Batch
	start, end int64
	epoch      int32
}

func (m *model) open(rt *rapid.T) {
	var err error
	if m.store, err = tryOpen(m.fs, m.cfg); err != nil {
		rt.Fatal(err)
	}
	var ok bool
	if m.log, ok = m.store.Log("t", 0); !ok {
		if m.log, err = m.store.Create("t", 0, testID, m.cfg); err != nil {
			rt.Fatal(err)
		}
	}
}

// added takes in a batch that was appended.
func (m *model) added(b batch.Batch) {
	m.batches = append(m.batches, bytes.Clone(b))
	m.end = b.NextOffset()
}

func (m *model) append(rt *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(-500, 1000).Draw(rt, "later, ms")) * time.Millisecond)
	bl := batch.NewBuilder(batch.Meta{
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Level: codec.DefaultLevel,
		Codec: rapid.SampledFrom([]codec.Codec{codec.None, codec.LZ4, codec.Zstd}).Draw(rt, "codec"),
	})
	for i := range rapid.IntRange(1, 5).Draw(rt, "records") {
		at := m.now.UnixMilli() + int64(rapid.IntRange(-20, 20).Draw(rt, "record time"))
		bl.Append(at, nil, fmt.Appendf(nil, "%d", i))
	}
	b := bl.Build()
	a, err := m.log.Append(m.now, b, m.epoch, producer.Client)
	if err != nil || a.Base != m.end || a.Last != m.end+int64(b.Count())-1 {
		rt.Fatalf("append at %d: %+v, %v", m.end, a, err)
	}
	m.added(b)
}

func (m *model) produce(rt *rapid.T) {
	pid := int64(rapid.IntRange(0, 2).Draw(rt, "producer"))
	next := int32(0)
	for _, e := range m.log.Producers() {
		if e.ProducerID == pid && e.LastSequence >= 0 {
			next = e.LastSequence + 1
		}
	}
	b := produced(pid, 0, next, rapid.IntRange(1, 3).Draw(rt, "records"), false, m.now)
	a, err := m.log.Append(m.now, b, m.epoch, producer.Client)
	if err != nil || a.Duplicate {
		rt.Fatalf("produce: %+v, %v", a, err)
	}
	m.added(b)
	again, err := m.log.Append(m.now, bytes.Clone(b), m.epoch, producer.Client)
	if err != nil || !again.Duplicate || again.Base != a.Base {
		rt.Fatalf("produce again: %+v, %v", again, err)
	}
}

// replicate appends batches as a leader stamped them, with gaps and a torn end.
func (m *model) replicate(rt *rapid.T) {
	sent, whole := m.fromLeader(rt)
	if err := m.log.AppendReplica(m.now, sent); err != nil {
		rt.Fatal(err)
	}
	for _, b := range whole {
		m.added(b)
	}
}

// fail is replicate on a disk that refuses the batches: nothing has changed.
func (m *model) fail(rt *rapid.T) {
	sent, _ := m.fromLeader(rt)
	m.fs.Inject(vfs.Rule{Op: vfs.OpWrite, Path: "*.log", Err: syscall.ENOSPC, PartialBytes: rapid.IntRange(0, 100).Draw(rt, "written")})
	defer m.fs.Heal()
	if err := m.log.AppendReplica(m.now, sent); !errors.Is(err, syscall.ENOSPC) {
		rt.Fatalf("append on a full disk: %v", err)
	}
}

// fromLeader makes what a leader answers, and the whole batches in it. The gap before
// them may be wider than a segment reaches.
func (m *model) fromLeader(rt *rapid.T) (sent []byte, whole []batch.Batch) {
	next := m.end + int64(rapid.SampledFrom([]int{0, 0, 0, 1<<31 - 2, 1 << 31, 1 << 33}).Draw(rt, "wide gap"))
	for range rapid.IntRange(1, 3).Draw(rt, "batches") {
		b := records(rapid.IntRange(1, 3).Draw(rt, "records"), m.now, "replica")
		b.SetBaseOffset(next + int64(rapid.SampledFrom([]int{0, 0, 1, 7}).Draw(rt, "gap")))
		b.SetLeaderEpoch(m.epoch)
		next = b.NextOffset()
		sent = append(sent, b...)
		whole = append(whole, b)
	}
	torn := records(1, m.now, "torn")
	torn.SetBaseOffset(next)
	return append(sent, torn[:rapid.IntRange(0, len(torn)-1).Draw(rt, "torn")]...), whole
}

func (m *model) truncate(rt *rapid.T) {
	to := rapid.Int64Range(m.start, m.end).Draw(rt, "to")
	if err := m.log.Truncate(to); err != nil {
		rt.Fatal(err)
	}
	for n := len(m.batches); n > 0 && m.batches[n-1].LastOffset() >= to; n-- {
		m.batches = m.batches[:n-1]
	}
	m.end = to
	if rapid.Bool().Draw(rt, "lead") {
		m.epoch++
		m.log.AssignEpoch(m.epoch)
		return
	}
	// A follower goes on with what its new leader has, which may be of an epoch from
	// before what was cut.
	last := int32(0)
	if n := len(m.batches); n > 0 {
		last = m.batches[n-1].LeaderEpoch()
	}
	m.epoch = rapid.Int32Range(last, m.epoch).Draw(rt, "epoch")
}

func (m *model) advance(rt *rapid.T) {
	m.log.SetHighWatermark(rapid.Int64Range(m.log.HighWatermark().Offset, m.end).Draw(rt, "high watermark"))
	m.start = rapid.Int64Range(m.start, m.log.HighWatermark().Offset).Draw(rt, "start")
	if err := m.log.AdvanceStart(m.start); err != nil {
		rt.Fatal(err)
	}
}

func (m *model) retain(rt *rapid.T) {
	m.cfg.RetentionBytes = int64(rapid.IntRange(1, 3000).Draw(rt, "retention.bytes"))
	m.log.SetConfig(m.cfg)
	if _, err := m.log.Retain(m.now); err != nil {
		rt.Fatal(err)
	}
	if s := m.log.Start(); s < m.start || s > m.log.HighWatermark().Offset {
		rt.Fatalf("start went from %d to %d, high watermark %d", m.start, s, m.log.HighWatermark().Offset)
	}
	m.start = m.log.Start()
	if rapid.Bool().Draw(rt, "maintain") {
		m.now = m.now.Add(10 * time.Minute)
		if err := m.store.Maintain(m.now); err != nil {
			rt.Fatal(err)
		}
		m.start = m.log.Start()
	}
}

// reopen closes the store cleanly, or not, and opens it again.
func (m *model) reopen(rt *rapid.T) {
	hw := m.log.HighWatermark().Offset
	if rapid.Bool().Draw(rt, "clean") {
		if err := m.store.Close(1); err != nil {
			rt.Fatal(err)
		}
	} else {
		if err := m.store.Abandon(); err != nil {
			rt.Fatal(err)
		}
		hw, m.start = 0, 0 // As of a checkpoint that may not have been written.
	}
	m.open(rt)
	m.start = max(m.start, m.log.Start())
	// A truncation through a batch leaves a gap at the end that no restart knows of, unless
	// an empty segment begins in it: behind a wide gap, of which all batches were cut off.
	was := m.end
	if n := len(m.batches); n > 0 {
		m.end = max(m.batches[n-1].NextOffset(), m.start)
	} else {
		m.end = m.start
	}
	if base := m.log.state.Load().active().Base(); base <= was {
		m.end = max(m.end, base)
	}
	if got := m.log.HighWatermark().Offset; got < min(hw, m.end) {
		rt.Fatalf("high watermark fell from %d to %d", hw, got)
	}
}

func (m *model) restart(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "really") != 0 {
		return
	}
	at := rapid.Int64Range(0, m.end+10).Draw(rt, "start anew at")
	if err := m.log.TruncateFully(at); err != nil {
		rt.Fatal(err)
	}
	m.batches, m.start, m.end = nil, at, at
}

// compare reads the log in every way.
func (m *model) compare(rt *rapid.T) {
	l := m.log
	if l.Start() != m.start || l.End().Offset != m.end {
		rt.Fatalf("log [%d, %d), want [%d, %d)", l.Start(), l.End().Offset, m.start, m.end)
	}
	i := slices.IndexFunc(m.batches, func(b batch.Batch) bool { return b.LastOffset() >= m.start })
	want := m.batches
	if i < 0 {
		want = nil
	} else {
		want = want[i:]
	}
	var got []batch.Batch
	for b, err := range l.Batches(m.start, math.MaxInt64) {
		if err != nil {
			rt.Fatal(err)
		}
		got = append(got, bytes.Clone(b))
	}
	if !slices.EqualFunc(got, want, func(a, b batch.Batch) bool { return bytes.Equal(a, b) }) {
		rt.Fatalf("%d batches, want %d", len(got), len(want))
	}
	for _, b := range want {
		if at := max(b.BaseOffset(), m.start); l.EpochAt(at) != b.LeaderEpoch() {
			rt.Fatalf("epoch at %d is %d, the batch bears %d; history %v", at, l.EpochAt(at), b.LeaderEpoch(), l.mu.epochs)
		}
	}
	m.compareRead(rt, want)
	m.compareTimes(rt, want)
}

// compareRead reads from one offset up to some mark, with some limit.
func (m *model) compareRead(rt *rapid.T, want []batch.Batch) {
	l := m.log
	from := rapid.Int64Range(m.start, m.end).Draw(rt, "from")
	limit := rapid.SampledFrom([]int{0, 1, 100, 500, 1 << 20}).Draw(rt, "max bytes")
	upTo := rapid.SampledFrom([]Mark{l.End(), l.HighWatermark(), l.Stable()}).Draw(rt, "up to")
	span, err := l.Read(from, limit, upTo, true)
	if err != nil {
		rt.Fatal(err)
	}
	defer span.Release()
	got := make([]byte, span.Len())
	if err := span.Copy(got); err != nil {
		rt.Fatal(err)
	}
	i := slices.IndexFunc(want, func(b batch.Batch) bool { return b.LastOffset() >= from })
	if i < 0 || from >= upTo.Offset || want[i].BaseOffset() >= upTo.Offset {
		if len(got) > 0 {
			rt.Fatalf("read at %d up to %d gave %d bytes", from, upTo.Offset, len(got))
		}
		return
	}
	all := slices.Concat(byteSlices(want[i:])...)
	if !bytes.HasPrefix(all, got) {
		rt.Fatalf("read at %d is not what was appended", from)
	}
	if whole := len(want[i]); want[i].NextOffset() <= upTo.Offset && len(got) < whole || len(got) > max(limit, whole) {
		rt.Fatalf("read at %d, limit %d, gave %d bytes; the first batch has %d", from, limit, len(got), whole)
	}
}

func byteSlices(bs []batch.Batch) [][]byte {
	list := make([][]byte, len(bs))
	for i, b := range bs {
		list[i] = b
	}
	return list
}

// compareTimes looks a timestamp up, and the newest one.
func (m *model) compareTimes(rt *rapid.T, want []batch.Batch) {
	type rec struct{ offset, ts int64 }
	var all []rec
	for _, b := range want {
		it := b.Records(1 << 20)
		for it.Next() {
			all = append(all, rec{it.Offset(), it.Timestamp()})
		}
		it.Close()
	}
	ts := t0.UnixMilli() + int64(rapid.IntRange(-1000, 10000).Draw(rt, "timestamp"))
	f, ok, err := m.log.OffsetByTime(ts)
	i := slices.IndexFunc(all, func(r rec) bool { return r.ts >= ts && r.offset >= m.start })
	if err != nil || ok != (i >= 0) || ok && (f.Offset != all[i].offset || f.TimestampMs != all[i].ts) {
		rt.Fatalf("timestamp %d: %+v %v %v, want record %d of %v", ts, f, ok, err, i, all)
	}
	if len(all) == 0 || m.start > want[0].BaseOffset() || m.log.state.Load().segments[0].Base() < m.start {
		return // The newest may lie below the start; Kafka answers it all the same.
	}
	newest := slices.MaxFunc(all, func(a, b rec) int { return int(a.ts - b.ts) }).ts
	i = slices.IndexFunc(all, func(r rec) bool { return r.ts == newest })
	f, ok, err = m.log.OffsetOfMaxTime()
	if err != nil || !ok || f.Offset != all[i].offset || f.TimestampMs != newest {
		rt.Fatalf("newest timestamp: %+v %v %v, want %v", f, ok, err, all[i])
	}
}
