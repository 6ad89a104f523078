package state

import "slices"

// queue holds who waits for an offset, the least first. Producers come in the
// order of their offsets, so putting one in is a look at the end.
type queue []waiting

type waiting struct {
	ticket Ticket
	offset int64
}

func (q *queue) put(t Ticket, offset int64) {
	i := len(*q)
	for i > 0 && (*q)[i-1].offset > offset {
		i--
	}
	*q = slices.Insert(*q, i, waiting{t, offset})
}

// take removes and returns the tickets of those whose offset has been reached.
func (q *queue) take(reached int64) []waiting {
	n := 0
	for n < len(*q) && (*q)[n].offset <= reached {
		n++
	}
	if n == 0 {
		return nil
	}
	done := slices.Clone((*q)[:n])
	*q = slices.Delete(*q, 0, n)
	return done
}

// all removes and returns everybody.
func (q *queue) all() []waiting {
	done := *q
	*q = nil
	return done
}

func (q *queue) drop(t Ticket) {
	*q = slices.DeleteFunc(*q, func(w waiting) bool { return w.ticket == t })
}
