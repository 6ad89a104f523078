package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Anomaly is something that no correct broker shows.
type Anomaly struct {
	Name string // As Jepsen calls it.
	Text string
}

func (a Anomaly) String() string { return a.Name + ": " + a.Text }

// Check returns what is wrong with a history, or nothing.
func Check(h *History) []Anomaly {
	c := newChecker(h)
	c.places()
	c.reads()
	c.writes()
	c.polls()
	c.sends()
	c.cycles()
	c.processing()
	c.marks()
	c.commits()
	return c.found
}

// place is where a record is.
type place struct {
	partition Partition
	offset    int64
}

// checker holds what several checks look up.
type checker struct {
	*History
	found  []Anomaly
	ops    []*Op               // By process, then in their order.
	writer map[string]*Op      // Of a value.
	read   map[string]Record   // What a client polled, by its value.
	final  map[string]struct{} // The values there at the end.
}

func newChecker(h *History) *checker {
	c := &checker{History: h, writer: make(map[string]*Op), read: make(map[string]Record), final: make(map[string]struct{})}
	for n := range h.Ops {
		op := &h.Ops[n]
		c.ops = append(c.ops, op)
		for _, r := range op.Sends {
			c.writer[r.Value] = op
		}
		for _, r := range op.Polls {
			c.read[r.Value] = r
		}
	}
	slices.SortStableFunc(c.ops, func(a, b *Op) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Begin, b.Begin))
	})
	for _, records := range h.Final {
		for _, r := range records {
			c.final[r.Value] = struct{}{}
		}
	}
	return c
}

func (c *checker) add(name, format string, args ...any) {
	c.found = append(c.found, Anomaly{name, fmt.Sprintf(format, args...)})
}

// seen calls f for every record with an offset that anybody was told.
func (c *checker) seen(f func(Record)) {
	for _, op := range c.ops {
		for _, list := range [][]Record{op.Sends, op.Polls} {
			for _, r := range list {
				if r.Offset >= 0 {
					f(r)
				}
			}
		}
	}
	for _, records := range c.Final {
		for _, r := range records {
			f(r)
		}
	}
}

// places: an offset has one value (inconsistent-offsets), a value one offset
// (duplicate).
func (c *checker) places() {
	values, offsets := make(map[place]string), make(map[string]place)
	c.seen(func(r Record) {
		p := place{r.Partition, r.Offset}
		if v, ok := values[p]; ok && v != r.Value {
			c.add("inconsistent-offsets", "%s, offset %d is %s and %s", p.partition, p.offset, v, r.Value)
		}
		if at, ok := offsets[r.Value]; ok && at != p {
			c.add("duplicate", "%s is at offset %d of %s and at offset %d of %s", r.Value, at.offset, at.partition, p.offset, p.partition)
		}
		values[p], offsets[r.Value] = r.Value, p
	})
}

// reads: who reads committed records sees none that was aborted (G1a), none that
// nobody sent (phantom), none of its own before its end (precommitted-read).
func (c *checker) reads() {
	look := func(reader *Op, r Record) {
		switch w := c.writer[r.Value]; {
		case w == nil:
			c.add("phantom", "%s at offset %d of %s was never sent", r.Value, r.Offset, r.Partition)
		case w == reader:
			c.add("precommitted-read", "process %d read its own %s before it committed", reader.Process, r.Value)
		case w.Outcome == Aborted:
			c.add("G1a", "%s at offset %d of %s was read, and its transaction was aborted", r.Value, r.Offset, r.Partition)
		}
	}
	for _, op := range c.ops {
		for _, r := range op.Polls {
			look(op, r)
		}
	}
	for _, records := range c.Final {
		for _, r := range records {
			look(nil, r)
		}
	}
}

// writes: what was committed is there at the end (lost-write where something
// behind it is, unseen otherwise), and all or nothing of a transaction whose end
// is not known (torn). Who reads of such a transaction shows that it was committed.
func (c *checker) writes() {
	last := make(map[Partition]int64)
	for p, records := range c.Final {
		for _, r := range records {
			last[p] = max(last[p], r.Offset)
		}
	}
	for _, op := range c.ops {
		there := 0
		for _, r := range op.Sends {
			if _, ok := c.final[r.Value]; ok {
				there++
				continue
			}
			how := "acknowledged"
			if op.Outcome != Committed {
				read, ok := c.read[r.Value]
				if !ok || op.Outcome == Aborted { // G1a, if it was read.
					continue
				}
				how, r = "read", read // Who sent it may not know its offset.
			}
			name := "unseen"
			if r.Offset < last[r.Partition] {
				name = "lost-write"
			}
			c.add(name, "%s was %s at offset %d of %s, and is not there at the end", r.Value, how, r.Offset, r.Partition)
		}
		if op.Outcome == Unknown && there != 0 && there != len(op.Sends) {
			c.add("torn", "%d of the %d records are there of the transaction of %s", there, len(op.Sends), op.Sends[0].Value)
		}
	}
}

// eachStep calls f for every two records that follow each other in a partition for
// one process, in the lists that of returns; before is nil for its first and after
// its positions were set anew. Within says that one operation has both.
func (c *checker) eachStep(of func(*Op) []Record, f func(before *Record, r *Record, within bool)) {
	type step struct {
		record *Record
		op     *Op
	}
	var steps map[Partition]step
	process := -1
	for _, op := range c.ops {
		if op.Process != process || op.Moved {
			process, steps = op.Process, make(map[Partition]step)
		}
		list := of(op)
		for n := range list {
			r := &list[n]
			if r.Offset < 0 {
				continue
			}
			before := steps[r.Partition]
			f(before.record, r, before.op == op)
			steps[r.Partition] = step{r, op}
		}
	}
}

// within is the name of an anomaly of two operations, or of one.
func within(name string, one bool) string {
	if one {
		return "int-" + name
	}
	return name
}

// polls: a reader goes forward (nonmonotonic-poll), and over nothing that is there
// (poll-skip): what it passed was decided when it did.
func (c *checker) polls() {
	c.eachStep(func(op *Op) []Record { return op.Polls }, func(before, r *Record, one bool) {
		if before == nil {
			return
		}
		if r.Offset <= before.Offset {
			c.add(within("nonmonotonic-poll", one), "%s: offset %d after offset %d", r.Partition, r.Offset, before.Offset)
			return
		}
		records := c.Final[r.Partition]
		next := sort.Search(len(records), func(n int) bool { return records[n].Offset > before.Offset })
		if next < len(records) && records[next].Offset < r.Offset {
			c.add(within("poll-skip", one), "%s: offset %d after offset %d, and %s is at %d",
				r.Partition, r.Offset, before.Offset, records[next].Value, records[next].Offset)
		}
	})
}

// sends: a producer's records are in a partition in the order that it sent them
// (nonmonotonic-send). Others may be between them: Kafka does not isolate writes.
func (c *checker) sends() {
	c.eachStep(func(op *Op) []Record { return op.Sends }, func(before, r *Record, one bool) {
		if before != nil && r.Offset <= before.Offset {
			c.add(within("nonmonotonic-send", one), "%s: %s at offset %d was sent after %s at offset %d",
				r.Partition, r.Value, r.Offset, before.Value, before.Offset)
		}
	})
}

// processing: a group that works exactly once has derived one record from each that
// is there (unprocessed, processed-twice).
func (c *checker) processing() {
	for _, p := range c.Processed {
		derived := make(map[string]int)
		for _, out := range p.Out {
			for _, r := range c.Final[out] {
				if w := c.writer[r.Value]; w != nil {
					derived[ofValue(w, r.Value)]++
				}
			}
		}
		for _, in := range p.In {
			for _, r := range c.Final[in] {
				switch n := derived[r.Value]; {
				case n == 0:
					c.add("unprocessed", "group %s did not process %s at offset %d of %s", p.Group, r.Value, r.Offset, r.Partition)
				case n > 1:
					c.add("processed-twice", "group %s processed %s at offset %d of %s %d times", p.Group, r.Value, r.Offset, r.Partition, n)
				}
				delete(derived, r.Value)
			}
		}
		for v, n := range derived {
			c.add("processed-nothing", "group %s has %d results of %s, which is not there", p.Group, n, v)
		}
	}
}

// ofValue returns what a value of an operation was derived from.
func ofValue(op *Op, value string) string {
	for _, r := range op.Sends {
		if r.Value == value {
			return r.Of
		}
	}
	return ""
}

// marks: neither the high watermark nor the last stable offset falls, and the
// second is never above the first.
func (c *checker) marks() {
	last := make(map[Partition]Mark)
	for _, m := range c.Marks {
		before := last[m.Partition]
		if m.High < before.High {
			c.add("high-watermark-falls", "%s: %d after %d", m.Partition, m.High, before.High)
		}
		if m.Stable < before.Stable {
			c.add("stable-offset-falls", "%s: %d after %d", m.Partition, m.Stable, before.Stable)
		}
		if m.Stable > m.High {
			c.add("stable-above-high", "%s: last stable offset %d, high watermark %d", m.Partition, m.Stable, m.High)
		}
		last[m.Partition] = m
	}
}

// commits: a group's committed offset does not move back or go away, for nobody has
// reset it.
func (c *checker) commits() {
	type key struct {
		group     string
		partition Partition
	}
	last := make(map[key]int64)
	for _, commit := range c.Commits {
		k := key{commit.Group, commit.Partition}
		if before, ok := last[k]; ok && commit.Offset < before {
			c.add("committed-offset-falls", "group %s, %s: %d after %d", commit.Group, commit.Partition, commit.Offset, before)
		}
		last[k] = commit.Offset
	}
}
