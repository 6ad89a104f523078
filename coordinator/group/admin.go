package group

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// The group types that ListGroups gives; Kafka has share and streams as well.
const (
	classicType  = "classic"
	consumerType = "consumer"
)

// describeNotFound is the DescribeGroups version from which on a missing group is
// an error; before, it is a dead group.
const describeNotFound = 6

// list serves ListGroups (16), versions 0 to 5, for this shard's groups.
func (s *Shard) list(t coordinator.Ticket, req *kmsg.ListGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	passes := func(filter []string, value string) bool {
		return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool {
			return strings.EqualFold(strings.TrimSpace(f), value)
		})
	}
	for _, id := range sortedKeys(s.groups) {
		g := s.shown(id)
		if g == nil {
			continue
		}
		state, typ, protocol := g.state.String(), classicType, g.protocolType
		if g.consumers != nil {
			state, typ, protocol = g.consumers.state(), consumerType, consumerProtocol
		}
		if passes(req.StatesFilter, state) && passes(req.TypesFilter, typ) {
			resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{
				Group: id, ProtocolType: protocol, GroupState: state, GroupType: typ,
			})
		}
	}
	s.reply(t, resp)
}

// describe serves DescribeGroups (15), versions 0 to 6, for this shard's groups.
// Only a stable group shows its protocol and what its members said for it.
func (s *Shard) describe(t coordinator.Ticket, req *kmsg.DescribeGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, id := range req.Groups {
		og := kmsg.NewDescribeGroupsResponseGroup()
		og.Group = id
		g := s.shown(id)
		if g == nil || g.consumers != nil {
			og.State = "Dead"
			if req.Version >= describeNotFound {
				og.ErrorCode = kerr.GroupIDNotFound.Code
				og.ErrorMessage = new("Group " + id + " not found.")
				if g != nil {
					og.ErrorMessage = new("Group " + id + " is not a classic group.")
				}
			}
			resp.Groups = append(resp.Groups, og)
			continue
		}
		og.State, og.ProtocolType = g.state.String(), g.protocolType
		if g.state == stable {
			og.Protocol = *g.protocol
		}
		for _, m := range g.members {
			om := kmsg.DescribeGroupsResponseGroupMember{
				MemberID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
				ProtocolMetadata: []byte{}, MemberAssignment: m.assignment,
			}
			if g.state == stable {
				om.ProtocolMetadata = g.metadata(m)
			}
			og.Members = append(og.Members, om)
		}
		resp.Groups = append(resp.Groups, og)
	}
	s.reply(t, resp)
}

// deleteGroups serves DeleteGroups (42), versions 0 to 2, for this shard's groups:
// the group and its offsets go in one batch, or a load would bring half of it
// back.
func (s *Shard) deleteGroups(t coordinator.Ticket, req *kmsg.DeleteGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	seen := make(map[string]bool)
	for _, id := range req.Groups {
		if seen[id] {
			continue
		}
		seen[id] = true
		g := s.groups[id]
		switch {
		case g == nil:
			resp.Groups = append(resp.Groups, deleteResult(id, kerr.GroupIDNotFound.Code))
		case !g.isEmpty():
			resp.Groups = append(resp.Groups, deleteResult(id, kerr.NonEmptyGroup.Code))
		default:
			for _, k := range g.everyOffset() {
				s.write(offsetTombstone(k))
			}
			s.write(g.tombstones()...)
			for _, member := range sortedKeys(g.pendingJoin) {
				s.cancelTimer(timerKey{sessionTimer, id, member})
			}
			s.undo = func(int16, error) {} // Its timers go on.
			resp.Groups = append(resp.Groups, deleteResult(id, 0))
		}
	}
	s.reply(t, resp)
}

func deleteResult(id string, code int16) kmsg.DeleteGroupsResponseGroup {
	og := kmsg.NewDeleteGroupsResponseGroup()
	og.Group, og.ErrorCode = id, code
	return og
}

// isEmpty says whether the group has no members.
func (g *group) isEmpty() bool {
	if g.consumers != nil {
		return len(g.consumers.members) == 0
	}
	return g.state == empty
}

// tombstones takes a group's records back, but not its offsets'.
func (g *group) tombstones() []coordinator.Record {
	if g.consumers != nil {
		return g.consumers.tombstones(g.id)
	}
	return []coordinator.Record{groupTombstone(g.id)}
}
