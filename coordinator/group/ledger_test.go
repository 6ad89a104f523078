package group

import (
	"encoding/binary"
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// ledger is a second account of the committed offsets, kept from what goes into the
// log and not from what the shard makes of it.
type ledger struct {
	committed map[offsetKey]saved
	open      map[int64]map[offsetKey]saved // By producer.
}

// saved is an offset in the ledger.
type saved struct {
	offset, at         int64 // at: that of its record.
	commitMs, expireMs int64
}

func newLedger() *ledger {
	return &ledger{make(map[offsetKey]saved), make(map[int64]map[offsetKey]saved)}
}

// record enters what e says. mayForget is asked before an offset is forgotten.
func (l *ledger) record(e coordtest.Event, mayForget func(k offsetKey, s saved, open bool) error) error {
	if binary.BigEndian.Uint16(e.Record.Key) > keyOffset {
		return nil
	}
	var key kmsg.OffsetCommitKey
	must(key.ReadFrom(e.Record.Key))
	k := offsetKey{key.Group, key.Topic, key.Partition}
	if e.Record.Value == nil {
		err := mayForget(k, l.committed[k], l.isOpen(k))
		delete(l.committed, k)
		for producer := range l.open {
			l.drop(producer, k)
		}
		return err
	}
	v := kmsg.NewOffsetCommitValue()
	must(v.ReadFrom(e.Record.Value))
	s := saved{v.Offset, e.Offset, v.CommitTimestamp, -1}
	if v.Version == offsetExpireVersion {
		s.expireMs = v.ExpireTimestamp
	}
	switch {
	case e.Within == nil:
		l.committed[k] = s
	case l.open[e.Within.ProducerID] == nil:
		l.open[e.Within.ProducerID] = map[offsetKey]saved{k: s}
	default:
		l.open[e.Within.ProducerID][k] = s
	}
	return nil
}

func (l *ledger) drop(producer int64, k offsetKey) {
	if delete(l.open[producer], k); len(l.open[producer]) == 0 {
		delete(l.open, producer)
	}
}

func (l *ledger) isOpen(k offsetKey) bool {
	for _, offsets := range l.open {
		if _, ok := offsets[k]; ok {
			return true
		}
	}
	return false
}

// marker ends a producer's transaction.
func (l *ledger) marker(producer int64, commit bool) {
	for k, s := range l.open[producer] {
		if old, ok := l.committed[k]; commit && (!ok || old.at < s.at) {
			l.committed[k] = s
		}
	}
	delete(l.open, producer)
}

// check holds a shard to the ledger.
func (l *ledger) check(s *Shard) error {
	has := newLedger()
	for id, g := range s.groups {
		for topic, parts := range g.offsets {
			for p, c := range parts {
				has.committed[offsetKey{id, topic, p}] = saved{c.offset, c.at, c.commitMs, c.expireMs}
			}
		}
	}
	for producer, offsets := range s.pending {
		has.open[producer] = make(map[offsetKey]saved)
		for k, c := range offsets {
			has.open[producer][k] = saved{c.offset, c.at, c.commitMs, c.expireMs}
		}
	}
	if !maps.Equal(has.committed, l.committed) {
		return fmt.Errorf("offsets are %v, were committed as %v", has.committed, l.committed)
	}
	if !maps.EqualFunc(has.open, l.open, maps.Equal[map[offsetKey]saved, map[offsetKey]saved]) {
		return fmt.Errorf("offsets of open transactions are %v, were committed as %v", has.open, l.open)
	}
	return nil
}

// fetched holds an answer to OffsetFetch to the ledger; ids are left aside.
func (l *ledger) fetched(group string, stable, all bool, topics []kmsg.OffsetFetchResponseGroupTopic) error {
	n := 0
	for _, t := range topics {
		for _, p := range t.Partitions {
			k := offsetKey{group, t.Topic, p.Partition}
			s, ok := l.committed[k]
			switch {
			case stable && l.isOpen(k) != (p.ErrorCode != 0), !stable && p.ErrorCode != 0:
				return fmt.Errorf("%v: code %d, open %v", k, p.ErrorCode, l.isOpen(k))
			case p.ErrorCode != 0:
			case p.Offset != s.offset && ok, p.Offset != -1 && !ok:
				return fmt.Errorf("%v was fetched as %d, committed %v: %+v", k, p.Offset, ok, s)
			}
			if ok {
				n++
			}
		}
	}
	of := 0
	for k := range l.committed {
		if k.group == group {
			of++
		}
	}
	if all && n != of {
		return fmt.Errorf("%d offsets were fetched, %d are committed", n, of)
	}
	return nil
}
