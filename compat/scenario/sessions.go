package scenario

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Session is a fetch session on one connection.
type Session struct {
	T       *T
	Topic   string
	Version int16
	ID      int32
	Epoch   int32
}

// Poll fetches in the session, which it begins the first time.
func (s *Session) Poll(change func(*kmsg.FetchRequest), parts ...Fetching) *kmsg.FetchResponse {
	req := s.T.FetchRequest(s.Version, s.Topic, parts...)
	if len(parts) == 0 {
		req.Topics = nil
	}
	req.SessionID, req.SessionEpoch = s.ID, s.Epoch
	if change != nil {
		change(req)
	}
	resp := Ask[*kmsg.FetchResponse](s.T, s.Version, req)
	if resp.ErrorCode == 0 {
		s.ID = resp.SessionID
		s.Epoch++
	}
	return resp
}

// Session opens a session.
func (t *T) Session(version int16, topic string, parts ...Fetching) (*Session, *kmsg.FetchResponse) {
	s := &Session{T: t, Topic: topic, Version: version}
	resp := s.Poll(nil, parts...)
	t.OK("the first fetch", resp.ErrorCode)
	if s.ID == 0 {
		t.NotApplicable("the broker gives no session")
	}
	return s, resp
}

// AppendTo produces a batch to a partition, which must succeed.
func (t *T) AppendTo(topic string, partition int32, b Batch) {
	version := t.Newest(kmsg.Produce, 9)
	resp := Ask[*kmsg.ProduceResponse](t, version, t.ProduceRequest(version, -1, topic, Portion{partition, b.Bytes()}))
	t.OK("produce", One(t, "partitions", One(t, "topics", resp.Topics).Partitions).ErrorCode)
}
