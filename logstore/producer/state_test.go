package producer

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/batch"
)

const expiry = 24 * time.Hour

// head describes the header of a batch. The bytes are laid out by hand, so that
// the test does not lean on the code of package batch that writes them.
type head struct {
	offset  int64
	count   int32 // 0 stands for 1.
	pid     int64
	epoch   int16
	seq     int32
	ts      int64
	txn     bool
	control bool
}

func (h head) batch() batch.Batch {
	b := make(batch.Batch, batch.HeaderLen)
	var attributes uint16
	if h.txn {
		attributes |= 1 << 4
	}
	if h.control {
		attributes |= 1<<4 | 1<<5
		h.seq = -1
	}
	count := max(h.count, 1)
	binary.BigEndian.PutUint64(b[0:], uint64(h.offset))
	binary.BigEndian.PutUint32(b[8:], batch.HeaderLen-12)
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], attributes)
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	binary.BigEndian.PutUint64(b[27:], uint64(h.ts))
	binary.BigEndian.PutUint64(b[35:], uint64(h.ts))
	binary.BigEndian.PutUint64(b[43:], uint64(h.pid))
	binary.BigEndian.PutUint16(b[51:], uint16(h.epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(h.seq))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	return b
}

// check holds a state to its invariants.
func (s *State) check() error {
	open := 0
	for id, e := range s.producers {
		if e.txnFirst >= 0 {
			open++
			found := false
			for _, t := range s.ongoing {
				found = found || (t.producerID == id && t.first == e.txnFirst)
			}
			if !found {
				return errors.New("an open transaction is not in ongoing")
			}
		}
	}
	if open != len(s.ongoing) {
		return errors.New("ongoing has transactions that are not open")
	}
	for _, list := range [][]txn{s.ongoing, s.unreplicated} {
		for i, t := range list {
			if t.first >= s.mapEnd || t.last >= s.mapEnd {
				return errors.New("a transaction lies behind mapEnd")
			}
			if i > 0 && list[i-1].first > t.first {
				return errors.New("transactions are not in order")
			}
		}
	}
	return nil
}

// applyAll applies batches; a control batch aborts with coordinator epoch 3.
func applyAll(t *testing.T, s *State, heads ...head) {
	t.Helper()
	for _, h := range heads {
		var m *Marker
		if h.control {
			m = &Marker{Abort: true, CoordinatorEpoch: 3}
		}
		s.Apply(h.batch(), m)
		if err := s.check(); err != nil {
			t.Fatalf("after %+v: %v", h, err)
		}
	}
}

func TestCheckData(t *testing.T) {
	data := func(offset int64, seq int32) head {
		return head{offset: offset, pid: 7, epoch: 4, seq: seq, ts: offset * 10}
	}
	txnData := func(offset int64, seq int32) head { h := data(offset, seq); h.txn = true; return h }
	marker := func(offset int64, epoch int16) head { return head{offset: offset, pid: 7, epoch: epoch, control: true} }
	seqErr := func(epoch int16, first, want int32) error {
		return &SequenceError{ProducerID: 7, Epoch: epoch, First: first, Want: want}
	}
	six := []head{data(0, 0), data(1, 1), data(2, 2), data(3, 3), data(4, 4), data(5, 5)}
	for name, tc := range map[string]struct {
		before  []head
		in      head
		origin  Origin
		want    Verdict
		wantErr error
	}{
		"no producer id":                        {six, head{pid: -1, epoch: -1, seq: -1}, Client, Verdict{}, nil},
		"unknown producer, any sequence":        {six, head{pid: 8, epoch: 0, seq: 99}, Client, Verdict{}, nil},
		"next in sequence":                      {six, data(6, 6), Client, Verdict{}, nil},
		"gap":                                   {six, data(6, 7), Client, Verdict{}, seqErr(4, 7, 6)},
		"duplicate of the newest":               {six, data(6, 5), Client, Verdict{Duplicate: true, Base: 5, Last: 5, TimestampMs: 50}, nil},
		"duplicate of the fifth":                {six, data(6, 1), Client, Verdict{Duplicate: true, Base: 1, Last: 1, TimestampMs: 10}, nil},
		"the sixth is out of the window":        {six, data(6, 0), Client, Verdict{}, seqErr(4, 0, 6)},
		"overlap is no duplicate":               {six, head{pid: 7, epoch: 4, seq: 5, count: 2}, Client, Verdict{}, seqErr(4, 5, 6)},
		"same range in an older epoch":          {six, head{pid: 7, epoch: 3, seq: 5}, Client, Verdict{}, &EpochError{ProducerID: 7, Epoch: 3, Current: 4}},
		"new epoch from 0":                      {six, head{pid: 7, epoch: 5, seq: 0}, Client, Verdict{}, nil},
		"new epoch from elsewhere":              {six, head{pid: 7, epoch: 5, seq: 6}, Client, Verdict{}, seqErr(5, 6, 0)},
		"replica is not checked":                {six, head{pid: 7, epoch: 3, seq: 77}, Replica, Verdict{}, nil},
		"coordinator has no sequence":           {six, head{pid: 7, epoch: 4, seq: -1, txn: true}, Coordinator, Verdict{}, nil},
		"coordinator has an epoch":              {six, head{pid: 7, epoch: 3, seq: -1, txn: true}, Coordinator, Verdict{}, &EpochError{ProducerID: 7, Epoch: 3, Current: 4}},
		"outside the open transaction":          {[]head{txnData(0, 0)}, data(1, 1), Client, Verdict{}, &TxnStateError{ProducerID: 7, TxnFirst: 0}},
		"duplicate inside a transaction":        {[]head{txnData(0, 0)}, txnData(1, 0), Client, Verdict{Duplicate: true}, nil},
		"goes on in the transaction":            {[]head{txnData(0, 0)}, txnData(1, 1), Client, Verdict{}, nil},
		"marker of the same epoch keeps window": {[]head{txnData(0, 0), marker(1, 4)}, txnData(2, 0), Client, Verdict{Duplicate: true}, nil},
		"and the sequence goes on":              {[]head{txnData(0, 0), marker(1, 4)}, txnData(2, 1), Client, Verdict{}, nil},
		"marker of a new epoch clears window":   {[]head{txnData(0, 0), marker(1, 5)}, head{pid: 7, epoch: 5, seq: 1, txn: true}, Client, Verdict{}, seqErr(5, 1, 0)},
		"and the sequence starts at 0":          {[]head{txnData(0, 0), marker(1, 5)}, head{pid: 7, epoch: 5, seq: 0, txn: true}, Client, Verdict{}, nil},
		"and fences the old epoch":              {[]head{txnData(0, 0), marker(1, 5)}, txnData(2, 1), Client, Verdict{}, &EpochError{ProducerID: 7, Epoch: 4, Current: 5}},
		"a marker alone fences too":             {[]head{marker(0, 5)}, data(1, 0), Client, Verdict{}, &EpochError{ProducerID: 7, Epoch: 4, Current: 5}},
		"wrap to 0":                             {[]head{data(0, math.MaxInt32)}, data(1, 0), Client, Verdict{}, nil},
		"no wrap to 1":                          {[]head{data(0, math.MaxInt32)}, data(1, 1), Client, Verdict{}, seqErr(4, 1, 0)},
		"wrap inside a batch":                   {[]head{{pid: 7, epoch: 4, seq: math.MaxInt32 - 1, count: 4}}, data(4, 2), Client, Verdict{}, nil},
		"duplicate of a batch that wraps": {
			[]head{{pid: 7, epoch: 4, seq: math.MaxInt32 - 1, count: 4, ts: 9}},
			head{offset: 4, pid: 7, epoch: 4, seq: math.MaxInt32 - 1, count: 4},
			Client,
			Verdict{Duplicate: true, Base: 0, Last: 3, TimestampMs: 9},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(expiry)
			applyAll(t, s, tc.before...)
			got, err := s.Check(tc.in.batch(), tc.origin, Trusted)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantErr, err); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckMarker(t *testing.T) {
	txnOf := func(epoch int16) head { return head{pid: 7, epoch: epoch, txn: true} }
	marker := func(epoch int16) head { return head{offset: 9, pid: 7, epoch: epoch, control: true} }
	epochErr := func(epoch, current int16, strict bool) error {
		return &EpochError{ProducerID: 7, Epoch: epoch, Current: current, Strict: strict}
	}
	for name, tc := range map[string]struct {
		before      []head
		epoch       int16
		coordinator int32
		origin      Origin
		version     int16
		want        error
	}{
		"unknown producer":                       {nil, 4, 0, Coordinator, 2, nil},
		"same epoch, version 0":                  {[]head{txnOf(4)}, 4, 3, Coordinator, 0, nil},
		"same epoch, version 1":                  {[]head{txnOf(4)}, 4, 3, Coordinator, 1, nil},
		"same epoch, version 2":                  {[]head{txnOf(4)}, 4, 3, Coordinator, 2, epochErr(4, 4, true)},
		"next epoch, version 2":                  {[]head{txnOf(4)}, 5, 3, Coordinator, 2, nil},
		"next epoch, version 1":                  {[]head{txnOf(4)}, 5, 3, Coordinator, 1, nil},
		"older epoch, version 1":                 {[]head{txnOf(4)}, 3, 3, Coordinator, 1, epochErr(3, 4, false)},
		"older epoch, version 2":                 {[]head{txnOf(4)}, 3, 3, Coordinator, 2, epochErr(3, 4, true)},
		"sent again, version 2":                  {[]head{txnOf(4), marker(5)}, 5, 3, Coordinator, 2, nil},
		"older, no transaction, version 2":       {[]head{txnOf(4), marker(5)}, 4, 3, Coordinator, 2, epochErr(4, 5, true)},
		"largest epoch, version 2":               {[]head{txnOf(math.MaxInt16)}, math.MaxInt16, 3, Coordinator, 2, nil},
		"replica":                                {[]head{txnOf(4), marker(4)}, 3, 0, Replica, 0, nil},
		"older coordinator":                      {[]head{txnOf(4), marker(4)}, 4, 2, Coordinator, 0, &CoordinatorFencedError{ProducerID: 7, Epoch: 2, Current: 3}},
		"same coordinator":                       {[]head{txnOf(4), marker(4)}, 4, 3, Coordinator, 0, nil},
		"newer coordinator":                      {[]head{txnOf(4), marker(4)}, 4, 4, Coordinator, 0, nil},
		"older coordinator and epoch: the epoch": {[]head{txnOf(4), marker(4)}, 3, 2, Coordinator, 0, epochErr(3, 4, false)},
		"no marker yet: any coordinator":         {[]head{txnOf(4)}, 4, 0, Coordinator, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(expiry)
			applyAll(t, s, tc.before...)
			err := s.CheckMarker(marker(tc.epoch).batch(), Marker{CoordinatorEpoch: tc.coordinator}, tc.origin, tc.version)
			if diff := cmp.Diff(tc.want, err); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransactionsHoldTheStableOffset(t *testing.T) {
	s := New(expiry)
	unstable := func(want int64) {
		t.Helper()
		got, ok := s.FirstUnstable()
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("first unstable offset %d, want %d", got, want)
		}
	}
	unstable(-1)
	applyAll(t, s,
		head{offset: 0, pid: 1, txn: true},
		head{offset: 1, pid: 2, txn: true},
		head{offset: 2, pid: 1, seq: 1, txn: true},
		head{offset: 3, pid: -1})
	unstable(0)
	abort1 := s.Apply(head{offset: 4, pid: 1, control: true}.batch(), &Marker{Abort: true})
	if diff := cmp.Diff(&Txn{ProducerID: 1, First: 0, Last: 4, Aborted: true, LastStable: 1}, abort1); diff != "" {
		t.Errorf("abort of 1 (-want +got):\n%s", diff)
	}
	unstable(0) // Its marker is not replicated.
	s.OnHighWatermark(4)
	unstable(0) // The high watermark excludes the marker.
	s.OnHighWatermark(5)
	unstable(1)
	commit2 := s.Apply(head{offset: 5, pid: 2, epoch: 1, control: true}.batch(), &Marker{})
	if diff := cmp.Diff(&Txn{ProducerID: 2, First: 1, Last: 5, LastStable: 6}, commit2); diff != "" {
		t.Errorf("commit of 2 (-want +got):\n%s", diff)
	}
	if again := s.Apply(head{offset: 6, pid: 2, epoch: 1, control: true}.batch(), &Marker{}); again != nil {
		t.Errorf("a marker without a transaction completed %+v", again)
	}
	unstable(1)
	s.AdvanceStart(6)
	unstable(-1)
	if got := s.MapEnd(); got != 7 {
		t.Errorf("map end %d, want 7", got)
	}
}

func TestEmptyControlBatchChangesNothing(t *testing.T) {
	s := New(expiry)
	applyAll(t, s, head{offset: 0, pid: 1, txn: true})
	if done := s.Apply(head{offset: 1, pid: 1, epoch: 5, control: true}.batch(), nil); done != nil {
		t.Errorf("completed %+v", done)
	}
	if e, _ := s.Entry(1); e.Epoch != 0 || e.TxnFirst != 0 || s.MapEnd() != 2 {
		t.Errorf("entry %+v, map end %d", e, s.MapEnd())
	}
}

func TestExpiry(t *testing.T) {
	s := New(time.Second)
	applyAll(t, s,
		head{offset: 0, pid: 1, ts: 1000},
		head{offset: 1, pid: 2, ts: 1001},
		head{offset: 2, pid: 3, ts: 1000, txn: true})
	for _, step := range []struct {
		nowMs int64
		gone  int
		left  int
	}{{1999, 0, 3}, {2000, 1, 2}, {2001, 1, 1}, {math.MaxInt64 / 2, 0, 1}} {
		if got := s.Expire(step.nowMs); got != step.gone || s.Len() != step.left {
			t.Errorf("at %d: %d expired, %d left; want %d and %d", step.nowMs, got, s.Len(), step.gone, step.left)
		}
	}
	applyAll(t, s, head{offset: 3, pid: 3, ts: 1000, control: true})
	if got := s.Expire(2000); got != 1 || s.Len() != 0 {
		t.Errorf("after the marker: %d expired, %d left", got, s.Len())
	}
	s.SetExpiry(time.Hour)
	applyAll(t, s, head{offset: 4, pid: 4, ts: 1000})
	if got := s.Expire(2001); got != 0 {
		t.Errorf("%d expired after the time was raised", got)
	}
}

func TestExpiryOfMany(t *testing.T) {
	s := New(time.Second)
	for pid := range int64(1000) {
		applyAll(t, s, head{offset: pid, pid: pid, ts: pid})
	}
	if got := s.Expire(1990); got != 991 || s.Len() != 9 {
		t.Errorf("%d expired, %d left", got, s.Len())
	}
	for _, e := range s.Entries() {
		if v, err := s.Check(head{pid: e.ProducerID}.batch(), Client, Trusted); !v.Duplicate || err != nil {
			t.Errorf("producer %d: %+v, %v", e.ProducerID, v, err)
		}
	}
}

// TestProduceDoesNotAllocate: every batch that is produced goes through here.
func TestProduceDoesNotAllocate(t *testing.T) {
	s := New(expiry)
	b, next := head{pid: 7}.batch(), int64(0)
	produce := func() {
		b.SetBaseOffset(next)
		binary.BigEndian.PutUint32(b[53:], uint32(next)) // The sequence.
		next++
		if v, err := s.Check(b, Client, Trusted); v.Duplicate || err != nil {
			t.Fatalf("batch %d: %+v, %v", next, v, err)
		}
		s.Apply(b, nil)
	}
	produce() // The first one makes the entry.
	if got := testing.AllocsPerRun(100, produce); got != 0 {
		t.Errorf("%v allocations a batch", got)
	}
}

// TestEntryIsSmall keeps the doc of entry true: the next size class is 160 bytes.
func TestEntryIsSmall(t *testing.T) {
	if size := reflect.TypeFor[entry]().Size(); size > 144 {
		t.Errorf("an entry takes %d bytes", size)
	}
}

func TestErrorsAreForPeople(t *testing.T) {
	for want, err := range map[string]error{
		"producer 7 has epoch 3, older than the last seen 4":                             &EpochError{ProducerID: 7, Epoch: 3, Current: 4},
		"transaction marker of producer 7 has epoch 4, must be above the last seen 4":    &EpochError{ProducerID: 7, Epoch: 4, Current: 4, Strict: true},
		"producer 7 of epoch 4 sent sequence 9, expected 6":                              &SequenceError{ProducerID: 7, Epoch: 4, First: 9, Want: 6},
		"producer 7 sent a batch outside its transaction, which is open since offset 12": &TxnStateError{ProducerID: 7, TxnFirst: 12},
		"transaction marker of producer 7 comes from coordinator epoch 2, replaced by 3": &CoordinatorFencedError{ProducerID: 7, Epoch: 2, Current: 3},
		"damaged producer snapshot: 3 bytes are too short":                               func() error { _, err := Decode(make([]byte, 3)); return err }(),
		"damaged transaction index: entry 1: 2 bytes left over":                          func() error { _, err := DecodeAborted(make([]byte, 36), 0); return err }(),
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
