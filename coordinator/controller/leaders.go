package controller

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// minISR is the bound for a topic: no more than it has replicas.
func (s *Shard) minISR(t *Topic) int {
	n, err := strconv.Atoi(s.topicValue(t.Name, minInsyncReplicas))
	if err != nil || len(t.Partitions) == 0 {
		return 1
	}
	return min(n, len(t.Partitions[0].Replicas))
}

func (s *Shard) uncleanAllowed(t *Topic) bool {
	return s.topicValue(t.Name, uncleanLeaderElection) == "true"
}

// upheaval is a change to brokers that leaders and ISRs follow from. Each field is
// a broker's id, or -1.
type upheaval struct {
	remove  int32 // Leaves all ISRs, and leads nothing.
	add     int32 // May lead, although the state still shows it fenced.
	unclean int32 // Leaves all ISRs, and is not eligible: it may have lost data.
}

func noUpheaval() upheaval { return upheaval{-1, -1, -1} }

// maxFollow is how many partitions one step changes because of a broker: the log
// takes maxRecords at once, and what the step is about goes along. The rest follows
// in later steps, for which pick chooses what is left.
const maxFollow = maxRecords - 10

// follow makes the changes to the partitions that pick chooses, in the order of
// topics and partitions. done is false if there are more than one step takes.
//
// It looks at every partition there is: at 100,000 that takes some milliseconds,
// and happens when a broker comes or goes. An index of partitions by broker would
// be one more thing to keep true.
func (s *Shard) follow(u upheaval, pick func(*Partition) bool) (recs []metadata.Record, done bool) {
	active := func(id int32) bool {
		return id != u.remove && id != u.unclean && (id == u.add || s.active(id))
	}
	gone := []int32{u.remove, u.unclean}
	for t := range values(s.topics) {
		minISR, how := -1, electOnline
		for _, p := range t.Partitions {
			if !pick(p) {
				continue
			}
			if minISR < 0 { // Once for a topic, and for most topics not at all.
				minISR = s.minISR(t)
				if s.uncleanAllowed(t) {
					how = electUnclean
				}
			}
			c := s.change(t, p, minISR)
			c.acceptable = s.acceptor(p, active)
			c.election, c.unclean = how, u.unclean
			c.isr = without(p.ISR, gone)
			if r := c.record(); r != nil {
				if len(recs) == maxFollow {
					return recs, false
				}
				recs = append(recs, r)
			}
		}
	}
	return recs, true
}

// inISR and the others choose partitions for follow.
func inISR(id int32) func(*Partition) bool {
	return func(p *Partition) bool { return slices.Contains(p.ISR, id) }
}

func inISROrELR(id int32) func(*Partition) bool {
	return func(p *Partition) bool { return slices.Contains(p.ISR, id) || slices.Contains(p.ELR, id) }
}

func leaderless(p *Partition) bool { return p.Leader == metadata.NoLeader }

// leads reports whether a broker leads any partition.
func (s *Shard) leads(id int32) bool {
	for t := range values(s.topics) {
		if slices.ContainsFunc(t.Partitions, func(p *Partition) bool { return p.Leader == id }) {
			return true
		}
	}
	return false
}

// fence makes a broker leave all ISRs, then fences it. While not done, it is not
// fenced yet.
func (s *Shard) fence(b *Broker) (recs []metadata.Record, done bool) {
	u := noUpheaval()
	u.remove = b.ID
	recs, done = s.follow(u, inISR(b.ID))
	if !done {
		return recs, false
	}
	return append(recs, &metadata.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: metadata.Fence}), true
}

// unfence lets a broker in, and elects it where there is no leader.
func (s *Shard) unfence(st *step, b *Broker) []metadata.Record {
	unfenced := &metadata.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: metadata.Unfence}
	if b.ShuttingDown {
		return []metadata.Record{unfenced} // It was fenced on its way out, and is still going.
	}
	u := noUpheaval()
	u.add = b.ID
	recs, done := s.follow(u, leaderless)
	if !done {
		st.timer(leadKey{}, st.Now)
	}
	return append([]metadata.Record{unfenced}, recs...)
}

// leadKey is the timer that goes on with electing leaders.
type leadKey struct{}

// electRest elects leaders where there is none: what unfence left to later steps.
func (s *Shard) electRest(st *step) []metadata.Record {
	recs, done := s.follow(noUpheaval(), leaderless)
	if !done {
		st.timer(leadKey{}, st.Now)
	}
	return recs
}

// moveAway moves what a broker in controlled shutdown leads elsewhere. Each of its
// heartbeats goes on with what is left.
func (s *Shard) moveAway(b *Broker) []metadata.Record {
	u := noUpheaval()
	u.remove = b.ID
	recs, _ := s.follow(u, inISR(b.ID))
	if !b.ShuttingDown {
		begins := &metadata.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, InControlledShutdown: metadata.ShutdownBegins}
		recs = append([]metadata.Record{begins}, recs...)
	}
	return recs
}

// forget cleans up after a broker's last incarnation as a new one registers. If the
// last one did not shut down cleanly it may have lost what it had not flushed.
func (s *Shard) forget(id int32, clean bool) (recs []metadata.Record, done bool) {
	u := noUpheaval()
	if s.elr() && !clean {
		u.unclean = id
		return s.follow(u, inISROrELR(id))
	}
	u.remove = id
	return s.follow(u, inISR(id))
}

// maxElections bounds how many leaders one round of a timer elects.
const maxElections = 1000

// balance gives leadership back to preferred replicas.
func (s *Shard) balance() []metadata.Record {
	return s.electSome(electPreferred, func(p *Partition) bool { return p.Leader != p.preferred() }, nil)
}

// electUncleanLeaders finds leaders for partitions that have none, at the cost of
// data, in topics that allow it.
func (s *Shard) electUncleanLeaders() []metadata.Record {
	return s.electSome(electUnclean, leaderless, s.uncleanAllowed)
}

// electSome elects leaders of partitions that pick chooses, in topics that allow
// does (nil: all).
func (s *Shard) electSome(how election, pick func(*Partition) bool, allow func(*Topic) bool) []metadata.Record {
	var recs []metadata.Record
	for t := range values(s.topics) {
		for _, p := range t.Partitions {
			if len(recs) == maxElections {
				return recs
			}
			if !pick(p) || allow != nil && !allow(t) {
				continue
			}
			c := s.change(t, p, s.minISR(t))
			c.election = how
			if r := c.record(); r != nil {
				recs = append(recs, r)
			}
		}
	}
	return recs
}

// Types of an ElectLeaders request.
const (
	askPreferred int8 = 0
	askUnclean   int8 = 1
)

// electLeaders serves ElectLeaders. Without topics it is about all partitions, and
// those that need no election are not answered.
func (s *Shard) electLeaders(_ *step, req *kmsg.ElectLeadersRequest) ([]metadata.Record, *kmsg.ElectLeadersResponse) {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	unknown := req.ElectionType != askPreferred && req.ElectionType != askUnclean
	topics := req.Topics
	if topics == nil && !unknown {
		for t := range values(s.topics) {
			rt := kmsg.NewElectLeadersRequestTopic()
			rt.Topic = t.Name
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, p.ID)
			}
			topics = append(topics, rt)
		}
	}
	var recs []metadata.Record
	for _, t := range topics {
		rt := kmsg.NewElectLeadersResponseTopic()
		rt.Topic = t.Topic
		for _, id := range t.Partitions {
			r, refusal := s.electLeader(t.Topic, id, req.ElectionType)
			if req.Topics == nil && refusal != nil && refusal.Kerr == kerr.ElectionNotNeeded {
				continue
			}
			if r != nil {
				recs = append(recs, r)
			}
			rp := kmsg.NewElectLeadersResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = id, refusal.code(), refusal.text()
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if unknown {
		resp.ErrorCode = kerr.InvalidRequest.Code
	}
	if len(recs) > maxRecords {
		resp.ErrorCode, resp.Topics = kerr.PolicyViolation.Code, nil
		return nil, resp
	}
	return recs, resp
}

func (s *Shard) electLeader(topic string, partition int32, kind int8) (metadata.Record, *Refusal) {
	if kind != askPreferred && kind != askUnclean {
		return nil, refuse(kerr.InvalidRequest, "Unknown election type %d", kind)
	}
	t, ok := s.topics.Get(topic)
	if !ok {
		return nil, refuse(kerr.UnknownTopicOrPartition, "No such topic as %s", topic)
	}
	p, ok := t.partition(partition)
	if !ok {
		return nil, refuse(kerr.UnknownTopicOrPartition, "No such partition as %s-%d", topic, partition)
	}
	if kind == askPreferred && p.Leader == p.preferred() || kind == askUnclean && !leaderless(p) {
		return nil, refuse(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")
	}
	c := s.change(t, p, s.minISR(t))
	c.election = electPreferred
	if kind == askUnclean {
		c.election = electUnclean
	}
	if r := c.record(); r != nil {
		return r, nil
	}
	if kind == askPreferred {
		return nil, refuse(kerr.PreferredLeaderNotAvailable, "The preferred leader was not available.")
	}
	return nil, refuse(kerr.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
}
