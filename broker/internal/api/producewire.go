package api

import "github.com/moldau-broker/moldau/protocol/batch"

// produceRequest is a Produce request, versions 3 to 13. kmsg would take 88
// times the request's size for topics without partitions, and a copy of each;
// here a partition takes a few words, and the records stay where they arrived.
type produceRequest struct {
	version   int16
	txnID     []byte // transactional.id; nil is null.
	acks      int16
	timeoutMs int32
	topics    []produceTopic
	parts     []producePart // Of all topics, one after the other.
}

type produceTopic struct {
	name  []byte   // Up to version 12,
	id    [16]byte // and from version 13.
	parts int      // How many of the request's parts are of this topic.
}

type producePart struct {
	index   int32
	records []byte // Aliases the request; nil is null.
	produceResult
}

// produceResult is what a partition's append came to.
type produceResult struct {
	code          int16
	baseOffset    int64
	appendTimeMs  int64
	logStart      int64
	end           int64 // What has to be committed before acks=all is answered.
	message       *string
	recordErrors  []batch.RecordError
	currentLeader leaderHint
}

// failed is the result of a partition that nothing was appended to.
func failed(code int16) produceResult {
	return produceResult{code: code, baseOffset: -1, appendTimeMs: -1, logStart: -1, currentLeader: noLeader}
}

// Sizes of the smallest topic and partition on the wire, and what each takes
// in memory.
const (
	minProduceTopicBytes = 3
	minProducePartBytes  = 6
	producePartMemory    = 160
	produceTopicMemory   = 64
)

// countProduce walks the body of a request without keeping anything, and says
// how many topics and partitions it has; ok is false when it is malformed.
func countProduce(body []byte, version int16) (topics, parts int, ok bool) {
	r := wireReader{b: body, flex: version >= 9}
	r.str()
	r.int16()
	r.int32()
	topics = r.array(minProduceTopicBytes)
	for i := 0; i < topics && !r.bad; i++ {
		skipTopic(&r, version)
		n := r.array(minProducePartBytes)
		for j := 0; j < n && !r.bad; j++ {
			r.int32()
			r.blob()
			r.tags()
		}
		parts += n
		r.tags()
	}
	r.tags()
	return topics, parts, !r.bad
}

func skipTopic(r *wireReader, version int16) {
	if version >= 13 {
		r.uuid()
	} else {
		r.name()
	}
}

// read fills in the request from a body that countProduce found to be sound.
func (q *produceRequest) read(body []byte, version int16) {
	r := wireReader{b: body, flex: version >= 9}
	q.version = version
	q.txnID = r.str()
	q.acks = r.int16()
	q.timeoutMs = r.int32()
	q.topics, q.parts = q.topics[:0], q.parts[:0]
	for n := r.array(minProduceTopicBytes); n > 0; n-- {
		var t produceTopic
		if version >= 13 {
			t.id = r.uuid()
		} else {
			t.name = r.name()
		}
		t.parts = r.array(minProducePartBytes)
		for range t.parts {
			p := producePart{index: r.int32(), records: r.blob(), produceResult: failed(0)}
			r.tags()
			q.parts = append(q.parts, p)
		}
		r.tags()
		q.topics = append(q.topics, t)
	}
	if r.bad {
		panic("BUG: api: a Produce request that was counted cannot be read")
	}
}

// appendTo appends the body of the response that q's results make.
func (q *produceRequest) appendTo(dst []byte, throttleMs int32, nodes []node) []byte {
	w := wireWriter{b: dst, flex: q.version >= 9}
	w.length(len(q.topics))
	parts := q.parts
	for _, t := range q.topics {
		if q.version >= 13 {
			w.uuid(t.id)
		} else {
			w.str(string(t.name))
		}
		w.length(t.parts)
		for i := range parts[:t.parts] {
			parts[i].appendTo(&w, q.version)
		}
		parts = parts[t.parts:]
		w.noTags()
	}
	w.int32(throttleMs)
	if q.version < 10 {
		nodes = nil
	}
	w.endpoints(nodes)
	return w.b
}

func (p *producePart) appendTo(w *wireWriter, version int16) {
	w.int32(p.index)
	w.int16(p.code)
	w.int64(p.baseOffset)
	w.int64(p.appendTimeMs)
	if version >= 5 {
		w.int64(p.logStart)
	}
	if version >= 8 {
		w.length(len(p.recordErrors))
		for _, e := range p.recordErrors {
			w.int32(e.Index)
			w.strOrNull(orNull(e.Message))
			w.noTags()
		}
		w.strOrNull(p.message)
	}
	if version >= 10 && p.currentLeader != noLeader {
		w.uvarint(1)
		w.leader(0, p.currentLeader)
		return
	}
	w.noTags()
}

// orNull is null for an empty string.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
