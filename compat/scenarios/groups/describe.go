package groups

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// describeScenarios are about listing and describing groups.
var describeScenarios = []scenario.Scenario{
	{ID: "groups.describe.unknown", Says: "An unknown group is described as Dead, and GROUP_ID_NOT_FOUND from version 6.", Refs: []string{"KIP-1043"}, Run: describeUnknown},
	{ID: "groups.describe.stable", Says: "A stable group is described with protocol, members and assignments.", Run: describeStable},
	{ID: "groups.describe.rebalancing", Says: "Members of a group that is not stable are described without metadata and assignment.", Run: describeRebalancing},
	{ID: "groups.describe.operations", Says: "Authorized operations are told from version 3 when asked for.", Refs: []string{"KIP-430"}, Run: describeOperations},
	{ID: "groups.list.all", Says: "ListGroups names each group with its protocol type, and state and type from 4 and 5.", Run: listGroupsAll},
	{ID: "groups.list.states", Says: "ListGroups filters by state, without regard to case.", Refs: []string{"KIP-518", "redpanda PR 21347", "case G21"}, Run: listGroupsStates},
	{ID: "groups.list.types", Says: "ListGroups filters by type, without regard to case.", Refs: []string{"KIP-848"}, Since: "3.8", Run: listGroupsTypes},
	{ID: "groups.describe.whole-answer", Says: "DescribeGroups tells state, protocol, members and what they said in every version.", Run: describeGroupAnswers},
	{ID: "groups.list.whole-answer", Says: "ListGroups tells protocol type, state and type of groups, of those whose state and type was asked for.", Refs: []string{"KIP-518", "KIP-848"}, Run: listGroupAnswers},
}

func describeUnknown(t *scenario.T) {
	group := t.Group()
	t.Each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.DescribeGroup(v, group)
		scenario.Equal(t, "state", g.State, "Dead")
		scenario.Equal(t, "members", len(g.Members), 0)
		scenario.Equal(t, "protocol type", g.ProtocolType, "")
		if v >= 6 {
			t.Code("describe", g.ErrorCode, kerr.GroupIDNotFound)
			t.Contains("message", g.ErrorMessage, group)
		} else {
			t.OK("describe", g.ErrorCode)
		}
	})
}

func describeStable(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.DescribeGroup(v, m.Group)
		t.OK("describe", g.ErrorCode)
		scenario.Equal(t, "state", g.State, "Stable")
		scenario.Equal(t, "protocol type", g.ProtocolType, "compat")
		scenario.Equal(t, "protocol", g.Protocol, "range")
		dm := scenario.One(t, "members", g.Members)
		scenario.Equal(t, "member", dm.MemberID, m.ID)
		scenario.Equal(t, "client id", dm.ClientID, "moldau-compat")
		scenario.Equal(t, "client host", dm.ClientHost, "/127.0.0.1")
		scenario.Equal(t, "metadata", string(dm.ProtocolMetadata), "metadata of range")
		scenario.Equal(t, "assignment", string(dm.MemberAssignment), "assigned to "+m.ID)
		if v >= 4 && dm.InstanceID != nil {
			t.Fatalf("instance id %q of a dynamic member", *dm.InstanceID)
		}
	})
}

func describeRebalancing(t *scenario.T) {
	m := t.Member(t.Group()).LeaveAtEnd()
	m.Join()
	t.Each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.DescribeGroup(v, m.Group)
		scenario.Equal(t, "state", g.State, "CompletingRebalance")
		scenario.Equal(t, "protocol", g.Protocol, "")
		dm := scenario.One(t, "members", g.Members)
		scenario.Equal(t, "metadata", len(dm.ProtocolMetadata), 0)
		scenario.Equal(t, "assignment", len(dm.MemberAssignment), 0)
	})
}

func describeOperations(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.DescribeGroups, 3, 6, func(v int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{m.Group}
		g := scenario.One(t, "groups", scenario.Ask[*kmsg.DescribeGroupsResponse](t, v, req).Groups)
		scenario.Equal(t, "not asked for", g.AuthorizedOperations, math.MinInt32)
		req.IncludeAuthorizedOperations = true
		g = scenario.One(t, "groups", scenario.Ask[*kmsg.DescribeGroupsResponse](t, v, req).Groups)
		// Read, delete, describe, describe and alter configs.
		scenario.Equal(t, "operations", g.AuthorizedOperations, 1<<3|1<<6|1<<8|1<<10|1<<11)
	})
}

// listedGroup is a group as ListGroups shows it; nil if it does not.
func listedGroup(t *scenario.T, version int16, group string, states, types []string) *kmsg.ListGroupsResponseGroup {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	resp := scenario.Ask[*kmsg.ListGroupsResponse](t, version, req)
	t.OK("ListGroups", resp.ErrorCode)
	for _, g := range resp.Groups {
		if g.Group == group {
			return &g
		}
	}
	return nil
}

func listGroupsAll(t *scenario.T) {
	m := t.Stable(t.Group())
	simple, topic := t.Group(), t.Topic(1)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), simple, topic, scenario.Committing{Offset: 1})
	t.Each(kmsg.ListGroups, 0, 5, func(v int16) {
		for group, want := range map[string][2]string{m.Group: {"compat", "Stable"}, simple: {"", "Empty"}} {
			g := listedGroup(t, v, group, nil, nil)
			if g == nil {
				t.Fatalf("%s is not listed", group)
			}
			scenario.Equal(t, "protocol type", g.ProtocolType, want[0])
			if v >= 4 {
				scenario.Equal(t, "state", g.GroupState, want[1])
			}
			if v >= 5 {
				scenario.Equal(t, "type", g.GroupType, "classic")
			}
		}
	})
}

func listGroupsStates(t *scenario.T) {
	m, empty := t.Stable(t.Group()), t.Group()
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), empty, t.Topic(1), scenario.Committing{Offset: 1})
	t.Each(kmsg.ListGroups, 4, 5, func(v int16) {
		for filter, want := range map[string]bool{"Stable": true, "stable": true, "STABLE": true, "Empty": false, "Nonsense": false} {
			scenario.Equal(t, "listed as "+filter, listedGroup(t, v, m.Group, []string{filter}, nil) != nil, want)
		}
		scenario.Equal(t, "listed as Empty or Stable", listedGroup(t, v, m.Group, []string{"Empty", "Stable"}, nil) != nil, true)
		scenario.Equal(t, "the empty one listed as Empty", listedGroup(t, v, empty, []string{"Empty"}, nil) != nil, true)
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = []string{"Empty"}
		for _, g := range scenario.Ask[*kmsg.ListGroupsResponse](t, v, req).Groups {
			scenario.Equal(t, "state of "+g.Group+", listed as Empty", g.GroupState, "Empty")
		}
	})
}

func listGroupsTypes(t *scenario.T) {
	m := t.Stable(t.Group())
	t.Each(kmsg.ListGroups, 5, 5, func(v int16) {
		for filter, want := range map[string]bool{"classic": true, "Classic": true, "consumer": false, "share": false} {
			scenario.Equal(t, "listed as "+filter, listedGroup(t, v, m.Group, nil, []string{filter}) != nil, want)
		}
	})
}

// groupOperations on groups as bits: read, delete, describe, describe configs and
// alter configs.
const groupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

func describeGroupAnswers(t *scenario.T) {
	m := t.Member(t.Group())
	m.Instance = new(t.Name("instance"))
	m.Settle()
	missing := t.Name("missing")
	t.Each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{m.Group, missing}
		describe := func() *kmsg.DescribeGroupsResponse {
			got := scenario.Ask[*kmsg.DescribeGroupsResponse](t, v, req)
			slices.SortFunc(got.Groups, func(a, b kmsg.DescribeGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
			return got
		}
		got := describe()
		scenario.Equal(t, "groups", len(got.Groups), 2)
		host := scenario.One(t, "members", got.Groups[0].Members).ClientHost
		if !strings.HasPrefix(host, "/") || len(host) < 2 {
			t.Fatalf("host of a member: %q", host)
		}
		stable := scenario.Filled(func(g *kmsg.DescribeGroupsResponseGroup) {
			g.Group, g.State, g.ProtocolType, g.Protocol = m.Group, "Stable", m.Kind, "range"
			g.Members = []kmsg.DescribeGroupsResponseGroupMember{scenario.Filled(func(gm *kmsg.DescribeGroupsResponseGroupMember) {
				gm.MemberID, gm.InstanceID, gm.ClientID, gm.ClientHost = m.ID, m.Instance, "moldau-compat", host
				gm.ProtocolMetadata, gm.MemberAssignment = []byte("metadata of range"), []byte("assigned to "+m.ID)
			})}
			g.AuthorizedOperations = math.MinInt32
		})
		dead := scenario.Filled(func(g *kmsg.DescribeGroupsResponseGroup) {
			g.Group, g.State, g.AuthorizedOperations = missing, "Dead", math.MinInt32
			if v >= 6 {
				g.ErrorCode, g.ErrorMessage = kerr.GroupIDNotFound.Code, new("Group "+missing+" not found.")
			}
		})
		want := &kmsg.DescribeGroupsResponse{Groups: []kmsg.DescribeGroupsResponseGroup{stable, dead}}
		scenario.Whole(t, "without operations", got, want)
		if v >= 3 {
			req.IncludeAuthorizedOperations = true
			want.Groups[0].AuthorizedOperations = groupOperations
			if v < 6 {
				want.Groups[1].AuthorizedOperations = groupOperations
			}
			scenario.Whole(t, "with operations", describe(), want)
		}
	})
}

func listGroupAnswers(t *scenario.T) {
	m := t.Stable(t.Group())
	empty := t.Group()
	topic := t.Topic(1)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), empty, topic, scenario.Committing{Offset: 1})
	t.Each(kmsg.ListGroups, 0, 5, func(v int16) {
		list := func(what string, states, types []string, want ...kmsg.ListGroupsResponseGroup) {
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter, req.TypesFilter = states, types
			got := scenario.Ask[*kmsg.ListGroupsResponse](t, v, req)
			got.Groups = slices.DeleteFunc(got.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group != m.Group && g.Group != empty })
			resp := &kmsg.ListGroupsResponse{Groups: want}
			for _, r := range []*kmsg.ListGroupsResponse{got, resp} {
				slices.SortFunc(r.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
			}
			if len(got.Groups) == 0 {
				got.Groups = nil // As an answer without groups is read.
			}
			scenario.Whole(t, what, got, resp)
		}
		stable := scenario.Filled(func(g *kmsg.ListGroupsResponseGroup) {
			g.Group, g.ProtocolType, g.GroupState, g.GroupType = m.Group, m.Kind, "Stable", "classic"
		})
		simple := scenario.Filled(func(g *kmsg.ListGroupsResponseGroup) { g.Group, g.GroupState, g.GroupType = empty, "Empty", "classic" })
		list("all", nil, nil, stable, simple)
		if v >= 4 {
			list("stable ones", []string{"stable"}, nil, stable)
			list("two states", []string{"Stable", "Empty"}, nil, stable, simple)
			list("a state of none", []string{"Dead"}, nil)
		}
		if v >= 5 {
			list("classic ones", nil, []string{"Classic"}, stable, simple)
			list("consumer groups", nil, []string{"consumer"})
			list("empty classic ones", []string{"Empty"}, []string{"classic"}, simple)
		}
	})
}
