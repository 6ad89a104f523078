package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

func errorName(code int16) string {
	if code == 0 {
		return ""
	}
	return kerr.TypedErrorForCode(code).Message
}

func or(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// onTheWire is a response as the client decodes it.
func onTheWire(body any) any {
	resp, ok := body.(kmsg.Response)
	if !ok {
		return body
	}
	req := kmsg.RequestForKey(resp.Key())
	req.SetVersion(resp.GetVersion())
	decoded := req.ResponseKind()
	must(decoded.ReadFrom(resp.AppendTo(nil)))
	return decoded
}

func showReply(r coordinator.Reply) string {
	if r.Err != nil {
		return "error: " + r.Err.Error()
	}
	switch b := onTheWire(r.Body).(type) {
	case nil:
		return "done"
	case *kmsg.JoinGroupResponse:
		if b.ErrorCode != 0 && b.Generation == -1 {
			return fmt.Sprintf("%s member=%s", errorName(b.ErrorCode), b.MemberID)
		}
		s := fmt.Sprintf("%sgen=%d type=%s protocol=%s leader=%s member=%s", space(errorName(b.ErrorCode)),
			b.Generation, or(b.ProtocolType), or(b.Protocol), b.LeaderID, b.MemberID)
		for _, m := range b.Members {
			s += " " + m.MemberID
			if m.InstanceID != nil {
				s += "@" + *m.InstanceID
			}
			s += ":" + showTopics(m.ProtocolMetadata)
		}
		if b.SkipAssignment {
			s += " skip"
		}
		return s
	case *kmsg.SyncGroupResponse:
		if b.ErrorCode != 0 {
			return errorName(b.ErrorCode)
		}
		return fmt.Sprintf("type=%s protocol=%s assigned=%q", or(b.ProtocolType), or(b.Protocol), b.MemberAssignment)
	case *kmsg.HeartbeatResponse:
		return "ok " + errorName(b.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		s := "left " + errorName(b.ErrorCode)
		for _, m := range b.Members {
			s += fmt.Sprintf(" %s@%s:%s", m.MemberID, or(m.InstanceID), errorName(m.ErrorCode))
		}
		return s
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return showBeat(b)
	case *kmsg.OffsetCommitResponse:
		s := "saved"
		for _, t := range b.Topics {
			for _, p := range t.Partitions {
				s += fmt.Sprintf(" %s/%d:%s", t.Topic, p.Partition, errorName(p.ErrorCode))
			}
		}
		return s
	}
	return showAdmin(onTheWire(r.Body))
}

func showAdmin(body any) string {
	var s strings.Builder
	switch b := body.(type) {
	case *kmsg.OffsetFetchResponse:
		s.WriteString("offsets")
		for _, g := range b.Groups {
			s.WriteString(errorName(g.ErrorCode))
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					fmt.Fprintf(&s, " %s/%d=%d epoch=%d %q%s", t.Topic, p.Partition, p.Offset, p.LeaderEpoch, or(p.Metadata), errorName(p.ErrorCode))
				}
			}
		}
		for _, t := range b.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&s, " %s/%d=%d epoch=%d %q%s", t.Topic, p.Partition, p.Offset, p.LeaderEpoch, or(p.Metadata), errorName(p.ErrorCode))
			}
		}
	case *kmsg.OffsetDeleteResponse:
		s.WriteString("forgot " + errorName(b.ErrorCode))
		for _, t := range b.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&s, " %s/%d:%s", t.Topic, p.Partition, errorName(p.ErrorCode))
			}
		}
	case *kmsg.DescribeGroupsResponse:
		for _, g := range b.Groups {
			fmt.Fprintf(&s, "| %s%s %s type=%q protocol=%q ", space(errorName(g.ErrorCode)), g.Group, g.State, g.ProtocolType, g.Protocol)
			for _, m := range g.Members {
				fmt.Fprintf(&s, "%s@%s:%s%s:%s:%q ", m.MemberID, or(m.InstanceID), m.ClientID, m.ClientHost, showTopics(m.ProtocolMetadata), m.MemberAssignment)
			}
		}
	case *kmsg.ConsumerGroupDescribeResponse:
		s.WriteString(showConsumerGroups(b))
	case *kmsg.ListGroupsResponse:
		s.WriteString("groups")
		for _, g := range b.Groups {
			fmt.Fprintf(&s, " %s:%s:%s:%s", g.Group, g.ProtocolType, g.GroupState, g.GroupType)
		}
	case *kmsg.DeleteGroupsResponse:
		s.WriteString("deleted")
		for _, g := range b.Groups {
			fmt.Fprintf(&s, " %s:%s", g.Group, errorName(g.ErrorCode))
		}
	default:
		fmt.Fprintf(&s, "%#v", body)
	}
	return s.String()
}

func space(s string) string {
	if s == "" {
		return ""
	}
	return s + " "
}

func showTopics(metadata []byte) string {
	if len(metadata) == 0 {
		return "-"
	}
	topics, ok := subscribedTopics(metadata)
	if !ok {
		return "!"
	}
	return strings.Join(topics, "+")
}

func showRecord(r coordinator.Record) string {
	if typ := int16(binary.BigEndian.Uint16(r.Key)); typ > keyGroupMetadata {
		return showConsumerRecord(typ, r)
	}
	if binary.BigEndian.Uint16(r.Key) == keyGroupMetadata {
		var k kmsg.GroupMetadataKey
		must(k.ReadFrom(r.Key))
		if r.Value == nil {
			return fmt.Sprintf("group/%s gone", k.Group)
		}
		v := kmsg.NewGroupMetadataValue()
		must(v.ReadFrom(r.Value))
		return fmt.Sprintf("group/%s %s", k.Group, showStored(&v))
	}
	var k kmsg.OffsetCommitKey
	must(k.ReadFrom(r.Key))
	if r.Value == nil {
		return fmt.Sprintf("offset/%s/%s/%d gone", k.Group, k.Topic, k.Partition)
	}
	v := kmsg.NewOffsetCommitValue()
	must(v.ReadFrom(r.Value))
	s := fmt.Sprintf("offset/%s/%s/%d v%d %d epoch=%d %q", k.Group, k.Topic, k.Partition, v.Version, v.Offset, v.LeaderEpoch, v.Metadata)
	if v.Version == offsetExpireVersion {
		s += fmt.Sprintf(" expires=%s", sinceStart(v.ExpireTimestamp))
	}
	return s
}

func showStored(v *kmsg.GroupMetadataValue) string {
	s := fmt.Sprintf("v%d type=%q gen=%d protocol=%s leader=%s since=%s", v.Version, v.ProtocolType, v.Generation, or(v.Protocol), or(v.Leader),
		sinceStart(v.CurrentStateTimestamp))
	for _, m := range v.Members {
		s += fmt.Sprintf(" %s@%s:%s:%q", m.MemberID, or(m.InstanceID), showTopics(m.Subscription), m.Assignment)
	}
	return s
}

// hard prints a shard's hard state: all that its log says.
func (s *Shard) hard() string {
	var out strings.Builder
	for _, id := range sortedKeys(s.groups) {
		g := s.groups[id]
		if g.stored != nil {
			fmt.Fprintf(&out, "group/%s %s\n", id, showStored(g.stored))
		}
		if g.consumers != nil {
			out.WriteString(showConsumers(g))
		}
		for _, k := range g.everyOffset() {
			if c, ok := g.offsets[k.topic][k.partition]; ok {
				fmt.Fprintf(&out, "offset/%s/%s/%d %s\n", id, k.topic, k.partition, showCommitted(c))
			}
			for _, producer := range sortedProducers(g.open[k.topic][k.partition]) {
				fmt.Fprintf(&out, "open/%s/%s/%d by %d: %s\n", id, k.topic, k.partition, producer, showCommitted(s.pending[producer][k]))
			}
		}
	}
	return out.String()
}

func showCommitted(c committed) string {
	s := fmt.Sprintf("%d epoch=%d %q committed=%s at=%d", c.offset, c.leaderEpoch, c.metadata, sinceStart(c.commitMs), c.at)
	if c.expireMs >= 0 {
		s += fmt.Sprintf(" expires=%s", sinceStart(c.expireMs))
	}
	return s
}

func sinceStart(ms int64) time.Duration { return time.UnixMilli(ms).Sub(coordtest.Start) }

func sortedProducers(m map[int64]struct{}) []int64 {
	var ids []int64
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// soft prints the state machines.
func (s *Shard) soft() string {
	var out strings.Builder
	for _, id := range sortedKeys(s.groups) {
		g := s.groups[id]
		if g.consumers != nil {
			fmt.Fprintf(&out, "%s %s hashed at %d\n", id, g.consumers.state(), g.modern.hashedAt)
			continue
		}
		fmt.Fprintf(&out, "%s %s gen=%d leader=%s", id, g.state, g.generation, g.leader)
		for _, m := range g.members {
			fmt.Fprintf(&out, " %s", m.id)
			if m.join.waits() {
				out.WriteString("(joins)")
			}
			if m.sync.waits() {
				out.WriteString("(syncs)")
			}
		}
		fmt.Fprintf(&out, " pending=%d unsynced=%d\n", len(g.pendingJoin), len(g.pendingSync))
	}
	return out.String()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
