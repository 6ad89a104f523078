package fetch

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// sessionScenarios are about incremental fetches (KIP-227).
var sessionScenarios = []scenario.Scenario{
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
	{ID: "fetch.session.deleted-topic", Says: "In a session that was begun with topic ids a deleted topic is UNKNOWN_TOPIC_OR_PARTITION, and one that was made again INCONSISTENT_TOPIC_ID.", Refs: []string{"KIP-516"}, Since: "3.1", Run: sessionDeletedTopic}, // Found by a differential run.
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

func sessionIncremental(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.Fetch, 7, 18, func(v int16) {
		end := t.EndOffset(topic)
		s, resp := t.Session(v, topic, scenario.Fetching{Partition: 0, Offset: end}, scenario.Fetching{Partition: 1})
		scenario.EqualLists(t, "first", parts(resp), []int32{0, 1})
		scenario.EqualLists(t, "nothing new", parts(s.Poll(nil)), nil)
		t.AppendTo(topic, 0, scenario.PlainBatch("a"))
		resp = s.Poll(nil)
		scenario.EqualLists(t, "after an append", parts(resp), []int32{0})
		scenario.EqualLists(t, "records", scenario.Values(t.Records(resp.Topics[0].Partitions[0].RecordBatches)), []string{"a"})
		resp = s.Poll(nil)
		scenario.EqualLists(t, "the same offset again", parts(resp), []int32{0})
		scenario.EqualLists(t, "after it is passed", parts(s.Poll(nil, scenario.Fetching{Partition: 0, Offset: end + 1})), nil)
	})
}

func sessionNotFound(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Fetch, 7, 18, func(v int16) {
		req := t.FetchRequest(v, topic, scenario.Fetching{})
		req.SessionID, req.SessionEpoch = 2147480000, 1
		resp := scenario.Ask[*kmsg.FetchResponse](t, v, req)
		t.Code("fetch", resp.ErrorCode, kerr.FetchSessionIDNotFound)
		scenario.Equal(t, "topics", len(resp.Topics), 0)
		scenario.Equal(t, "session", resp.SessionID, 0)
	})
}

func sessionEpoch(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.Fetch, 7, 18, func(v int16) {
		s, _ := t.Session(v, topic, scenario.Fetching{})
		wrong := *s
		wrong.Epoch = 7
		resp := wrong.Poll(nil)
		t.Code("a wrong epoch", resp.ErrorCode, kerr.InvalidFetchSessionEpoch)
		scenario.Equal(t, "session", resp.SessionID, 0)
		t.OK("the right one", s.Poll(nil).ErrorCode)
	})
}

func sessionClose(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Fetch, 11)
	s, _ := t.Session(version, topic, scenario.Fetching{})
	id := s.ID
	resp := s.Poll(func(r *kmsg.FetchRequest) { r.SessionEpoch = -1 }, scenario.Fetching{})
	t.OK("the last fetch", resp.ErrorCode)
	scenario.Equal(t, "session", resp.SessionID, 0)
	scenario.EqualLists(t, "partitions", parts(resp), []int32{0})
	req := t.FetchRequest(version, topic, scenario.Fetching{})
	req.SessionID, req.SessionEpoch = id, 1
	t.Code("after it", scenario.Ask[*kmsg.FetchResponse](t, version, req).ErrorCode, kerr.FetchSessionIDNotFound)
}

func sessionForget(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.Fetch, 7, 18, func(v int16) {
		s, _ := t.Session(v, topic, scenario.Fetching{Partition: 0, Offset: t.EndOffset(topic)}, scenario.Fetching{Partition: 1})
		s.Poll(func(r *kmsg.FetchRequest) {
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.Partitions = topic, []int32{0}
			if v >= 13 {
				f.TopicID = t.TopicID(topic)
			}
			r.ForgottenTopics = append(r.ForgottenTopics, f)
		})
		t.AppendTo(topic, 0, scenario.PlainBatch("a"))
		scenario.EqualLists(t, "after it is forgotten", parts(s.Poll(nil)), nil)
	})
}

func sessionAdd(t *scenario.T) {
	topic := t.Topic(3)
	t.AppendTo(topic, 0, scenario.PlainBatch("a"))
	t.AppendTo(topic, 1, scenario.PlainBatch("b", "c"))
	t.Each(kmsg.Fetch, 7, 18, func(v int16) {
		s, _ := t.Session(v, topic, scenario.Fetching{Partition: 0, Offset: 1})
		resp := s.Poll(nil, scenario.Fetching{Partition: 2}, scenario.Fetching{Partition: 1, Offset: 2})
		scenario.EqualLists(t, "new ones", parts(resp), []int32{2, 1})
		resp = s.Poll(nil, scenario.Fetching{Partition: 0, Offset: 0})
		scenario.EqualLists(t, "offset set back", parts(resp), []int32{0})
		scenario.EqualLists(t, "records", scenario.Values(t.Records(resp.Topics[0].Partitions[0].RecordBatches)), []string{"a"})
	})
}

func sessionRotates(t *scenario.T) {
	topic := t.Topic(3)
	for p := range int32(3) {
		for i := range 3 {
			t.AppendTo(topic, p, scenario.PlainBatch(fmt.Sprint(p, i)))
		}
	}
	size := int32(len(scenario.PlainBatch("0 0").Bytes()))
	t.Each(kmsg.Fetch, 7, 18, func(v int16) {
		one := func(r *kmsg.FetchRequest) { r.MaxBytes = size }
		s := &scenario.Session{T: t, Topic: topic, Version: v}
		served := map[int32]bool{}
		// The full fetch that begins a session moves nobody: four, not three.
		for i := range 4 {
			var resp *kmsg.FetchResponse
			if i == 0 {
				resp = s.Poll(one, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 1}, scenario.Fetching{Partition: 2})
			} else {
				resp = s.Poll(one)
			}
			for _, rt := range resp.Topics {
				for _, p := range rt.Partitions {
					if len(p.RecordBatches) > 0 {
						served[p.Partition] = true
					}
				}
			}
		}
		scenario.Equal(t, "partitions served in four fetches", len(served), 3)
	})
}

func sessionLogStart(t *scenario.T) {
	topic := t.Topic(1)
	for range 5 {
		t.Append(topic, scenario.PlainBatch("a"))
	}
	version := t.Newest(kmsg.Fetch, 11)
	s, _ := t.Session(version, topic, scenario.Fetching{Offset: 5})
	scenario.EqualLists(t, "nothing new", parts(s.Poll(nil)), nil)
	t.DeleteRecords(topic, 2)
	resp := s.Poll(nil)
	scenario.EqualLists(t, "after the log start moved", parts(resp), []int32{0})
	scenario.Equal(t, "log start", resp.Topics[0].Partitions[0].LogStartOffset, 2)
	scenario.EqualLists(t, "and then", parts(s.Poll(nil)), nil)
}

func sessionErrorAgain(t *scenario.T) {
	topic := t.Topic(1)
	version := t.Newest(kmsg.Fetch, 11)
	s, resp := t.Session(version, topic, scenario.Fetching{Partition: 0}, scenario.Fetching{Partition: 5})
	scenario.EqualLists(t, "first", parts(resp), []int32{0, 5})
	for range 3 {
		resp = s.Poll(nil)
		scenario.EqualLists(t, "again", parts(resp), []int32{5})
		t.Code("partition 5", resp.Topics[0].Partitions[0].ErrorCode, kerr.UnknownTopicOrPartition)
	}
}

func sessionIDsAndNames(t *scenario.T) {
	topic := t.Topic(1)
	for _, v := range [][2]int16{{12, 13}, {13, 12}} {
		s, _ := t.Session(v[0], topic, scenario.Fetching{})
		s.Version = v[1]
		t.Code(fmt.Sprintf("version %d after %d", v[1], v[0]), s.Poll(nil, scenario.Fetching{}).ErrorCode, kerr.FetchSessionTopicIDError)
	}
}

func sessionDeletedTopic(t *scenario.T) {
	topic := t.Topic(1)
	s, _ := t.Session(13, topic, scenario.Fetching{})
	told := func(want *kerr.Error) {
		t.Until("the code "+want.Message, func() bool {
			resp := s.Poll(nil)
			t.OK("fetch", resp.ErrorCode)
			return len(resp.Topics) == 1 && resp.Topics[0].Partitions[0].ErrorCode == want.Code
		})
	}
	t.OK("delete", t.DeleteTopic(topic))
	told(kerr.UnknownTopicOrPartition)
	t.CreateTopic(topic, 1)
	told(kerr.InconsistentTopicID)
}
