package script

import "slices"

// transactions commits, aborts, commits offsets in a transaction, and fences.
func transactions(c Client, r *Run) {
	r.Must(c.Has("transactions"))
	source, topic, name := r.Name("txn-in"), r.Name("txn-out"), r.Name("txn")
	r.Must(c.CreateTopic(source, 1, nil))
	r.Must(c.CreateTopic(topic, 1, nil))
	produce(r, c, source, numbered(10, "in", 1), Options{})

	p, err := c.Producer(Options{TransactionalID: name})
	r.Must(err)
	send := func(p Producer, records []Record) {
		r.Must(p.Begin())
		_, err := p.Send(topic, records)
		r.Must(err)
	}
	r.Waits("a first transaction")
	send(p, numbered(10, "committed", 1))
	r.Must(p.Commit())
	r.Waits("an aborted transaction")
	send(p, numbered(10, "aborted", 1))
	r.Must(p.Abort())

	committed := texts(numbered(10, "committed", 1))
	everything := append(slices.Clone(committed), texts(numbered(10, "aborted", 1))...)
	out := transactionOffsets(c, r, p, send, source, name)
	committed = append(committed, out...)
	everything = append(append(everything, out...), "aborted-too-0")
	r.Same("read committed", texts(read(r, c, topic, len(committed), 1, true)), committed)
	r.Same("read uncommitted", texts(read(r, c, topic, len(everything), 1, false)), everything)

	r.Waits("a second producer with the same id")
	second, err := c.Producer(Options{TransactionalID: name})
	r.Must(err)
	r.Waits("the first producer to be fenced")
	outcome := "not fenced"
	err = p.Begin()
	if err == nil {
		_, err = p.Send(topic, numbered(1, "fenced", 1))
	}
	if err == nil {
		err = p.Commit()
	}
	if err != nil {
		outcome = err.Error()
		if c.Fenced(err) {
			outcome = "fenced"
		}
	}
	r.Same("the first producer", outcome, "fenced")
	send(second, numbered(1, "second", 1))
	r.Must(second.Commit())
	r.Must(second.Close())
	_ = p.Close() // It may say once more that it is fenced.
	committed = append(committed, "second-0")
	r.Same("read committed at last", texts(read(r, c, topic, len(committed), 1, true)), committed)
}

// transactionOffsets commits offsets of a group in a transaction that is committed
// and in one that is aborted, and returns what the first wrote.
func transactionOffsets(c Client, r *Run, p Producer, send func(Producer, []Record), source, name string) []string {
	at := func() int64 {
		offset, err := c.Committed(name, source, 0)
		r.Must(err)
		return offset
	}
	m, err := c.Member(name, []string{source}, "classic")
	r.Must(err)
	got := take(r, m, 10, source)
	out := make([]Record, len(got))
	for i, record := range got {
		out[i] = Record{Value: append([]byte("out-"), record.Value...)}
	}
	r.Waits("a transaction with offsets")
	send(p, out)
	r.Must(p.SendOffset(m, name, source, 0, 7))
	r.Must(p.Commit())
	r.Must(m.Close())
	r.Same("offset committed in the transaction", at(), int64(7))

	r.Waits("an aborted transaction with offsets")
	m, err = c.Member(name, []string{source}, "classic")
	r.Must(err)
	r.Same("where the group went on", offsetsOf(take(r, m, 3, source)), count(7, 10))
	send(p, numbered(1, "aborted-too", 1))
	r.Must(p.SendOffset(m, name, source, 0, 10))
	r.Must(p.Abort())
	r.Must(m.Close())
	r.Same("offset after the abort", at(), int64(7))
	return texts(out)
}
