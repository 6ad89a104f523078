package logstore

import "sort"

// recentBatches is how many of the newest batches a log remembers the places of:
// enough for consumers at the tail and for a high watermark a few fetches behind,
// little enough to cost nothing in ten thousand logs.
const recentBatches = 32

// recent remembers where the newest batches lie, so that reading at the tail and
// moving the high watermark need no look-up on disk.
type recent struct {
	batches []place // Ascending; at most recentBatches.
}

// place is where one batch lies.
type place struct {
	Mark            // Of its first offset.
	next, sizeBytes int64
}

func (r *recent) push(p place) {
	if len(r.batches) == recentBatches {
		// Half at a time: the shift costs a few nanoseconds an append.
		n := copy(r.batches, r.batches[recentBatches/2:])
		r.batches = r.batches[:n]
	}
	if r.batches == nil {
		r.batches = make([]place, 0, recentBatches)
	}
	r.batches = append(r.batches, p)
}

// cut forgets the batches that end above offset, all if it is 0.
func (r *recent) cut(offset int64) {
	i := sort.Search(len(r.batches), func(i int) bool { return r.batches[i].next > offset })
	r.batches = r.batches[:i]
}

// drop forgets the batches below offset: they lie elsewhere now.
func (r *recent) drop(offset int64) {
	i := sort.Search(len(r.batches), func(i int) bool { return r.batches[i].Offset >= offset })
	r.batches = append([]place(nil), r.batches[i:]...)
}

// clear forgets everything and gives the memory back.
func (r *recent) clear() { r.batches = nil }

// find returns the batch that holds offset, or the first one above it, if the
// remembered batches tell.
func (r *recent) find(offset int64) (place, bool) {
	if len(r.batches) == 0 || offset < r.batches[0].Offset {
		return place{}, false
	}
	i := sort.Search(len(r.batches), func(i int) bool { return r.batches[i].next > offset })
	if i == len(r.batches) {
		return place{}, false
	}
	return r.batches[i], true
}

// at returns the place of an offset: that of its batch.
func (r *recent) at(offset int64) (Mark, bool) {
	p, ok := r.find(offset)
	return Mark{offset, p.Segment, p.Position}, ok
}
