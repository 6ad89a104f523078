package api

import "github.com/moldau-broker/moldau/protocol/batch"

// produceRequest is a Produce request, versions 3 to 13, without its records,
// and what came of it. kmsg would take 88 times the request's size for topics
// without partitions, and all records at once; here a partition takes a few
// words, and its records stay where they arrive, while they are looked at.
type produceRequest struct {
	version   int16
	txnID     *string // transactional.id; nil is null.
	acks      int16
	timeoutMs int32
	topics    []produceTopic
	parts     []producePart // Of all topics, one after the other.
}

type produceTopic struct {
	name  string   // Up to version 12; later once the id is known.
	id    [16]byte // From version 13.
	parts int      // How many of the request's parts are of this topic.
}

type producePart struct {
	index int32
	produceResult
}

// produceResult is what a partition's append came to.
type produceResult struct {
	code          int16
	baseOffset    int64
	appendTimeMs  int64
	logStart      int64
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
	producePartMemory    = 128
	produceTopicMemory   = 64
)

// produceReader reads a Produce request field by field: the header, and then
// for each topic of topics its topic, and for each partition of that its part.
type produceReader struct {
	wireReader
	version int16
}

func newProduceReader(in Stream, version int16) produceReader {
	return produceReader{wireReader{in: in, flex: version >= 9}, version}
}

// header reads what comes before the topics into q, and returns how many there
// are.
func (r *produceReader) header(q *produceRequest) (topics int) {
	q.version = r.version
	q.txnID = r.str()
	q.acks = r.int16()
	q.timeoutMs = r.int32()
	return r.array(minProduceTopicBytes)
}

// topic reads what comes before a topic's partitions.
func (r *produceReader) topic() (t produceTopic) {
	if r.version >= 13 {
		t.id = r.uuid()
	} else {
		t.name = r.name()
	}
	t.parts = r.array(minProducePartBytes)
	return t
}

// part reads a partition and lets use look at its records, which may change
// them. It is not called when the request ends before they do.
func (r *produceReader) part(use func(index int32, records []byte)) {
	index := r.int32()
	records := r.blob()
	if r.err == nil {
		use(index, records)
	}
	r.skip(len(records))
	r.tags()
}

// scanProduce reads a whole request that is in memory and keeps nothing of it.
// It returns how many topics and partitions there are, and why they cannot be
// read. use may be nil.
func scanProduce(body []byte, version int16, use func(index int32, records []byte)) (topics, parts int, err error) {
	if use == nil {
		use = func(int32, []byte) {}
	}
	m := memory(body)
	r := newProduceReader(&m, version)
	var q produceRequest
	topics = r.header(&q)
	for i := 0; i < topics && r.err == nil; i++ {
		t := r.topic()
		if parts += t.parts; topics+parts > maxElements {
			return topics, parts, errTooMany
		}
		for j := 0; j < t.parts && r.err == nil; j++ {
			r.part(use)
		}
		r.tags()
	}
	r.tags()
	return topics, parts, r.err
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
			w.str(t.name)
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
