package compat

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupAdminScenarios are about finding, listing, describing and deleting groups.
var groupAdminScenarios = []Scenario{
	{ID: "groups.coordinator.find", Says: "FindCoordinator names the broker in every version, in batches from 4.", Refs: []string{"KIP-699"}, Run: findCoordinator},
	{ID: "groups.coordinator.key-type", Says: "A key type that does not exist is INVALID_REQUEST.", Run: findCoordinatorType},
	{ID: "groups.coordinator.share-key", Says: "A share group's key that is not group:topic:partition is INVALID_REQUEST.", Refs: []string{"KIP-932"}, Since: "4.1", Run: findCoordinatorShare},
	{ID: "groups.describe.unknown", Says: "An unknown group is described as Dead, and GROUP_ID_NOT_FOUND from version 6.", Refs: []string{"KIP-1043"}, Run: describeUnknown},
	{ID: "groups.describe.stable", Says: "A stable group is described with protocol, members and assignments.", Run: describeStable},
	{ID: "groups.describe.rebalancing", Says: "Members of a group that is not stable are described without metadata and assignment.", Run: describeRebalancing},
	{ID: "groups.describe.operations", Says: "Authorized operations are told from version 3 when asked for.", Refs: []string{"KIP-430"}, Run: describeOperations},
	{ID: "groups.list.all", Says: "ListGroups names each group with its protocol type, and state and type from 4 and 5.", Run: listGroupsAll},
	{ID: "groups.list.states", Says: "ListGroups filters by state, without regard to case.", Refs: []string{"KIP-518", "redpanda PR 21347", "case G21"}, Run: listGroupsStates},
	{ID: "groups.list.types", Says: "ListGroups filters by type, without regard to case.", Refs: []string{"KIP-848"}, Since: "3.8", Run: listGroupsTypes},
	{ID: "groups.delete", Says: "DeleteGroups deletes empty groups, and refuses others and unknown ones.", Refs: []string{"KIP-229"}, Run: deleteGroups},
	{ID: "groups.delete.offsets-gone", Says: "A deleted group's offsets are gone.", Run: deleteGroupOffsets},
	{ID: "groups.offset-delete", Says: "OffsetDelete removes offsets of topics that the group is not subscribed to.", Refs: []string{"KIP-496"}, Run: offsetDelete},
	{ID: "groups.offset-delete.errors", Says: "OffsetDelete of an unknown group is GROUP_ID_NOT_FOUND, of one that does not consume and has members NON_EMPTY_GROUP.", Refs: []string{"KIP-496"}, Run: offsetDeleteErrors},
	{ID: "groups.offset-delete.partly", Says: "OffsetDelete answers each topic once, with its partitions that are there and those that are not, and asks the group even where none is.", Refs: []string{"KIP-496"}, Run: offsetDeletePartly},
	{ID: "groups.topic-deleted", Says: "Deleting a topic deletes the offsets committed for it.", Run: offsetsOfDeletedTopic},
}

func findCoordinator(t *T) {
	group := t.Group()
	t.each(kmsg.FindCoordinator, 0, 6, func(v int16) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = group, []string{group, "another"}
		resp := ask[*kmsg.FindCoordinatorResponse](t, v, req)
		if v < 4 {
			t.ok("find", resp.ErrorCode)
			equal(t, "node", resp.NodeID, t.Node())
			if resp.Host == "" || resp.Port <= 0 {
				t.Fatalf("host %q port %d", resp.Host, resp.Port)
			}
			return
		}
		equal(t, "coordinators", len(resp.Coordinators), 2)
		for i, c := range resp.Coordinators {
			t.ok("find", c.ErrorCode)
			equal(t, "key", c.Key, req.CoordinatorKeys[i])
			equal(t, "node", c.NodeID, t.Node())
			if c.Host == "" || c.Port <= 0 {
				t.Fatalf("host %q port %d", c.Host, c.Port)
			}
		}
	})
}

func findCoordinatorType(t *T) {
	t.each(kmsg.FindCoordinator, 1, 6, func(v int16) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "k", []string{"k"}, 3
		resp := ask[*kmsg.FindCoordinatorResponse](t, v, req)
		if v < 4 {
			t.code("find", resp.ErrorCode, kerr.InvalidRequest)
			return
		}
		c := one(t, "coordinators", resp.Coordinators)
		t.code("find", c.ErrorCode, kerr.InvalidRequest)
		equal(t, "node", c.NodeID, -1)
		equal(t, "host", c.Host, "")
		equal(t, "port", c.Port, -1)
	})
}

func findCoordinatorShare(t *T) {
	t.each(kmsg.FindCoordinator, 1, 6, func(v int16) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "nonsense", []string{"nonsense"}, 2
		resp := ask[*kmsg.FindCoordinatorResponse](t, v, req)
		code := resp.ErrorCode
		if v >= 4 {
			code = one(t, "coordinators", resp.Coordinators).ErrorCode
		}
		t.code("find", code, kerr.InvalidRequest)
	})
}

func describeUnknown(t *T) {
	group := t.Group()
	t.each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.describe(v, group)
		equal(t, "state", g.State, "Dead")
		equal(t, "members", len(g.Members), 0)
		equal(t, "protocol type", g.ProtocolType, "")
		if v >= 6 {
			t.code("describe", g.ErrorCode, kerr.GroupIDNotFound)
			t.contains("message", g.ErrorMessage, group)
		} else {
			t.ok("describe", g.ErrorCode)
		}
	})
}

func describeStable(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.describe(v, m.group)
		t.ok("describe", g.ErrorCode)
		equal(t, "state", g.State, "Stable")
		equal(t, "protocol type", g.ProtocolType, "compat")
		equal(t, "protocol", g.Protocol, "range")
		dm := one(t, "members", g.Members)
		equal(t, "member", dm.MemberID, m.id)
		equal(t, "client id", dm.ClientID, "moldau-compat")
		equal(t, "client host", dm.ClientHost, "/127.0.0.1")
		equal(t, "metadata", string(dm.ProtocolMetadata), "metadata of range")
		equal(t, "assignment", string(dm.MemberAssignment), "assigned to "+m.id)
		if v >= 4 && dm.InstanceID != nil {
			t.Fatalf("instance id %q of a dynamic member", *dm.InstanceID)
		}
	})
}

func describeRebalancing(t *T) {
	m := t.member(t.Group()).leaveAtEnd()
	m.join()
	t.each(kmsg.DescribeGroups, 0, 6, func(v int16) {
		g := t.describe(v, m.group)
		equal(t, "state", g.State, "CompletingRebalance")
		equal(t, "protocol", g.Protocol, "")
		dm := one(t, "members", g.Members)
		equal(t, "metadata", len(dm.ProtocolMetadata), 0)
		equal(t, "assignment", len(dm.MemberAssignment), 0)
	})
}

func describeOperations(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.DescribeGroups, 3, 6, func(v int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{m.group}
		g := one(t, "groups", ask[*kmsg.DescribeGroupsResponse](t, v, req).Groups)
		equal(t, "not asked for", g.AuthorizedOperations, math.MinInt32)
		req.IncludeAuthorizedOperations = true
		g = one(t, "groups", ask[*kmsg.DescribeGroupsResponse](t, v, req).Groups)
		// Read, delete, describe, describe and alter configs.
		equal(t, "operations", g.AuthorizedOperations, 1<<3|1<<6|1<<8|1<<10|1<<11)
	})
}

// listed is a group as ListGroups shows it; nil if it does not.
func (t *T) listed(version int16, group string, states, types []string) *kmsg.ListGroupsResponseGroup {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	resp := ask[*kmsg.ListGroupsResponse](t, version, req)
	t.ok("ListGroups", resp.ErrorCode)
	for _, g := range resp.Groups {
		if g.Group == group {
			return &g
		}
	}
	return nil
}

func listGroupsAll(t *T) {
	m := t.stable(t.Group())
	simple, topic := t.Group(), t.Topic(1)
	t.commit(t.newest(kmsg.OffsetCommit, 8), simple, topic, committing{offset: 1})
	t.each(kmsg.ListGroups, 0, 5, func(v int16) {
		for group, want := range map[string][2]string{m.group: {"compat", "Stable"}, simple: {"", "Empty"}} {
			g := t.listed(v, group, nil, nil)
			if g == nil {
				t.Fatalf("%s is not listed", group)
			}
			equal(t, "protocol type", g.ProtocolType, want[0])
			if v >= 4 {
				equal(t, "state", g.GroupState, want[1])
			}
			if v >= 5 {
				equal(t, "type", g.GroupType, "classic")
			}
		}
	})
}

func listGroupsStates(t *T) {
	m, empty := t.stable(t.Group()), t.Group()
	t.commit(t.newest(kmsg.OffsetCommit, 8), empty, t.Topic(1), committing{offset: 1})
	t.each(kmsg.ListGroups, 4, 5, func(v int16) {
		for filter, want := range map[string]bool{"Stable": true, "stable": true, "STABLE": true, "Empty": false, "Nonsense": false} {
			equal(t, "listed as "+filter, t.listed(v, m.group, []string{filter}, nil) != nil, want)
		}
		equal(t, "listed as Empty or Stable", t.listed(v, m.group, []string{"Empty", "Stable"}, nil) != nil, true)
		equal(t, "the empty one listed as Empty", t.listed(v, empty, []string{"Empty"}, nil) != nil, true)
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = []string{"Empty"}
		for _, g := range ask[*kmsg.ListGroupsResponse](t, v, req).Groups {
			equal(t, "state of "+g.Group+", listed as Empty", g.GroupState, "Empty")
		}
	})
}

func listGroupsTypes(t *T) {
	m := t.stable(t.Group())
	t.each(kmsg.ListGroups, 5, 5, func(v int16) {
		for filter, want := range map[string]bool{"classic": true, "Classic": true, "consumer": false, "share": false} {
			equal(t, "listed as "+filter, t.listed(v, m.group, nil, []string{filter}) != nil, want)
		}
	})
}

func (t *T) deleteGroup(version int16, group string) int16 {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	g := one(t, "groups", ask[*kmsg.DeleteGroupsResponse](t, version, req).Groups)
	equal(t, "group", g.Group, group)
	return g.ErrorCode
}

func deleteGroups(t *T) {
	t.each(kmsg.DeleteGroups, 0, 2, func(v int16) {
		m := t.stable(t.Group())
		t.code("not empty", t.deleteGroup(v, m.group), kerr.NonEmptyGroup)
		t.ok("leave", m.leave())
		t.ok("empty", t.deleteGroup(v, m.group))
		t.code("gone", t.deleteGroup(v, m.group), kerr.GroupIDNotFound)
		equal(t, "state", t.state(m.group), "Dead")
	})
}

func deleteGroupOffsets(t *T) {
	group, topic := t.Group(), t.Topic(1)
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{offset: 5})
	t.ok("delete", t.deleteGroup(t.newest(kmsg.DeleteGroups, 1), group))
	equal(t, "offset", t.committed(t.newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, -1)
}

// offsetDelete deletes a group's offset and returns the code of the answer and that of
// the partition.
func (t *T) offsetDelete(group, topic string, partition int32) (top, part int16) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetDeleteRequestTopicPartition()
	rp.Partition = partition
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := ask[*kmsg.OffsetDeleteResponse](t, 0, req)
	if resp.ErrorCode != 0 {
		return resp.ErrorCode, 0
	}
	return 0, one(t, "partitions", one(t, "topics", resp.Topics).Partitions).ErrorCode
}

// consumer makes a member that consumes topics, as consumers say it.
func (t *T) consumer(group string, topics ...string) *member {
	m := t.member(group)
	m.kind = "consumer"
	m.metadata = func(string) []byte {
		s := kmsg.NewConsumerMemberMetadata()
		s.Topics = topics
		return s.AppendTo(nil)
	}
	return m.settle()
}

func offsetDelete(t *T) {
	group, a, b := t.Group(), t.Topic(1), t.Topic(1)
	m := t.consumer(group, a)
	version := t.newest(kmsg.OffsetCommit, 8)
	t.ok("commit", m.commitAs(version, a, 1))
	t.ok("commit", m.commitAs(version, b, 2))
	top, part := t.offsetDelete(group, a, 0)
	t.ok("delete", top)
	t.code("subscribed", part, kerr.GroupSubscribedToTopic)
	top, part = t.offsetDelete(group, b, 0)
	t.ok("delete", top)
	t.ok("not subscribed", part)
	fetch := t.newest(kmsg.OffsetFetch, 7)
	equal(t, "offset of the first", t.committed(fetch, group, a, 0).Offset, 1)
	equal(t, "offset of the second", t.committed(fetch, group, b, 0).Offset, -1)
	t.ok("leave", m.leave())
	top, part = t.offsetDelete(group, a, 0)
	t.ok("delete of an empty group", top)
	t.ok("delete of an empty group", part)
}

func offsetDeleteErrors(t *T) {
	topic := t.Topic(1)
	top, _ := t.offsetDelete(t.Group(), topic, 0)
	t.code("unknown group", top, kerr.GroupIDNotFound)
	m := t.stable(t.Group())
	top, _ = t.offsetDelete(m.group, topic, 0)
	t.code("not a consumer's, with members", top, kerr.NonEmptyGroup)
	group := t.Group()
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{offset: 5})
	_, part := t.offsetDelete(group, t.name("missing"), 0)
	t.code("unknown topic", part, kerr.UnknownTopicOrPartition)
	_, part = t.offsetDelete(group, topic, 5)
	t.code("unknown partition", part, kerr.UnknownTopicOrPartition)
}

func offsetDeletePartly(t *T) {
	group, topic, missing := t.Group(), t.Topic(2), t.name("missing")
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{0, 5, nil}, committing{1, 6, nil})
	asking := func(group string, topics ...string) *kmsg.OffsetDeleteRequest {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		for _, name := range topics {
			req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: name})
		}
		return req
	}
	name := func(rt *kmsg.OffsetDeleteRequestTopic, partitions ...int32) {
		for _, p := range partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
		}
	}
	t.each(kmsg.OffsetDelete, 0, 0, func(v int16) {
		req := asking(group, topic, missing)
		name(&req.Topics[0], 0, 9)
		name(&req.Topics[1], 0)
		resp := ask[*kmsg.OffsetDeleteResponse](t, v, req)
		t.ok("delete", resp.ErrorCode)
		codes := map[string]int16{}
		for _, rt := range resp.Topics {
			for _, p := range rt.Partitions {
				codes[fmt.Sprint(rt.Topic, "/", p.Partition)] = p.ErrorCode
			}
		}
		equal(t, "topics", len(resp.Topics), 2)
		equal(t, "partitions", len(codes), 3)
		t.ok("the partition that is there", codes[topic+"/0"])
		t.code("the partition that is not", codes[topic+"/9"], kerr.UnknownTopicOrPartition)
		t.code("the topic that is not", codes[missing+"/0"], kerr.UnknownTopicOrPartition)
		fetch := t.newest(kmsg.OffsetFetch, 7)
		equal(t, "the deleted offset", t.committed(fetch, group, topic, 0).Offset, -1)
		equal(t, "the other offset", t.committed(fetch, group, topic, 1).Offset, 6)

		req = asking(t.Group(), missing)
		name(&req.Topics[0], 0)
		resp = ask[*kmsg.OffsetDeleteResponse](t, v, req)
		t.code("no such group, no such topic", resp.ErrorCode, kerr.GroupIDNotFound)
		equal(t, "topics", len(resp.Topics), 0)
	})
}

func offsetsOfDeletedTopic(t *T) {
	group, topic := t.Group(), t.Topic(1)
	t.commit(t.newest(kmsg.OffsetCommit, 8), group, topic, committing{offset: 5})
	t.ok("delete the topic", t.delete(topic))
	fetch := t.newest(kmsg.OffsetFetch, 7)
	t.until("the offset to go", func() bool { return t.committed(fetch, group, topic, 0).Offset == -1 })
}
