package api

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/broker/internal/session"
	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/producer"
)

// fetch serves Fetch (1), versions 4 to 18: it answers records of many
// partitions, and waits for some when there are too few.
//
// Version 5 tells the log start, 7 has sessions (KIP-227), 9 compares leader
// epochs, 11 lets followers serve consumers (KIP-392), 12 is flexible and tells
// where logs part, 13 names topics by id, 15 tells a follower's state in a tagged
// field, 16 tells who leads (KIP-951); 17 and 18 add what only followers say.
func fetch(ctx context.Context, env *Env, call *Call) (Answer, error) {
	decoded, err := decode(call)
	if err != nil {
		return Answer{}, err
	}
	req := decoded.(*kmsg.FetchRequest)
	f := &fetching{clusterView: env.view(call), req: req, fetches: env.Fetches, began: time.Now()}
	if f.fetches == nil {
		f.fetches = NewFetches(session.Config{Slots: -1}, nil)
	}
	f.readRequest()
	poll, err := f.fetches.begin(f.began, f.session(), f.isolation)
	if err != nil {
		return f.answer(code(err), session.NoSession), nil
	}
	f.poll = poll
	if err := f.run(ctx); err != nil {
		f.release()
		f.fetches.abandon(poll)
		return Answer{}, err
	}
	id, err := f.fetches.done(time.Now(), poll, f.reads)
	if err != nil {
		f.release()
		f.reads = nil
		return f.answer(code(err), id), nil
	}
	return f.answer(0, id), nil
}

// fetching is one Fetch call under way.
type fetching struct {
	clusterView
	req       *kmsg.FetchRequest
	fetches   *Fetches
	poll      polling
	began     time.Time
	isolation replica.Isolation
	replicaID int32 // -1 is a consumer, -2 one that debugs; others are followers.
	epoch     int64 // Of the broker that is the follower; -1 if not told.
	maxBytes  int
	minBytes  int

	reads []reading
	nodes []node // Leaders that the client should have asked.
}

// reading is one partition of a fetch.
type reading struct {
	ask       session.Ask
	topic     *controller.Topic  // Nil when there is none,
	partition *replica.Partition // and this when it cannot be read here.
	out       fetchedPartition
	span      logstore.Span
	more      bool
	refused   bool // Not even looked for: no reason to answer before the time.
	included  bool
}

// debugReplica is the replica id of a consumer that reads past the high
// watermark, from any replica.
const debugReplica = -2

// defaultFetchBytes is fetch.max.bytes.
const defaultFetchBytes = 55 << 20

func (f *fetching) follower() bool { return f.replicaID >= 0 }

func (f *fetching) readRequest() {
	f.replicaID, f.epoch = f.req.ReplicaID, -1
	if f.req.Version >= 15 {
		f.replicaID, f.epoch = f.req.ReplicaState.ID, f.req.ReplicaState.Epoch
	}
	switch {
	case f.replicaID != -1:
		f.isolation = replica.LogEnd
	case f.req.IsolationLevel == 1:
		f.isolation = replica.Committed
	default:
		f.isolation = replica.Uncommitted
	}
	f.maxBytes = f.env.FetchMaxBytes
	if f.maxBytes == 0 {
		f.maxBytes = defaultFetchBytes
	}
	f.maxBytes = max(0, min(f.maxBytes, int(f.req.MaxBytes)))
	f.minBytes = min(int(f.req.MinBytes), f.maxBytes)
}

// session is what the request says of its session.
func (f *fetching) session() session.Fetch {
	s := session.Fetch{
		SessionID: session.NoSession, Epoch: session.FinalEpoch,
		UsesIDs: f.req.Version >= 13, Follower: f.follower(),
	}
	if f.req.Version >= 7 {
		s.SessionID, s.Epoch = f.req.SessionID, f.req.SessionEpoch
	}
	for _, t := range f.req.Topics {
		for _, p := range t.Partitions {
			s.Parts = append(s.Parts, session.Part{
				Key: session.Key{Topic: t.Topic, TopicID: t.TopicID, Partition: p.Partition},
				Want: session.Want{
					Offset: p.FetchOffset, LogStart: p.LogStartOffset, MaxBytes: p.PartitionMaxBytes,
					CurrentEpoch: p.CurrentLeaderEpoch, LastEpoch: p.LastFetchedEpoch,
				},
			})
		}
	}
	for _, t := range f.req.ForgottenTopics {
		for _, p := range t.Partitions {
			s.Forgotten = append(s.Forgotten, session.Key{Topic: t.Topic, TopicID: t.TopicID, Partition: p})
		}
	}
	return s
}

// run reads until there is enough, or until the request has waited as long as
// it would.
func (f *fetching) run(ctx context.Context) error {
	if f.look(false, !f.sessionless()) {
		return nil
	}
	if f.sessionless() { // Only now is it worth to watch; and to look again.
		f.release()
		if f.look(true, true) {
			return nil
		}
	}
	timer := time.NewTimer(time.Until(f.began.Add(time.Duration(f.req.MaxWaitMillis) * time.Millisecond)))
	defer timer.Stop()
	changed, passed := f.poll.listener.waiter.C(), f.poll.listener.passed
	for {
		// What was read is given back: files are not held open for the sake
		// of who waits.
		f.release()
		last := false
		select {
		case <-changed:
		case <-passed:
		case <-timer.C:
			last = true
		case <-f.call.Conn.Draining:
			last = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		f.image = f.env.Image()
		if f.look(true, true) || last {
			return nil
		}
	}
}

// sessionless says that the client wants no session: nobody will ask what has
// changed since.
func (f *fetching) sessionless() bool {
	return f.req.Version < 7 || f.req.SessionEpoch == session.FinalEpoch
}

// look reads all partitions that may have something new, after it began to watch
// them, and says whether the request is to be answered with that.
func (f *fetching) look(again, watch bool) (enough bool) {
	f.reads = f.reads[:0]
	asks, of, ok := f.fetches.asks(f.poll, f.topicName)
	if !ok {
		return true // The answer will be an error.
	}
	for _, a := range asks {
		f.reads = append(f.reads, f.find(a))
	}
	if watch {
		f.fetches.watch(f.poll, f.reads)
	}

	left, minOne, bytes := f.maxBytes, true, 0
	readable := of - len(f.reads) // Those with nothing new.
	enough = f.req.MaxWaitMillis <= 0
	for i := range f.reads {
		r := &f.reads[i]
		if r.refused {
			continue
		}
		readable++
		if r.partition != nil {
			f.read(r, left, minOne, again)
		}
		size := r.out.size()
		minOne = minOne && size == 0
		left = max(0, left-size)
		bytes += size
		enough = enough || r.out.code != 0 || r.out.diverging != nil
	}
	return enough || readable == 0 || bytes >= f.minBytes
}

// topicName is the name of the topic of an id; empty if there is none.
func (f *fetching) topicName(id [16]byte) string {
	if t, ok := f.image.TopicByID(id); ok {
		return t.Name
	}
	return ""
}

// find looks for the partition, and whether the client may read it.
func (f *fetching) find(a session.Ask) reading {
	r := reading{ask: a}
	name := a.Topic
	if f.req.Version >= 13 {
		name = a.Name
	}
	ok := false
	r.topic, ok = f.image.Topic(name)
	t := fetchTopic{a.Topic, a.TopicID}
	refuse := func(errorCode int16) reading {
		r.topic, r.refused, r.out = nil, true, failedFetch(t, a.Partition, errorCode)
		r.out.aborted = []producer.Aborted{} // Not null, as with Kafka; nobody looks at it.
		return r
	}
	switch {
	case f.follower() && !f.env.MayCluster(f.call.Conn, kmsg.ACLOperationClusterAction):
		return refuse(kerr.TopicAuthorizationFailed.Code)
	case f.req.Version >= 13 && name == "":
		return refuse(kerr.UnknownTopicID.Code)
	case !f.follower() && !f.env.MayTopic(f.call.Conn, kmsg.ACLOperationRead, name):
		return refuse(kerr.TopicAuthorizationFailed.Code)
	case !ok || int(a.Partition) < 0 || int(a.Partition) >= len(r.topic.Partitions):
		return refuse(kerr.UnknownTopicOrPartition.Code)
	}
	r.out = failedFetch(t, a.Partition, 0)
	if f.req.Version >= 13 && r.topic.ID != a.TopicID { // It was made again.
		r.out.code = kerr.InconsistentTopicID.Code
		return r
	}
	p, err := f.partition(r.topic, a.Partition)
	if errors.Is(err, errRecreated) && f.req.Version >= 13 {
		err = kerr.InconsistentTopicID
	}
	if err != nil {
		r.out.code = f.code(err)
		return r
	}
	r.partition = p
	return r
}

// read reads one partition, at most left bytes; minOne wants a whole batch even
// so.
func (f *fetching) read(r *reading, left int, minOne, again bool) {
	q := replica.ReadRequest{
		Offset: r.ask.Offset, CurrentEpoch: r.ask.CurrentEpoch, LastFetchedEpoch: r.ask.LastEpoch,
		MaxBytes: max(0, min(int(r.ask.MaxBytes), left)), MinOne: minOne,
		Isolation:  f.isolation,
		AnyReplica: f.replicaID == debugReplica || f.replicaID == -1 && f.req.Version >= 11,
	}
	if f.follower() {
		q.Follower = &replica.FollowerRead{ID: f.replicaID, BrokerEpoch: f.epoch, LogStart: r.ask.LogStart, Again: again}
	}
	res, err := r.partition.Read(time.Now(), q)
	if err != nil {
		r.out.code = f.code(err)
		return
	}
	r.out.highWatermark, r.out.stable, r.out.logStart = res.HighWatermark, res.Stable, res.LogStart
	r.out.aborted = res.Aborted
	if res.Diverging != nil {
		r.out.diverging = &epochEnd{res.Diverging.Epoch, res.Diverging.End}
	}
	r.more = res.More
	r.span = res.Span
	if r.span.Len() > 0 {
		r.out.records = r.span
	}
}

// code is the error code for this version of Fetch: up to version 5 clients do
// not know that a disk can fail.
func (f *fetching) code(err error) int16 {
	c := code(err)
	if c == kerr.KafkaStorageError.Code && f.req.Version <= 5 {
		return kerr.NotLeaderForPartition.Code
	}
	return c
}

// release gives back what was read.
func (f *fetching) release() {
	for i := range f.reads {
		f.reads[i].span.Release()
		f.reads[i].span, f.reads[i].out.records = logstore.Span{}, nil
	}
}

// answer encodes the readings that the client is told.
func (f *fetching) answer(errorCode int16, sessionID int32) Answer {
	resp := fetchResponse{version: f.req.Version, code: errorCode, sessionID: sessionID}
	for i := range f.reads {
		if r := &f.reads[i]; r.included {
			f.tellLeader(r)
			resp.parts = append(resp.parts, r.out)
		}
	}
	resp.nodes = f.nodes
	buf := f.env.buffer(0)
	out := beginFrame(buf.B[:0], f.call, f.req.Version)
	out, cuts := resp.appendTo(out, nil)
	records := 0
	for _, c := range cuts {
		records += c.span.Len()
	}
	endFrame(out, records)
	giveBack := f.env.giveBack(buf)
	return Answer{Parts: splice(out, cuts), Release: func() {
		f.release()
		if giveBack != nil {
			giveBack()
		}
	}}
}

// tellLeader adds who leads a partition that this broker does not, or not in
// the epoch that the client knows.
func (f *fetching) tellLeader(r *reading) {
	if f.req.Version < 16 || r.topic == nil {
		return
	}
	switch r.out.code {
	case kerr.NotLeaderForPartition.Code, kerr.FencedLeaderEpoch.Code:
		r.out.currentLeader, f.nodes = f.leader(r.topic.Name, r.ask.Partition, f.nodes)
	}
}
