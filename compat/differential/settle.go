package differential

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// gone and anything are what a topic may become besides a number of partitions.
const (
	gone     = 0
	anything = -1
)

// settle waits until what a broker has said is done can be seen by whoever asks:
// Kafka answers before all its parts have heard of it.
func (s *side) settle(ctx context.Context, a answer) {
	if a.err != nil || a.late != nil {
		return
	}
	for name, partitions := range s.becomes(a) {
		s.until(ctx, func() bool { return s.isSettled(ctx, name, partitions) })
	}
	switch resp := a.response.(type) {
	case *kmsg.CreateTopicsResponse, *kmsg.DeleteTopicsResponse, *kmsg.CreatePartitionsResponse,
		*kmsg.AlterConfigsResponse, *kmsg.IncrementalAlterConfigsResponse:
		_ = rest(ctx, configRest) // The context tells the next step.
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if pattern := a.sent.(*kmsg.ConsumerGroupHeartbeatRequest).SubscribedTopicRegex; resp.ErrorCode == 0 && pattern != nil && *pattern != "" {
			_ = rest(ctx, configRest) // What it matches is looked up meanwhile, and nothing tells when it is known.
		}
	case *kmsg.EndTxnResponse:
		if resp.ErrorCode == 0 {
			id := a.sent.(*kmsg.EndTxnRequest).TransactionalID
			s.until(ctx, func() bool { return !s.isEnding(ctx, id) })
		}
	}
}

func (s *side) until(ctx context.Context, done func() bool) {
	for end := time.Now().Add(retryLimit); !done() && time.Now().Before(end); {
		if rest(ctx, retryEvery) != nil {
			return
		}
	}
}

// becomes are the topics that an answer says have changed, by their names as the
// broker knows them, and how many partitions they are to have.
func (s *side) becomes(a answer) map[string]int32 {
	all := map[string]int32{}
	switch resp := a.response.(type) {
	case *kmsg.CreateTopicsResponse:
		req := a.sent.(*kmsg.CreateTopicsRequest)
		for _, t := range resp.Topics {
			if t.ErrorCode == 0 && !req.ValidateOnly {
				all[t.Topic] = anything
			}
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range resp.Topics {
			if t.ErrorCode == 0 && t.Topic != nil {
				all[*t.Topic] = gone
			}
		}
	case *kmsg.CreatePartitionsResponse:
		req := a.sent.(*kmsg.CreatePartitionsRequest)
		for i, t := range resp.Topics {
			if t.ErrorCode == 0 && !req.ValidateOnly && i < len(req.Topics) {
				all[t.Topic] = req.Topics[i].Count
			}
		}
	case *kmsg.MetadataResponse:
		for _, t := range resp.Topics { // One may have been made by being asked for.
			if req := a.sent.(*kmsg.MetadataRequest); req.AllowAutoTopicCreation && t.Topic != nil && strings.HasPrefix(*t.Topic, s.view.prefix) {
				all[*t.Topic] = anything
			}
		}
	}
	return all
}

// isSettled says whether a topic is what it is to be, and served; and takes down
// its id.
func (s *side) isSettled(ctx context.Context, topic string, want int32) bool {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = &topic
	req.Topics = append(req.Topics, rt)
	resp, ok := s.exchange(ctx, req, false).response.(*kmsg.MetadataResponse)
	if !ok || len(resp.Topics) != 1 {
		return false
	}
	t := resp.Topics[0]
	if want == gone {
		return t.ErrorCode != 0
	}
	if t.ErrorCode != 0 || want != anything && int32(len(t.Partitions)) != want {
		return false
	}
	for _, p := range t.Partitions {
		if p.ErrorCode != 0 || !s.isServed(ctx, topic, p.Partition) {
			return false
		}
	}
	s.view.setTopic(strings.TrimPrefix(topic, s.view.prefix), t.TopicID, int32(len(t.Partitions)))
	return true
}

func (s *side) isServed(ctx context.Context, topic string, partition int32) bool {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp = partition, -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, ok := s.exchange(ctx, req, false).response.(*kmsg.ListOffsetsResponse)
	return ok && len(resp.Topics) == 1 && len(resp.Topics[0].Partitions) == 1 && resp.Topics[0].Partitions[0].ErrorCode == 0
}

// isEnding says whether a transaction's markers are still being written.
func (s *side) isEnding(ctx context.Context, id string) bool {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	resp, ok := s.exchange(ctx, req, false).response.(*kmsg.DescribeTransactionsResponse)
	return ok && len(resp.TransactionStates) == 1 && strings.HasPrefix(resp.TransactionStates[0].State, "Prepare")
}

// cleanUp takes away what a world has made, as far as it can.
func (w *world) cleanUp(ctx context.Context) {
	w.both(func(_ int, s *side) {
		groups := map[string]bool{}
		for _, key := range slices.Sorted(maps.Keys(s.view.members)) {
			group, name, _ := strings.Cut(key, "/")
			groups[group] = true
			s.leave(ctx, group, name)
		}
		s.endTransactions(ctx)
		del := kmsg.NewPtrDeleteGroupsRequest()
		for _, g := range slices.Concat(groupNames, []string{"!", "g9"}) { // The empty id is a group too, of all worlds.
			del.Groups = append(del.Groups, s.view.name(g))
		}
		del.Version = 2
		s.exchange(ctx, del, false)
		topics := kmsg.NewPtrDeleteTopicsRequest()
		topics.Version, topics.TimeoutMillis = 5, 10000
		for name := range s.view.topics {
			topics.TopicNames = append(topics.TopicNames, s.view.name(name))
		}
		s.exchange(ctx, topics, false)
	})
}

// leave takes a member out of its group, whichever protocol it is of.
func (s *side) leave(ctx context.Context, group, name string) {
	m := s.view.member(group, name)
	if m.id == "" {
		return
	}
	classic := kmsg.NewPtrLeaveGroupRequest()
	lm := kmsg.NewLeaveGroupRequestMember()
	lm.MemberID = m.id
	classic.Version, classic.Group, classic.Members = 4, s.view.name(group), append(classic.Members, lm)
	s.exchange(ctx, classic, false)
	next := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	next.Group, next.MemberID, next.MemberEpoch = s.view.name(group), m.id, -1
	s.exchange(ctx, next, false)
}

// endTransactions aborts what is open: whoever asks for a new epoch does.
func (s *side) endTransactions(ctx context.Context) {
	for _, name := range transactionalNames {
		if _, ok := s.view.producers[name]; !ok {
			continue
		}
		id := s.view.name(name)
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 2, &id, 60000
		s.until(ctx, func() bool {
			resp, ok := s.exchange(ctx, req, false).response.(*kmsg.InitProducerIDResponse)
			return !ok || resp.ErrorCode != 51
		})
	}
}
