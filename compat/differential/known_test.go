package differential

import (
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestKnownDeviationsHaveARow: what is explained by docs/deviations.md stands there.
func TestKnownDeviationsHaveARow(t *testing.T) {
	page, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, k := range known {
		row, ok := strings.CutPrefix(k.Reference, deviations)
		if !ok {
			if strings.Contains(k.Reference, "Kafka after 4.2") || strings.Contains(k.Reference, "deviations.md") {
				t.Errorf("%s: %q names no row of docs/deviations.md", k.Name, k.Reference)
			}
			continue
		}
		rows++
		if !strings.Contains(string(page), "\n| "+row+" | ") {
			t.Errorf("%s: docs/deviations.md has no row that begins with %q", k.Name, row)
		}
	}
	if rows == 0 {
		t.Error("no known difference names a row")
	}
}

// TestKnownIsNarrow: what ends a world explains the differences of its own group alone.
func TestKnownIsNarrow(t *testing.T) {
	const (
		wish  = "a member's wish for another assignor begins an epoch"
		twice = "a JoinGroup that names a protocol twice"
		size  = "the size of what the broker has compressed"
		over  = "a JoinGroup or SyncGroup that the same member's next one overtakes is never answered by Kafka"

		wished   = `ConsumerGroupHeartbeat v1 {Group:"c0" MemberID:"m0" ServerAssignor:"range"}`
		beat     = `ConsumerGroupHeartbeat v1 {Group:"c0" MemberID:"m1"}`
		beatC1   = `ConsumerGroupHeartbeat v1 {Group:"c1" MemberID:"m1"}`
		doubled  = `JoinGroup v9 {Group:"g0" Protocols:[{Name:"range"} {Name:"range"}]}`
		leave    = `LeaveGroup v5 {Group:"g0"}`
		leaveG1  = `LeaveGroup v5 {Group:"g1"}`
		describe = `ConsumerGroupDescribe v1 {Groups:["c0" "c1"]}`
		unknown  = "UNKNOWN_SERVER_ERROR"
		noAnswer = "no answer yet"

		squeezed = `CreateTopics v3 {Topics:[{Topic:"t1" Configs:[{Name:"compression.type" Value:"gzip"}]}]}`
		kept     = `CreateTopics v3 {Topics:[{Topic:"t1" Configs:[{Name:"compression.type" Value:"producer"}]}]}`
		dirs     = `DescribeLogDirs v4 {Topics:[{Topic:"t1" Partitions:[0]}]}`

		join         = `JoinGroup v9 {Group:"g0" Protocols:[{Name:"range"}]}`
		inconsistent = "INCONSISTENT_GROUP_PROTOCOL"
	)
	answered := func(request, answer string) Line { return Line{Request: request, Answer: answer, Answered: true} }
	for name, c := range map[string]struct {
		api               kmsg.Key
		path, here, there string
		lines             []Line // The last one differs.
		want              string
	}{
		"an epoch after a wish":         {kmsg.ConsumerGroupHeartbeat, ".MemberEpoch", "3", "2", []Line{answered(wished, "{}"), answered(beat, "{}")}, wish},
		"the wish itself":               {kmsg.ConsumerGroupHeartbeat, ".MemberEpoch", "3", "2", []Line{answered(wished, "{}")}, wish},
		"a wish, described":             {kmsg.ConsumerGroupDescribe, ".Groups[].Epoch", "3", "2", []Line{answered(wished, "{}"), answered(describe, "{}")}, wish},
		"two epochs of one wish":        {kmsg.ConsumerGroupHeartbeat, ".MemberEpoch", "4", "2", []Line{answered(wished, "{}"), answered(beat, "{}")}, ""},
		"an epoch of another group":     {kmsg.ConsumerGroupHeartbeat, ".MemberEpoch", "3", "2", []Line{answered(wished, "{}"), answered(beatC1, "{}")}, ""},
		"a wish that was refused":       {kmsg.ConsumerGroupHeartbeat, ".MemberEpoch", "3", "2", []Line{answered(wished, "{ErrorCode:UNSUPPORTED_ASSIGNOR}"), answered(beat, "{}")}, ""},
		"a producer's epoch":            {kmsg.EndTxn, ".ProducerEpoch", "3", "2", []Line{answered(wished, "{}"), answered(`EndTxn v5 {TransactionalID:"c0"}`, "{}")}, ""},
		"sizes, compressed here":        {kmsg.DescribeLogDirs, ".Dirs[].Topics[].Partitions[].Size", "102", "101", []Line{answered(squeezed, "{}"), answered(dirs, "{}")}, size},
		"sizes, as they came":           {kmsg.DescribeLogDirs, ".Dirs[].Topics[].Partitions[].Size", "102", "101", []Line{answered(kept, "{}"), answered(dirs, "{}")}, ""},
		"an unanswered join":            {kmsg.JoinGroup, "", "{}", noAnswer, []Line{answered(doubled, noAnswer)}, twice},
		"a failed join":                 {kmsg.JoinGroup, ".ErrorCode", "0", unknown, []Line{answered(doubled, "{ErrorCode:UNKNOWN_SERVER_ERROR}")}, twice},
		"what comes after it":           {kmsg.LeaveGroup, ".ErrorCode", "0", unknown, []Line{{Request: doubled}, answered(leave, "{}")}, twice},
		"a join after it":               {kmsg.JoinGroup, ".ErrorCode", "0", inconsistent, []Line{answered(doubled, "{}"), answered(join, "{ErrorCode:INCONSISTENT_GROUP_PROTOCOL}")}, twice},
		"a join after one refused":      {kmsg.JoinGroup, ".ErrorCode", "0", inconsistent, []Line{answered(doubled, "{ErrorCode:UNKNOWN_MEMBER_ID}"), answered(join, "{ErrorCode:INCONSISTENT_GROUP_PROTOCOL}")}, ""},
		"another group after it":        {kmsg.LeaveGroup, ".ErrorCode", "0", unknown, []Line{{Request: doubled}, answered(leaveG1, "{}")}, ""},
		"after a join that was refused": {kmsg.LeaveGroup, ".ErrorCode", "0", unknown, []Line{answered(doubled, "{ErrorCode:UNKNOWN_MEMBER_ID}"), answered(leave, "{}")}, ""},
		"a join refused otherwise":      {kmsg.JoinGroup, ".ErrorCode", "UNKNOWN_MEMBER_ID", "INVALID_GROUP_ID", []Line{answered(doubled, "{ErrorCode:INVALID_GROUP_ID}")}, ""},
		"a join that was overtaken":     {kmsg.JoinGroup, "", "{ErrorCode:REBALANCE_IN_PROGRESS}", noAnswer, []Line{answered(doubled, noAnswer)}, over},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if k := explain(&Difference{API: c.api, Path: c.path, Here: c.here, There: c.there, Lines: c.lines, line: len(c.lines) - 1}); k != nil {
				got = k.Name
			}
			if got != c.want {
				t.Errorf("explained by %q, want %q", got, c.want)
			}
		})
	}
}

// TestWhoIsGivenThePartition: of two members and one partition either may have it, of one
// member only he.
func TestWhoIsGivenThePartition(t *testing.T) {
	beat := func(member string) Line {
		return Line{Request: `ConsumerGroupHeartbeat v1 {Group:"c0"}`, Answer: "{MemberID:" + member + " MemberEpoch:1}", Answered: true}
	}
	given := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	given.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{Partitions: []int32{0}}}}
	two := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	two.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{Partitions: []int32{0, 1}}}}
	none := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	for name, c := range map[string]struct {
		before      []Line
		here, there kmsg.Response
		want        bool
	}{
		"two members":                    {[]Line{beat(`"m0"`)}, none, given, true},
		"two members, the other way":     {[]Line{beat(`"m0"`)}, given, none, true},
		"one member":                     {nil, none, given, false},
		"one member, who comes again":    {[]Line{beat("member-1")}, none, given, false},
		"a classic member and another":   {[]Line{{Request: `JoinGroup v9 {Group:"c0"}`, Answer: `{Generation:1 LeaderID:member-2 MemberID:member-2}`}}, none, given, true},
		"a classic member without an id": {[]Line{{Request: `JoinGroup v9 {Group:"c0"}`, Answer: `{ErrorCode:MEMBER_ID_REQUIRED Generation:-1 MemberID:member-2}`}}, none, given, false},
		"two members and two partitions": {[]Line{beat(`"m0"`)}, none, two, false},
		"a member who was refused":       {[]Line{{Request: beat("").Request, Answer: `{ErrorCode:FENCED_MEMBER_EPOCH MemberID:"m0"}`}}, none, given, false},
	} {
		d := &Difference{
			API: kmsg.ConsumerGroupHeartbeat, Path: ".Assignment.Topics", HereAnswer: "{MemberID:member-1 MemberEpoch:2}",
			Lines: append(c.before, beat("member-1")), line: len(c.before), answers: [2]kmsg.Response{c.here, c.there},
		}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestSyncOfWhoLeaves: only the leave of the member that waits explains that it is never
// answered.
func TestSyncOfWhoLeaves(t *testing.T) {
	leave := func(member, answer string) Line {
		return Line{Request: `LeaveGroup v5 {Group:"g0" Members:[{MemberID:"other"} {MemberID:` + member + `}]}`, Answer: answer, Answered: true}
	}
	for name, c := range map[string]struct {
		after Line
		want  bool
	}{
		"it leaves":                  {leave("member-2", "{Members:[{MemberID:member-2}]}"), true},
		"another leaves":             {leave("member-22", "{Members:[{MemberID:member-22}]}"), false},
		"its leave is refused":       {leave("member-2", "{Members:[{MemberID:member-2 ErrorCode:UNKNOWN_MEMBER_ID}]}"), false},
		"it leaves in another group": {Line{Request: `LeaveGroup v0 {Group:"g1" MemberID:member-2}`, Answer: "{}"}, false},
		"it does not leave":          {Line{Request: `Heartbeat v0 {Group:"g0" MemberID:member-2}`, Answer: "{}"}, false},
	} {
		d := &Difference{
			API: kmsg.SyncGroup, Here: `{ErrorCode:UNKNOWN_MEMBER_ID MemberAssignment:""}`, There: "no answer yet",
			Lines: []Line{{Request: `SyncGroup v5 {Group:"g0" Generation:2 MemberID:member-2 ProtocolType:"consumer"}`}, c.after},
		}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestWhoWaitsForAFailedUpgrade: only an attempt that failed while it waited explains that
// a classic member is answered by Kafka alone.
func TestWhoWaitsForAFailedUpgrade(t *testing.T) {
	beat := func(group, answer string) Line {
		return Line{Request: `ConsumerGroupHeartbeat v1 {Group:"` + group + `" MemberID:"m0"}`, Answer: answer, Answered: true}
	}
	waits := Line{Request: `JoinGroup v9 {Group:"g0" MemberID:member-1}`}
	for name, c := range map[string]struct {
		lines []Line
		at    int
		want  bool
	}{
		"it fails":               {[]Line{waits, beat("g0", "{ErrorCode:GROUP_ID_NOT_FOUND ErrorMessage:said}")}, 0, true},
		"it failed before":       {[]Line{beat("g0", "{ErrorCode:GROUP_ID_NOT_FOUND ErrorMessage:said}"), waits}, 1, false},
		"it succeeds":            {[]Line{waits, beat("g0", "{MemberEpoch:1}")}, 0, false},
		"it is of another group": {[]Line{waits, beat("g1", "{ErrorCode:GROUP_ID_NOT_FOUND ErrorMessage:said}")}, 0, false},
	} {
		d := &Difference{API: kmsg.JoinGroup, Here: "no answer yet", There: "{ErrorCode:REBALANCE_IN_PROGRESS Generation:-1}", Lines: c.lines, line: c.at}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestWhoTakesOnAnInstanceID: only a member that was one before, of either protocol and
// without an instance id, explains that Kafka gives it nothing.
func TestWhoTakesOnAnInstanceID(t *testing.T) {
	given := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	given.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{Partitions: []int32{0, 1, 2}}}}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.InstanceID = new("i")
	for name, c := range map[string]struct {
		before string
		want   bool
	}{
		"a consumer":                      {`ConsumerGroupHeartbeat v1 {Group:"c0" MemberID:member-1 RebalanceTimeoutMillis:60000}`, true},
		"a classic member":                {`JoinGroup v4 {Group:"c0" SessionTimeoutMillis:60000 MemberID:member-1 ProtocolType:"consumer"}`, true},
		"another member":                  {`JoinGroup v4 {Group:"c0" SessionTimeoutMillis:60000 MemberID:member-2 ProtocolType:"consumer"}`, false},
		"a member of another group":       {`JoinGroup v4 {Group:"c1" SessionTimeoutMillis:60000 MemberID:member-1 ProtocolType:"consumer"}`, false},
		"a member that was static so far": {`ConsumerGroupHeartbeat v1 {Group:"c0" MemberID:member-1 InstanceID:"i" RebalanceTimeoutMillis:60000}`, false},
	} {
		d := &Difference{
			API: kmsg.ConsumerGroupHeartbeat, Path: ".Assignment.Topics", sent: req, line: 1,
			Lines:   []Line{{Request: c.before, Answer: "{}"}, {Request: `ConsumerGroupHeartbeat v1 {Group:"c0" MemberID:member-1 InstanceID:"i"}`, Answer: "{}"}},
			answers: [2]kmsg.Response{given, kmsg.NewPtrConsumerGroupHeartbeatResponse()},
		}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestWhoIsSyncedWhat: a classic member of a group that the coordinator assigns may have
// one partition more or fewer, one of a classic group not.
func TestWhoIsSyncedWhat(t *testing.T) {
	synced := func(partitions ...int32) *kmsg.SyncGroupResponse {
		a := kmsg.NewConsumerMemberAssignment()
		a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: "t0", Partitions: partitions}}
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.MemberAssignment = a.AppendTo(nil)
		return resp
	}
	joins := Line{Request: `ConsumerGroupHeartbeat v1 {Group:"g1" MemberID:"m1"}`, Answer: `{MemberID:"m1" MemberEpoch:1}`}
	refused := Line{Request: joins.Request, Answer: "{ErrorCode:GROUP_ID_NOT_FOUND}"}
	classic := Line{Request: `JoinGroup v9 {Group:"g1"}`, Answer: "{Generation:1 MemberID:member-1}"}
	for name, c := range map[string]struct {
		before      Line
		here, there *kmsg.SyncGroupResponse
		want        bool
	}{
		"one more":              {joins, synced(0, 1), synced(1), true},
		"as many, but others":   {joins, synced(0), synced(1), true},
		"two more":              {joins, synced(0, 1, 2), synced(1), false},
		"none":                  {joins, synced(), synced(1), false},
		"of a classic group":    {classic, synced(0, 1), synced(1), false},
		"of one that stayed so": {refused, synced(0, 1), synced(1), false},
	} {
		d := &Difference{
			API: kmsg.SyncGroup, Path: "MemberAssignment.Topics[].Partitions", line: 1, answers: [2]kmsg.Response{c.here, c.there},
			Lines: []Line{c.before, {Request: `SyncGroup v5 {Group:"g1" Generation:4 MemberID:member-2}`}},
		}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestStableBelowTheStart: only a last stable offset that is below the start of the log in
// Kafka, and at it here, is explained.
func TestStableBelowTheStart(t *testing.T) {
	fetched := func(stable, start int64) node {
		p := kmsg.NewFetchResponseTopicPartition()
		p.LastStableOffset, p.LogStartOffset = stable, start
		return *newView("w.", 0).normalise(&p)
	}
	for name, c := range map[string]struct {
		here, there node
		want        bool
	}{
		"below the start":       {fetched(3, 3), fetched(2, 3), true},
		"above it":              {fetched(4, 3), fetched(3, 3), false},
		"another start":         {fetched(3, 3), fetched(2, 2), false},
		"ours is not the start": {fetched(4, 3), fetched(2, 3), false},
		"ours is the lower":     {fetched(2, 2), fetched(3, 2), false},
	} {
		d := &Difference{API: kmsg.Fetch, Path: ".Topics[].Partitions[].LastStableOffset", near: [2]node{c.here, c.there}, Lines: []Line{{Request: "Fetch v10 {}"}}}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestTargetsAreCountedAlone: where one broker tells what a member is still to give up and
// the other does not, who shall have which partition is explained all the same.
func TestTargetsAreCountedAlone(t *testing.T) {
	described := func(has int, target ...int32) kmsg.Response {
		m := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		m.Assignment.TopicPartitions = []kmsg.AssignmentTopicPartition{{Partitions: make([]int32, has)}}
		m.TargetAssignment.TopicPartitions = []kmsg.AssignmentTopicPartition{{Partitions: target}}
		g := kmsg.NewConsumerGroupDescribeResponseGroup()
		g.Members = append(g.Members, m)
		resp := kmsg.NewPtrConsumerGroupDescribeResponse()
		resp.Groups = append(resp.Groups, g)
		return resp
	}
	for name, c := range map[string]struct {
		path        string
		here, there kmsg.Response
		want        bool
	}{
		"another target":         {".TargetAssignment.TopicPartitions", described(3, 0), described(0, 1), true},
		"a target of three more": {".TargetAssignment.TopicPartitions", described(0, 0, 1, 2, 3), described(0, 0), false},
		"three more, and had":    {".Assignment.TopicPartitions", described(3, 0), described(6, 1), false},
	} {
		d := &Difference{API: kmsg.ConsumerGroupDescribe, Path: "Groups[].Members[]" + c.path, Lines: []Line{{}}, answers: [2]kmsg.Response{c.here, c.there}}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}

// TestSessionsThatGoBack: only a session that was fetched in by a newer version explains
// that Kafka does not answer an older one.
func TestSessionsThatGoBack(t *testing.T) {
	for name, c := range map[string]struct {
		before  string
		version int16
		epoch   int32
		want    bool
	}{
		"from 12 to 8":      {"Fetch v12 {}", 8, 1, true},
		"from 11 to 8":      {"Fetch v11 {}", 8, 1, false},
		"from 12 to 12":     {"Fetch v12 {}", 12, 1, false},
		"without a session": {"Fetch v12 {}", 8, -1, false},
	} {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.SessionEpoch = c.version, c.epoch
		d := &Difference{API: kmsg.Fetch, sent: req, answers: [2]kmsg.Response{nil, &kmsg.FetchResponse{ErrorCode: 35}}, line: 1, Lines: []Line{{Request: c.before}, {Request: "Fetch"}}}
		if k := explain(d); (k != nil) != c.want {
			t.Errorf("%s: explained by %v", name, k)
		}
	}
}
