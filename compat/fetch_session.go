package compat

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchSessionScenarios are about incremental fetches (KIP-227).
var fetchSessionScenarios = []Scenario{
	{ID: "fetch.session.incremental", Says: "A session returns all partitions first, then only those that changed.", Refs: []string{"KIP-227"}, Run: sessionIncremental},
	{ID: "fetch.session.not-found", Says: "A session that does not exist is FETCH_SESSION_ID_NOT_FOUND.", Refs: []string{"KIP-227"}, Run: sessionNotFound},
	{ID: "fetch.session.epoch", Says: "An epoch that is not the next is INVALID_FETCH_SESSION_EPOCH, and the session lives.", Refs: []string{"KIP-227"}, Run: sessionEpoch},
	{ID: "fetch.session.close", Says: "A full fetch with a session's id closes it.", Refs: []string{"KIP-227"}, Run: sessionClose},
	{ID: "fetch.session.forget", Says: "Forgotten partitions leave the session.", Refs: []string{"KIP-227"}, Run: sessionForget},
	{ID: "fetch.session.add", Says: "Partitions named later join the session; named again they are changed.", Refs: []string{"KIP-227"}, Run: sessionAdd},
	{ID: "fetch.session.rotates", Says: "Partitions that returned data go to the end of the line, so that none starves.", Refs: []string{"redpanda#3336", "case F09"}, Run: sessionRotates},
	{ID: "fetch.session.high-watermark", Says: "A partition whose high watermark or log start moved is told without records.", Refs: []string{"KIP-227"}, Run: sessionLogStart},
	{ID: "fetch.session.error-again", Says: "A partition in error is in every response.", Refs: []string{"KIP-227"}, Run: sessionErrorAgain},
	{ID: "fetch.session.ids-and-names", Says: "A session of names asked with ids is FETCH_SESSION_TOPIC_ID_ERROR, and the other way round.", Refs: []string{"KIP-516"}, Since: "3.1", Run: sessionIDsAndNames},
}

// session is a fetch session on one connection.
type session struct {
	t       *T
	topic   string
	version int16
	id      int32
	epoch   int32
}

// poll fetches in the session, which it begins the first time.
func (s *session) poll(change func(*kmsg.FetchRequest), parts ...fetching) *kmsg.FetchResponse {
	req := s.t.fetchRequest(s.version, s.topic, parts...)
	if len(parts) == 0 {
		req.Topics = nil
	}
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	if change != nil {
		change(req)
	}
	resp := ask[*kmsg.FetchResponse](s.t, s.version, req)
	if resp.ErrorCode == 0 {
		s.id = resp.SessionID
		s.epoch++
	}
	return resp
}

// session opens a session.
func (t *T) session(version int16, topic string, parts ...fetching) (*session, *kmsg.FetchResponse) {
	s := &session{t: t, topic: topic, version: version}
	resp := s.poll(nil, parts...)
	t.ok("the first fetch", resp.ErrorCode)
	if s.id == 0 {
		t.NotApplicable("the broker gives no session")
	}
	return s, resp
}

// parts are the partitions of a response, in order.
func parts(resp *kmsg.FetchResponse) []int32 {
	var all []int32
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			all = append(all, p.Partition)
		}
	}
	return all
}

// appendTo produces a batch to a partition, which must succeed.
func (t *T) appendTo(topic string, partition int32, b batch) {
	version := t.newest(kmsg.Produce, 9)
	resp := ask[*kmsg.ProduceResponse](t, version, t.produceRequest(version, -1, topic, portion{partition, b.bytes()}))
	t.ok("produce", one(t, "partitions", one(t, "topics", resp.Topics).Partitions).ErrorCode)
}

func sessionIncremental(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.Fetch, 7, 18, func(v int16) {
		end := t.endOffset(topic)
		s, resp := t.session(v, topic, fetching{partition: 0, offset: end}, fetching{partition: 1})
		equals(t, "first", parts(resp), []int32{0, 1})
		equals(t, "nothing new", parts(s.poll(nil)), nil)
		t.appendTo(topic, 0, plainBatch("a"))
		resp = s.poll(nil)
		equals(t, "after an append", parts(resp), []int32{0})
		equals(t, "records", values(t.records(resp.Topics[0].Partitions[0].RecordBatches)), []string{"a"})
		resp = s.poll(nil)
		equals(t, "the same offset again", parts(resp), []int32{0})
		equals(t, "after it is passed", parts(s.poll(nil, fetching{partition: 0, offset: end + 1})), nil)
	})
}

func sessionNotFound(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Fetch, 7, 18, func(v int16) {
		req := t.fetchRequest(v, topic, fetching{})
		req.SessionID, req.SessionEpoch = 2147480000, 1
		resp := ask[*kmsg.FetchResponse](t, v, req)
		t.code("fetch", resp.ErrorCode, kerr.FetchSessionIDNotFound)
		equal(t, "topics", len(resp.Topics), 0)
		equal(t, "session", resp.SessionID, 0)
	})
}

func sessionEpoch(t *T) {
	topic := t.Topic(1)
	t.each(kmsg.Fetch, 7, 18, func(v int16) {
		s, _ := t.session(v, topic, fetching{})
		wrong := *s
		wrong.epoch = 7
		resp := wrong.poll(nil)
		t.code("a wrong epoch", resp.ErrorCode, kerr.InvalidFetchSessionEpoch)
		equal(t, "session", resp.SessionID, 0)
		t.ok("the right one", s.poll(nil).ErrorCode)
	})
}

func sessionClose(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Fetch, 11)
	s, _ := t.session(version, topic, fetching{})
	id := s.id
	resp := s.poll(func(r *kmsg.FetchRequest) { r.SessionEpoch = -1 }, fetching{})
	t.ok("the last fetch", resp.ErrorCode)
	equal(t, "session", resp.SessionID, 0)
	equals(t, "partitions", parts(resp), []int32{0})
	req := t.fetchRequest(version, topic, fetching{})
	req.SessionID, req.SessionEpoch = id, 1
	t.code("after it", ask[*kmsg.FetchResponse](t, version, req).ErrorCode, kerr.FetchSessionIDNotFound)
}

func sessionForget(t *T) {
	topic := t.Topic(2)
	t.each(kmsg.Fetch, 7, 18, func(v int16) {
		s, _ := t.session(v, topic, fetching{partition: 0, offset: t.endOffset(topic)}, fetching{partition: 1})
		s.poll(func(r *kmsg.FetchRequest) {
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.Partitions = topic, []int32{0}
			if v >= 13 {
				f.TopicID = t.topicID(topic)
			}
			r.ForgottenTopics = append(r.ForgottenTopics, f)
		})
		t.appendTo(topic, 0, plainBatch("a"))
		equals(t, "after it is forgotten", parts(s.poll(nil)), nil)
	})
}

func sessionAdd(t *T) {
	topic := t.Topic(3)
	t.appendTo(topic, 0, plainBatch("a"))
	t.appendTo(topic, 1, plainBatch("b", "c"))
	t.each(kmsg.Fetch, 7, 18, func(v int16) {
		s, _ := t.session(v, topic, fetching{partition: 0, offset: 1})
		resp := s.poll(nil, fetching{partition: 2}, fetching{partition: 1, offset: 2})
		equals(t, "new ones", parts(resp), []int32{2, 1})
		resp = s.poll(nil, fetching{partition: 0, offset: 0})
		equals(t, "offset set back", parts(resp), []int32{0})
		equals(t, "records", values(t.records(resp.Topics[0].Partitions[0].RecordBatches)), []string{"a"})
	})
}

func sessionRotates(t *T) {
	topic := t.Topic(3)
	for p := range int32(3) {
		for i := range 3 {
			t.appendTo(topic, p, plainBatch(fmt.Sprint(p, i)))
		}
	}
	size := int32(len(plainBatch("0 0").bytes()))
	t.each(kmsg.Fetch, 7, 18, func(v int16) {
		one := func(r *kmsg.FetchRequest) { r.MaxBytes = size }
		s := &session{t: t, topic: topic, version: v}
		served := map[int32]bool{}
		// The full fetch that begins a session moves nobody: four, not three.
		for i := range 4 {
			var resp *kmsg.FetchResponse
			if i == 0 {
				resp = s.poll(one, fetching{partition: 0}, fetching{partition: 1}, fetching{partition: 2})
			} else {
				resp = s.poll(one)
			}
			for _, rt := range resp.Topics {
				for _, p := range rt.Partitions {
					if len(p.RecordBatches) > 0 {
						served[p.Partition] = true
					}
				}
			}
		}
		equal(t, "partitions served in four fetches", len(served), 3)
	})
}

func sessionLogStart(t *T) {
	topic := t.Topic(1)
	for range 5 {
		t.append(topic, plainBatch("a"))
	}
	version := t.newest(kmsg.Fetch, 11)
	s, _ := t.session(version, topic, fetching{offset: 5})
	equals(t, "nothing new", parts(s.poll(nil)), nil)
	t.deleteRecords(topic, 2)
	resp := s.poll(nil)
	equals(t, "after the log start moved", parts(resp), []int32{0})
	equal(t, "log start", resp.Topics[0].Partitions[0].LogStartOffset, 2)
	equals(t, "and then", parts(s.poll(nil)), nil)
}

func sessionErrorAgain(t *T) {
	topic := t.Topic(1)
	version := t.newest(kmsg.Fetch, 11)
	s, resp := t.session(version, topic, fetching{partition: 0}, fetching{partition: 5})
	equals(t, "first", parts(resp), []int32{0, 5})
	for range 3 {
		resp = s.poll(nil)
		equals(t, "again", parts(resp), []int32{5})
		t.code("partition 5", resp.Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	}
}

func sessionIDsAndNames(t *T) {
	topic := t.Topic(1)
	for _, v := range [][2]int16{{12, 13}, {13, 12}} {
		s, _ := t.session(v[0], topic, fetching{})
		s.version = v[1]
		t.code(fmt.Sprintf("version %d after %d", v[1], v[0]), s.poll(nil, fetching{}).ErrorCode, kerr.FetchSessionTopicIDError)
	}
}
