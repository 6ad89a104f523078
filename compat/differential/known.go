package differential

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Known is a difference that is meant, or that is Kafka's mistake.
type Known struct {
	// Name is short, for a table.
	Name string
	// Reference is a row of docs/deviations.md, by what it begins with, or what is known
	// of Kafka.
	Reference string

	is   func(d *Difference) bool
	ends bool // The two worlds are not alike after it.
}

// deviations begins a Reference to a row of that page.
const deviations = "docs/deviations.md: "

// waiters is the row of what becomes of who waits in a classic group.
const waiters = deviations + "who waits in a classic group: a JoinGroup or SyncGroup that the same member's next one overtakes; a SyncGroup whose member leaves meanwhile; a JoinGroup or SyncGroup while another's attempt to make it a consumer group fails"

// fallsOver is the row of what ends in an exception in Kafka.
const fallsOver = "what Kafka falls over: a Metadata request (version 12 and later) for a topic with neither name nor id; a resource named twice in AlterConfigs; a compressed batch whose offset deltas are not 0, 1, 2 and so on, whose bytes are not compressed as it says, or whose codec does not exist; a transactional batch that is shorter than its header; a fetch session whose reader has diverged and that goes on in a version below 12"

// known are the differences that are explained.
var known = []Known{
	{
		Name:      "min.insync.replicas is a setting of the whole cluster",
		Reference: "KIP-966: a cluster that is formatted with eligible.leader.replicas has it so",
		is: func(d *Difference) bool {
			return d.near[1].field("Name") == `"min.insync.replicas"` && d.near[1].field("Value") == d.near[0].field("Value")
		},
	},
	{
		Name:      "a batch with a producer id and a negative epoch, where it must be written anew",
		Reference: "MemoryRecordsBuilder throws IllegalArgumentException, which is no code of the protocol",
		is: func(d *Difference) bool {
			return d.API == kmsg.Produce && d.There == "UNKNOWN_SERVER_ERROR" && slices.ContainsFunc(sentBatches(d.sent), func(b kmsg.RecordBatch) bool {
				return b.ProducerID >= 0 && b.ProducerEpoch < 0
			})
		},
		ends: true,
	},
	{
		Name:      "a member's wish for another assignor begins an epoch",
		Reference: deviations + "what Kafka does after 4.2 in consumer groups: a member's wish that makes another server-side assignor that of the group, and partitions that a member is still to give up",
		is: func(d *Difference) bool {
			here, _ := strconv.Atoi(d.Here)
			there, _ := strconv.Atoi(d.There)
			return (d.API == kmsg.ConsumerGroupHeartbeat || d.API == kmsg.ConsumerGroupDescribe) && strings.HasSuffix(d.Path, "Epoch") &&
				here > there && here-there <= len(wishes(d))
		},
		ends: true,
	},
	{
		Name:      "a member that was told its id and then joins as a static one",
		Reference: "Kafka throws IllegalStateException: a static member is not expected to be pending",
		is: func(d *Difference) bool {
			req, ok := d.sent.(*kmsg.JoinGroupRequest)
			resp, answered := d.answers[1].(*kmsg.JoinGroupResponse)
			return ok && answered && resp.ErrorCode == -1 && req.InstanceID != nil && req.MemberID != ""
		},
	},
	{
		Name:      "the order in which the uniform assignor gives out members and partitions",
		Reference: deviations + "the order in which members and partitions are given out by the `uniform` assignor",
		is: func(d *Difference) bool {
			count := handedOut
			if strings.Contains(d.Path, ".TargetAssignment") { // What members have may differ for another reason.
				count = toHandOut
			}
			here, there := count(d.answers[0]), count(d.answers[1])
			// Where there are fewer partitions than members some have none.
			given := here > 0 && there > 0 || here+there > 0 && d.API == kmsg.ConsumerGroupHeartbeat && len(d.joined()) > 1
			// A classic member hears of it in the answer to SyncGroup, if its group is no classic one.
			assigned := d.API != kmsg.SyncGroup || d.assigns()
			return strings.Contains(d.Path, "Assignment") && given && assigned && here-there <= 1 && there-here <= 1
		},
		ends: true,
	},
	{
		Name:      "a JoinGroup or SyncGroup that the same member's next one overtakes is never answered by Kafka",
		Reference: waiters, // ClassicGroupMember has one place for who waits, and what was in it is dropped.
		is: func(d *Difference) bool {
			return blocks(d.API) && d.There == "no answer yet" && strings.Contains(d.Here, "ErrorCode:REBALANCE_IN_PROGRESS")
		},
	},
	{
		Name:      "a SyncGroup that the leave of its member overtakes is never answered by Kafka",
		Reference: waiters, // GroupMetadataManager.removeMemberAndUpdateClassicGroup answers who waits to join alone.
		is: func(d *Difference) bool {
			return d.API == kmsg.SyncGroup && d.There == "no answer yet" && strings.Contains(d.Here, "ErrorCode:UNKNOWN_MEMBER_ID") && hasLeft(d)
		},
	},
	{
		Name:      "a failed attempt to make a classic group a consumer group answers who waits in it",
		Reference: waiters, // GroupMetadataManager.convertToConsumerGroup does so before it knows.
		is: func(d *Difference) bool {
			return blocks(d.API) && d.Here == "no answer yet" && strings.Contains(d.There, "ErrorCode:REBALANCE_IN_PROGRESS") &&
				slices.ContainsFunc(d.sameGroup(), func(i int) bool {
					l := d.Lines[i]
					return i > d.line && strings.HasPrefix(l.Request, "ConsumerGroupHeartbeat") && strings.Contains(l.Answer, "ErrorCode:GROUP_ID_NOT_FOUND")
				})
		},
		ends: true, // Who was answered has to join again, who waits has not.
	},
	{
		Name:      "a JoinGroup that names a protocol twice",
		Reference: "ClassicGroup.supportedProtocols counts the protocol twice, so that it is none that all members have: UNKNOWN_SERVER_ERROR or no answer, and INCONSISTENT_GROUP_PROTOCOL to who joins after it",
		is: func(d *Difference) bool {
			return slices.ContainsFunc(d.sameGroup(), func(i int) bool {
				l, failed := d.Lines[i], !d.Lines[i].Answered
				if i == d.line {
					failed = d.There == "no answer yet" || d.There == "UNKNOWN_SERVER_ERROR"
				}
				refused := d.API == kmsg.JoinGroup && d.There == "INCONSISTENT_GROUP_PROTOCOL" && !strings.Contains(l.Answer, "ErrorCode:")
				return (failed || refused) && strings.HasPrefix(l.Request, "JoinGroup") && strings.Count(l.Request, `Name:"range"`) == 2
			})
		},
		ends: true,
	},
	{
		Name:      "the size of what the broker has compressed",
		Reference: "each gzip, lz4 or zstd has its own choice of the same bytes; what they hold is compared where it is fetched",
		is: func(d *Difference) bool {
			return d.API == kmsg.DescribeLogDirs && strings.HasSuffix(d.Path, ".Size") &&
				slices.ContainsFunc(d.Lines, func(l Line) bool { return compressesItself.MatchString(l.Request) })
		},
	},
	{
		Name:      "a member that joins again and takes on an instance id is given nothing",
		Reference: deviations + "a member of a consumer group that joins again with an instance id, after it had none, and one that takes the place of a static member and keeps its own id",
		is: func(d *Difference) bool {
			req, ok := d.sent.(*kmsg.ConsumerGroupHeartbeatRequest)
			return ok && req.MemberEpoch == 0 && req.InstanceID != nil && strings.Contains(d.Path, "Assignment") &&
				handedOut(d.answers[0]) > 0 && handedOut(d.answers[1]) == 0 && wasDynamic(d)
		},
		ends: true,
	},
	{
		Name:      "what a member is still to give up is described as its own",
		Reference: deviations + "what Kafka does after 4.2 in consumer groups: a member's wish that makes another server-side assignor that of the group, and partitions that a member is still to give up",
		is: func(d *Difference) bool {
			return d.API == kmsg.ConsumerGroupDescribe && strings.Contains(d.Path, ".Assignment.TopicPartitions") &&
				handedOut(d.answers[0]) > handedOut(d.answers[1])
		},
	},
	{
		Name:      "a fetch session that goes on in a version that cannot say that its reader has diverged",
		Reference: deviations + fallsOver, // The diverging epoch of FetchResponse.json is not ignorable.
		is: func(d *Difference) bool {
			req, ok := d.sent.(*kmsg.FetchRequest)
			resp, answered := d.answers[1].(*kmsg.FetchResponse)
			return ok && answered && resp.ErrorCode == kerr.UnsupportedVersion.Code && req.Version < 12 && req.SessionEpoch > 0 && slices.ContainsFunc(d.Lines[:d.line], func(l Line) bool {
				return divergedFetch.MatchString(l.Request)
			})
		},
	},
	{
		Name:      "a last stable offset below the start of the log",
		Reference: deviations + "the last stable offset where DeleteRecords has cut into a batch and a transaction is open from before it",
		is: func(d *Difference) bool {
			if d.API != kmsg.Fetch || !strings.HasSuffix(d.Path, ".LastStableOffset") {
				return false
			}
			here, _ := strconv.ParseInt(d.near[0].field("LastStableOffset"), 10, 64)
			there, err := strconv.ParseInt(d.near[1].field("LastStableOffset"), 10, 64)
			return err == nil && there < here && d.near[0].field("LogStartOffset") == strconv.FormatInt(here, 10) &&
				d.near[1].field("LogStartOffset") == strconv.FormatInt(here, 10)
		},
	},
	{
		Name:      "DescribeTopicPartitions of a topic with an empty name",
		Reference: "Kafka throws IllegalArgumentException for a resource without a name, and all topics fail",
		is: func(d *Difference) bool {
			req, ok := d.sent.(*kmsg.DescribeTopicPartitionsRequest)
			resp, answered := d.answers[1].(*kmsg.DescribeTopicPartitionsResponse)
			return ok && answered &&
				slices.ContainsFunc(req.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == "" }) &&
				!slices.ContainsFunc(resp.Topics, func(t kmsg.DescribeTopicPartitionsResponseTopic) bool { return t.ErrorCode != -1 })
		},
	},
}

// compressesItself finds a request that has a topic's batches compressed by the broker.
var compressesItself = regexp.MustCompile(`Name:"compression\.type" (Op:\d+ )?Value:"(gzip|snappy|lz4|zstd)"`)

// divergedFetch finds a fetch of a session in a version that can say so.
var divergedFetch = regexp.MustCompile(`^Fetch v1[2-9] `)

// groupOf finds the group that a request is about.
var groupOf = regexp.MustCompile(`\bGroup:("[^"]*")`)

// sameGroup are the lines about a group that the one that differs names, or what is
// near the place.
func (d *Difference) sameGroup() (lines []int) {
	about := d.Lines[d.line].Request + d.near[0].String() + d.near[1].String()
	for i, l := range d.Lines {
		if m := groupOf.FindStringSubmatch(l.Request); m != nil && strings.Contains(about, m[1]) {
			lines = append(lines, i)
		}
	}
	return lines
}

// memberOf finds the member that a heartbeat was answered to.
var memberOf = regexp.MustCompile(`\bMemberID:("[^"]*"|\S+)`)

// joined are the members of the consumer group whose heartbeats were not refused, and
// of the classic group that it was before.
func (d *Difference) joined() map[string]bool {
	members := map[string]bool{}
	for _, i := range d.sameGroup() {
		l := d.Lines[i]
		m := memberOf.FindStringSubmatch(l.Answer)
		if i == d.line {
			m = memberOf.FindStringSubmatch(d.HereAnswer)
		}
		joins := strings.HasPrefix(l.Request, "ConsumerGroupHeartbeat") || strings.HasPrefix(l.Request, "JoinGroup")
		if m != nil && joins && !strings.Contains(l.Answer, "ErrorCode:") {
			members[m[1]] = true
		}
	}
	return members
}

// assigns says whether the group is one that the coordinator assigns: somebody has joined
// it by the consumer protocol.
func (d *Difference) assigns() bool {
	return slices.ContainsFunc(d.sameGroup(), func(i int) bool {
		l := d.Lines[i]
		return i < d.line && strings.HasPrefix(l.Request, "ConsumerGroupHeartbeat") && strings.Contains(l.Answer, "MemberEpoch:") && !strings.Contains(l.Answer, "ErrorCode:")
	})
}

// hasLeft says whether the member that waits has left since.
func hasLeft(d *Difference) bool {
	who := memberOf.FindStringSubmatch(d.Lines[d.line].Request)
	return who != nil && slices.ContainsFunc(d.sameGroup(), func(i int) bool {
		l := d.Lines[i]
		leaves := func(m []string) bool { return strings.TrimRight(m[1], "}]") == who[1] }
		return i > d.line && strings.HasPrefix(l.Request, "LeaveGroup") && !strings.Contains(l.Answer, "ErrorCode:") &&
			slices.ContainsFunc(memberOf.FindAllStringSubmatch(l.Request, -1), leaves)
	})
}

// wishes are the lines in which members of the group wished for an assignor, and were
// not refused.
func wishes(d *Difference) []int {
	return slices.DeleteFunc(d.sameGroup(), func(i int) bool {
		l := d.Lines[i]
		return !strings.HasPrefix(l.Request, "ConsumerGroupHeartbeat") || !strings.Contains(l.Request, "ServerAssignor:") || strings.Contains(l.Answer, "ErrorCode:")
	})
}

// wasDynamic says whether the member that the heartbeat is from was one of the group
// before, of either protocol, without an instance id.
func wasDynamic(d *Difference) bool {
	who := memberOf.FindStringSubmatch(d.Lines[d.line].Request)
	return who != nil && slices.ContainsFunc(d.sameGroup(), func(i int) bool {
		l := d.Lines[i]
		m := memberOf.FindStringSubmatch(l.Request)
		joins := strings.HasPrefix(l.Request, "ConsumerGroupHeartbeat") || strings.HasPrefix(l.Request, "JoinGroup")
		return i < d.line && joins && m != nil && m[1] == who[1] && !strings.Contains(l.Request, "InstanceID:")
	})
}

// handedOut counts the partitions that an answer says members have or shall have.
func handedOut(resp kmsg.Response) (n int) {
	switch r := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if r.Assignment != nil {
			for _, t := range r.Assignment.Topics {
				n += len(t.Partitions)
			}
		}
	case *kmsg.ConsumerGroupDescribeResponse:
		for _, g := range r.Groups {
			for _, m := range g.Members {
				for _, t := range slices.Concat(m.Assignment.TopicPartitions, m.TargetAssignment.TopicPartitions) {
					n += len(t.Partitions)
				}
			}
		}
	case *kmsg.SyncGroupResponse:
		var a kmsg.ConsumerMemberAssignment
		if a.ReadFrom(r.MemberAssignment) == nil {
			for _, t := range a.Topics {
				n += len(t.Partitions)
			}
		}
	}
	return n
}

// toHandOut counts the partitions that a description says members shall have.
func toHandOut(resp kmsg.Response) (n int) {
	if r, ok := resp.(*kmsg.ConsumerGroupDescribeResponse); ok {
		for _, g := range r.Groups {
			for _, m := range g.Members {
				for _, t := range m.TargetAssignment.TopicPartitions {
					n += len(t.Partitions)
				}
			}
		}
	}
	return n
}

// sentBatches are the headers of the batches of a Produce.
func sentBatches(sent kmsg.Request) []kmsg.RecordBatch {
	req, ok := sent.(*kmsg.ProduceRequest)
	if !ok {
		return nil
	}
	var all []kmsg.RecordBatch
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			var b kmsg.RecordBatch
			if b.ReadFrom(p.Records) == nil {
				all = append(all, b)
			}
		}
	}
	return all
}

// explain finds what is known of a difference.
func explain(d *Difference) *Known {
	for i := range known {
		if known[i].is(d) {
			return &known[i]
		}
	}
	return nil
}
