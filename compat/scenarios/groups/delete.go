package groups

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// deleteScenarios are about groups that are deleted.
var deleteScenarios = []scenario.Scenario{
	{ID: "groups.delete", Says: "DeleteGroups deletes empty groups, and refuses others and unknown ones.", Refs: []string{"KIP-229"}, Run: deleteGroups},
	{ID: "groups.delete.offsets-gone", Says: "A deleted group's offsets are gone.", Run: deleteGroupOffsets},
	{ID: "groups.topic-deleted", Says: "Deleting a topic deletes the offsets committed for it.", Run: offsetsOfDeletedTopic},
	{ID: "groups.delete.whole-answer", Says: "DeleteGroups answers for each group once: those with members and those that are not there stay as they are.", Run: deleteGroupAnswers},
}

func deleteGroup(t *scenario.T, version int16, group string) int16 {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	g := scenario.One(t, "groups", scenario.Ask[*kmsg.DeleteGroupsResponse](t, version, req).Groups)
	scenario.Equal(t, "group", g.Group, group)
	return g.ErrorCode
}

func deleteGroups(t *scenario.T) {
	t.Each(kmsg.DeleteGroups, 0, 2, func(v int16) {
		m := t.Stable(t.Group())
		t.Code("not empty", deleteGroup(t, v, m.Group), kerr.NonEmptyGroup)
		t.OK("leave", m.Leave())
		t.OK("empty", deleteGroup(t, v, m.Group))
		t.Code("gone", deleteGroup(t, v, m.Group), kerr.GroupIDNotFound)
		scenario.Equal(t, "state", t.GroupState(m.Group), "Dead")
	})
}

func deleteGroupOffsets(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Offset: 5})
	t.OK("delete", deleteGroup(t, t.Newest(kmsg.DeleteGroups, 1), group))
	scenario.Equal(t, "offset", t.Committed(t.Newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, -1)
}

func offsetsOfDeletedTopic(t *scenario.T) {
	group, topic := t.Group(), t.Topic(1)
	t.Commit(t.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Offset: 5})
	t.OK("delete the topic", t.DeleteTopic(topic))
	fetch := t.Newest(kmsg.OffsetFetch, 7)
	t.Until("the offset to go", func() bool { return t.Committed(fetch, group, topic, 0).Offset == -1 })
}

func deleteGroupAnswers(t *scenario.T) {
	m, missing, topic := t.Stable(t.Group()), t.Name("missing"), t.Topic(1)
	t.Each(kmsg.DeleteGroups, 0, 2, func(v int16) {
		empty := t.Group()
		t.Commit(t.Newest(kmsg.OffsetCommit, 8), empty, topic, scenario.Committing{Offset: 1})
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{m.Group, missing, empty, empty, missing}
		want := kmsg.NewPtrDeleteGroupsResponse()
		for group, code := range map[string]int16{m.Group: kerr.NonEmptyGroup.Code, missing: kerr.GroupIDNotFound.Code, empty: 0} {
			want.Groups = append(want.Groups, kmsg.DeleteGroupsResponseGroup{Group: group, ErrorCode: code})
		}
		got := scenario.Ask[*kmsg.DeleteGroupsResponse](t, v, req)
		for _, r := range []*kmsg.DeleteGroupsResponse{got, want} {
			slices.SortFunc(r.Groups, func(a, b kmsg.DeleteGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
		}
		scenario.Whole(t, "DeleteGroups", got, want)
		scenario.Equal(t, "state of the group with a member", t.GroupState(m.Group), "Stable")
	})
}
