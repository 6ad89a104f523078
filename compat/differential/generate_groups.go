package differential

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var groupActions = []action{
	{kmsg.JoinGroup, 6, (*gen).joinGroup},
	{kmsg.JoinGroup, 4, (*gen).joinAndSync},
	{kmsg.SyncGroup, 4, (*gen).syncGroup},
	{kmsg.Heartbeat, 3, (*gen).heartbeat},
	{kmsg.LeaveGroup, 2, (*gen).leaveGroup},
	{kmsg.DescribeGroups, 3, (*gen).describeGroups},
	{kmsg.ListGroups, 2, (*gen).listGroups},
	{kmsg.DeleteGroups, 2, (*gen).deleteGroups},
}

// group draws a group: most often one of those that the caller deals with.
func (g *gen) group(usual []string) string {
	switch {
	case g.one(40):
		return "!"
	case g.one(15):
		return pick(g, groupNames...)
	case g.one(20):
		return "g9"
	}
	return pick(g, usual...)
}

// subscription is what a member of the classic protocol says of itself.
func subscription(v *view, topics []string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version = 1
	for _, t := range topics {
		m.Topics = append(m.Topics, v.name(t))
	}
	return m.AppendTo(nil)
}

// instance is the static id of a member that has one.
func instance(v *view, member string, static bool) *string {
	if !static {
		return nil
	}
	id := v.name("static-" + member)
	return &id
}

func (g *gen) joinGroup() { g.join(g.group(classicNames), pick(g, memberNames...), g.one(12)) }

// join lets a member join; one that has no id yet asks twice, as KIP-394 wants.
func (g *gen) join(group, name string, static bool) {
	protocols := []string{"range"}
	if g.one(4) {
		protocols = pick(g, []string{"range", "roundrobin"}, []string{"roundrobin"}, nil)
	}
	if g.one(60) {
		protocols = []string{"range", "range"}
	}
	kind := "consumer"
	if g.one(15) {
		kind = pick(g, "connect", "")
	}
	topics := unique(some(g, 2, func() string { return pick(g, topicNames...) }))
	junk, session, stranger := g.one(20), int32(60000), g.one(20)
	if g.one(25) {
		session = pick(g, int32(1), 0, 10_000_000, -1)
	}
	build := func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = v.name(group), v.member(group, name).id, kind
		if stranger {
			req.MemberID = v.name("nobody")
		}
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = session, 60000
		if version >= 5 {
			req.InstanceID = instance(v, name, static)
		}
		for _, p := range protocols {
			jp := kmsg.NewJoinGroupRequestProtocol()
			jp.Name, jp.Metadata = p, subscription(v, topics)
			if junk {
				jp.Metadata = []byte("junk")
			}
			req.Protocols = append(req.Protocols, jp)
		}
		return req
	}
	learn := func(v *view, resp kmsg.Response) {
		r := resp.(*kmsg.JoinGroupResponse)
		m := v.member(group, name)
		switch r.ErrorCode {
		case 79: // MEMBER_ID_REQUIRED
			m.id = r.MemberID
		case 0:
			m.id, m.generation, m.leader = r.MemberID, r.Generation, r.LeaderID == r.MemberID
			m.others = nil
			for _, o := range r.Members {
				m.others = append(m.others, o.MemberID)
			}
			slices.Sort(m.others)
		default:
			return
		}
		v.members[group+"/"+name] = m
	}
	times := 1
	if !g.joined[group+"/"+name] && !g.one(4) {
		times = 2
	}
	g.joined[group+"/"+name] = true
	version := g.version(kmsg.JoinGroup)
	if version < 4 || static {
		times = 1
	}
	for range times {
		g.askAt(kmsg.JoinGroup, version, build, learn)
	}
}

// joinAndSync is a rebalance as it should be.
func (g *gen) joinAndSync() {
	group := pick(g, classicNames...)
	members := memberNames[:1+g.IntN(2)]
	for _, m := range members {
		g.join(group, m, false)
	}
	if len(members) > 1 {
		g.join(group, members[0], false)
	}
	for _, m := range members {
		g.sync(group, m, 0)
	}
}

func (g *gen) syncGroup() { g.sync(g.group(classicNames), pick(g, memberNames...), g.off()) }

func (g *gen) sync(group, name string, off int32) {
	kind, protocol, static := "consumer", "range", g.one(15)
	if g.one(15) {
		kind, protocol = pick(g, "consumer", "connect"), pick(g, "range", "roundrobin")
	}
	bare := g.one(20)
	g.ask(kmsg.SyncGroup, func(v *view, version int16) kmsg.Request {
		m := v.member(group, name)
		req := kmsg.NewPtrSyncGroupRequest()
		req.Group, req.MemberID, req.Generation = v.name(group), m.id, m.generation+off
		if version >= 3 {
			req.InstanceID = instance(v, name, static)
		}
		if !bare {
			req.ProtocolType, req.Protocol = &kind, &protocol
		}
		if m.leader {
			// The order of ids is a broker's own; what a member gets is named by it.
			for _, id := range m.others {
				a := kmsg.NewSyncGroupRequestGroupAssignment()
				a.MemberID, a.MemberAssignment = id, []byte("for "+v.memberName(id))
				req.GroupAssignment = append(req.GroupAssignment, a)
			}
			slices.SortFunc(req.GroupAssignment, func(a, b kmsg.SyncGroupRequestGroupAssignment) int {
				return slices.Compare(a.MemberAssignment, b.MemberAssignment)
			})
		}
		return req
	}, func(*view, kmsg.Response) {})
}

// memberName is the world's name of a member's id.
func (v *view) memberName(id string) string { return v.word(id, "MemberID").text }

func (g *gen) heartbeat() {
	group, name, off, static := g.group(classicNames), pick(g, memberNames...), g.off(), g.one(12)
	g.ask(kmsg.Heartbeat, func(v *view, version int16) kmsg.Request {
		m := v.member(group, name)
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.MemberID, req.Generation = v.name(group), m.id, m.generation+off
		if version >= 3 {
			req.InstanceID = instance(v, name, static)
		}
		return req
	}, nil)
}

func (g *gen) leaveGroup() {
	group, static := g.group(classicNames), g.one(6)
	names := unique(some(g, 2, func() string { return pick(g, memberNames...) }))
	for _, n := range names {
		delete(g.joined, group+"/"+n)
	}
	g.ask(kmsg.LeaveGroup, func(v *view, version int16) kmsg.Request {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = v.name(group)
		for _, n := range names {
			if version < 3 {
				req.MemberID = v.member(group, n).id
				break
			}
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID, m.InstanceID = v.member(group, n).id, instance(v, n, static)
			if static {
				m.MemberID = ""
			}
			req.Members = append(req.Members, m)
		}
		return req
	}, func(v *view, resp kmsg.Response) {
		r := resp.(*kmsg.LeaveGroupResponse)
		for i, n := range names {
			if r.ErrorCode == 0 && (i >= len(r.Members) || r.Members[i].ErrorCode == 0) {
				delete(v.members, group+"/"+n)
			}
			if i >= len(r.Members) {
				break
			}
		}
	})
}

func (g *gen) describeGroups() {
	names := unique(some(g, 2, func() string { return g.group(classicNames) }))
	operations := g.one(5)
	g.ask(kmsg.DescribeGroups, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.IncludeAuthorizedOperations = operations
		for _, n := range names {
			req.Groups = append(req.Groups, v.name(n))
		}
		return req
	}, nil)
}

func (g *gen) listGroups() {
	var states, types []string
	if g.one(2) {
		states = some(g, 2, func() string {
			return pick(g, "Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead", "stable", "Odd", "Reconciling", "Assigning")
		})
	}
	if g.one(3) {
		types = some(g, 2, func() string { return pick(g, "classic", "consumer", "Consumer", "odd") })
	}
	g.ask(kmsg.ListGroups, func(_ *view, version int16) kmsg.Request {
		req := kmsg.NewPtrListGroupsRequest()
		if version >= 4 {
			req.StatesFilter = states
		}
		if version >= 5 {
			req.TypesFilter = types
		}
		return req
	}, nil)
}

func (g *gen) deleteGroups() {
	names := unique(some(g, 2, func() string { return g.group(groupNames) }))
	g.ask(kmsg.DeleteGroups, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDeleteGroupsRequest()
		for _, n := range names {
			req.Groups = append(req.Groups, v.name(n))
		}
		return req
	}, nil)
}
