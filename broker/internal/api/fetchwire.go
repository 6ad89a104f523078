package api

import "github.com/moldau-broker/moldau/logstore/producer"

// fetchResponse is a Fetch response, versions 4 to 18. It is encoded around the
// records, which stay in their files: kmsg would copy them.
type fetchResponse struct {
	version    int16
	throttleMs int32
	code       int16 // Of the whole response.
	sessionID  int32
	// parts are in the order in which they are told; those of one topic that
	// follow each other share its header.
	parts []fetchedPartition
	nodes []node
}

// fetchTopic is how a topic is named in the response.
type fetchTopic struct {
	name string   // Up to version 12,
	id   [16]byte // and from version 13.
}

// fetchedPartition is one partition of the response.
type fetchedPartition struct {
	topic         fetchTopic
	index         int32
	code          int16
	highWatermark int64
	stable        int64
	logStart      int64
	aborted       []producer.Aborted // Nil is null: read_uncommitted.
	preferred     int32
	diverging     *epochEnd // Nil: none.
	currentLeader leaderHint
	records       Span // Nil: none.
}

type epochEnd struct {
	epoch int32
	end   int64
}

// failedFetch is a partition that was not read.
func failedFetch(t fetchTopic, index int32, code int16) fetchedPartition {
	return fetchedPartition{
		topic: t, index: index, code: code,
		highWatermark: -1, stable: -1, logStart: -1, preferred: -1, currentLeader: noLeader,
	}
}

func (p *fetchedPartition) size() int {
	if p.records == nil {
		return 0
	}
	return p.records.Len()
}

// cut is a place where a span goes: behind the first at bytes of what is
// encoded.
type cut struct {
	at   int
	span Span
}

// appendTo appends the encoded response but for its records, and to cuts where
// those go.
func (f *fetchResponse) appendTo(dst []byte, cuts []cut) ([]byte, []cut) {
	w := wireWriter{b: dst, flex: f.version >= 12}
	w.int32(f.throttleMs)
	if f.version >= 7 {
		w.int16(f.code)
		w.int32(f.sessionID)
	}
	w.length(f.topics())
	for rest := f.parts; len(rest) > 0; {
		n := run(rest)
		if f.version >= 13 {
			w.uuid(rest[0].topic.id)
		} else {
			w.str(rest[0].topic.name)
		}
		w.length(n)
		for i := range rest[:n] {
			if at := rest[i].appendTo(&w, f.version); rest[i].size() > 0 {
				cuts = append(cuts, cut{at, rest[i].records})
			}
			if w.flex {
				rest[i].appendTags(&w)
			}
		}
		w.noTags()
		rest = rest[n:]
	}
	nodes := f.nodes
	if f.version < 16 {
		nodes = nil
	}
	w.endpoints(nodes)
	return w.b, cuts
}

// topics is how many runs of partitions of one topic there are.
func (f *fetchResponse) topics() (n int) {
	for rest := f.parts; len(rest) > 0; n++ {
		rest = rest[run(rest):]
	}
	return n
}

// run is how many partitions at the front are of one topic.
func run(parts []fetchedPartition) int {
	n := 1
	for n < len(parts) && parts[n].topic == parts[0].topic {
		n++
	}
	return n
}

// appendTo writes the partition up to its records, and returns where those go.
func (p *fetchedPartition) appendTo(w *wireWriter, version int16) (at int) {
	w.int32(p.index)
	w.int16(p.code)
	w.int64(p.highWatermark)
	w.int64(p.stable)
	if version >= 5 {
		w.int64(p.logStart)
	}
	if p.aborted == nil {
		w.length(-1)
	} else {
		w.length(len(p.aborted))
		for _, a := range p.aborted {
			w.int64(a.ProducerID)
			w.int64(a.First)
			w.noTags()
		}
	}
	if version >= 11 {
		w.int32(p.preferred)
	}
	w.length(p.size())
	return len(w.b)
}

// appendTags ends a partition of a flexible version.
func (p *fetchedPartition) appendTags(w *wireWriter) {
	n := 0
	if p.diverging != nil {
		n++
	}
	if p.currentLeader != noLeader {
		n++
	}
	w.uvarint(n)
	if p.diverging != nil {
		w.tag(0, 4+8+1)
		w.int32(p.diverging.epoch)
		w.int64(p.diverging.end)
		w.noTags()
	}
	if p.currentLeader != noLeader {
		w.leader(1, p.currentLeader)
	}
}

// splice makes the parts of an answer from an encoded response and its cuts.
func splice(encoded []byte, cuts []cut) []Part {
	parts := make([]Part, 0, 2*len(cuts)+1)
	from := 0
	for _, c := range cuts {
		parts = append(parts, Part{Bytes: encoded[from:c.at]}, Part{Span: c.span})
		from = c.at
	}
	return append(parts, Part{Bytes: encoded[from:]})
}
