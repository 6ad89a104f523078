package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// The kinds of members that ConsumerGroupDescribe tells apart.
const (
	memberIsClassic  = 0
	memberIsConsumer = 1
)

// describeConsumers serves ConsumerGroupDescribe (69), versions 0 and 1, for this
// shard's groups.
func (s *Shard) describeConsumers(t coordinator.Ticket, req *kmsg.ConsumerGroupDescribeRequest) {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	for _, id := range req.Groups {
		og := kmsg.NewConsumerGroupDescribeResponseGroup()
		og.Group = id
		switch g := s.shown(id); {
		case id == "":
			og.ErrorCode = kerr.InvalidGroupID.Code
		case g == nil:
			og.ErrorCode, og.ErrorMessage = kerr.GroupIDNotFound.Code, new("Group "+id+" not found.")
		case g.consumers == nil:
			og.ErrorCode, og.ErrorMessage = kerr.GroupIDNotFound.Code, new("Group "+id+" is not a consumer group.")
		default:
			s.describeConsumerGroup(g.consumers, &og)
		}
		resp.Groups = append(resp.Groups, og)
	}
	s.reply(t, resp)
}

func (s *Shard) describeConsumerGroup(c *consumers, og *kmsg.ConsumerGroupDescribeResponseGroup) {
	og.State, og.Epoch, og.AssignmentEpoch = c.state(), c.epoch, c.assignmentEpoch
	og.AssignorName = c.assignor(s.cfg.Consumer.Assignors[0])
	for _, id := range sortedKeys(c.members) {
		m := c.members[id]
		om := kmsg.ConsumerGroupDescribeResponseGroupMember{
			MemberID: id, InstanceID: m.instance, RackID: m.rack, MemberEpoch: m.epoch,
			ClientID: m.clientID, ClientHost: m.clientHost,
			SubscribedTopics: m.topics, SubscribedTopicRegex: &m.regex,
			Assignment: s.describeAssignment(m.holds()), TargetAssignment: s.describeAssignment(c.target[id]),
			MemberType: memberIsConsumer,
		}
		if m.classic != nil {
			om.MemberType = memberIsClassic
		}
		og.Members = append(og.Members, om)
	}
}

// describeAssignment names the topics of an assignment; those that are gone are
// left out.
func (s *Shard) describeAssignment(p assign.Partitions) kmsg.Assignment {
	a := kmsg.NewAssignment()
	for _, id := range p.Topics() {
		if t, ok := s.cluster.TopicByID(id); ok {
			a.TopicPartitions = append(a.TopicPartitions, kmsg.AssignmentTopicPartition{TopicID: id, Topic: t.Name, Partitions: p[id]})
		}
	}
	return a
}
