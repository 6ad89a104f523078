package api

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/controller"
)

// silentGroups is a coordinator of groups that answers nothing.
type silentGroups struct {
	groupsOf
	err error
}

func (g silentGroups) Ask(context.Context, string, any) (any, error)         { return nil, g.err }
func (g silentGroups) AskAll(context.Context, func() any) ([]any, error)     { return nil, g.err }
func (g silentGroups) Coordinator(context.Context, string) (int32, error)    { return 0, g.err }
func (g silentGroups) Mark(context.Context, int32, coordinator.Marker) error { return g.err }

// silentTxns is one of transactions.
type silentTxns struct{ err error }

func (x silentTxns) Ask(context.Context, string, any) (any, error)      { return nil, x.err }
func (x silentTxns) AskAll(context.Context, func() any) ([]any, error)  { return nil, x.err }
func (x silentTxns) Coordinator(context.Context, string) (int32, error) { return 0, x.err }

// unanswered are the answers to requests of rightsTable when no coordinator answers;
// CODE stands for the reason. What needs no coordinator is answered all the same.
var unanswered = map[string]string{
	"FindCoordinator": `{Coordinators:[{Key:"g" NodeID:-1 Port:-1 COORDINATOR_NOT_AVAILABLE ErrorMessage:""} {Key:"h" NodeID:-1 Port:-1 COORDINATOR_NOT_AVAILABLE ErrorMessage:""}]}`,
	"FindCoordinator of transactions version 1": `{COORDINATOR_NOT_AVAILABLE ErrorMessage:"The coordinator is not available." NodeID:-1 Port:-1}`,
	"InitProducerId of a transactional id":      `{CODE ProducerEpoch:-1}`,
	"AddPartitionsToTxn":                        `{Topics:[{Topic:"t" Partitions:[{CODE}]} {Topic:"u" Partitions:[{CODE}]}]}`,
	"AddPartitionsToTxn by a broker":            `{Transactions:[{TransactionalID:"id" Topics:[{Topic:"t" Partitions:[{CODE}]} {Topic:"__consumer_offsets" Partitions:[{CODE}]}]}]}`,
	"AddOffsetsToTxn":                           `{CODE}`,
	"EndTxn":                                    `{CODE}`,
	"TxnOffsetCommit":                           `{Topics:[{Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {CODE}]} {Topic:"u" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {CODE}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`,
	"DescribeTransactions":                      `{TransactionStates:[{CODE TransactionalID:"b"} {CODE TransactionalID:"a"}]}`,
	"ListTransactions":                          `{CODE}`,
	"WriteTxnMarkers by a broker":               `{Markers:[{ProducerID:7 Topics:[{Topic:"t" Partitions:[{} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{NOT_LEADER_FOR_PARTITION}]}]} {ProducerID:8 Topics:[{Topic:"u" Partitions:[{}]}]}]}`,
	"JoinGroup":                                 `{CODE MemberID:"mine"}`,
	"JoinGroup version 6":                       `{CODE Protocol:"" MemberID:"mine"}`,
	"SyncGroup":                                 `{CODE MemberAssignment:0 bytes}`,
	"Heartbeat":                                 `{CODE}`,
	"LeaveGroup":                                `{CODE}`,
	"ListGroups":                                `{CODE}`,
	"DescribeGroups":                            `{Groups:[{CODE Group:"h"} {CODE Group:"g"}]}`,
	"DeleteGroups":                              `{Groups:[{Group:"h" CODE} {Group:"g" CODE}]}`,
	"ConsumerGroupHeartbeat":                    `{CODE}`,
	"ConsumerGroupDescribe":                     `{Groups:[{CODE Group:"h"} {CODE Group:"g"}]}`,
	"OffsetCommit":                              `{Topics:[{Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {CODE}]} {Topic:"u" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {CODE}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`,
	"OffsetCommit by id":                        `{Topics:[{TopicID:id1 Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {CODE}]} {TopicID:id2 Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {CODE}]} {TopicID:id77 Partitions:[{UNKNOWN_TOPIC_ID} {Partition:1 UNKNOWN_TOPIC_ID}]}]}`,
	"OffsetFetch":                               `{Groups:[{Group:"g" CODE} {Group:"h" CODE}]}`,
	"OffsetFetch version 1":                     `{Topics:[{Topic:"t" Partitions:[{Offset:-1 Metadata:"" CODE} {Partition:1 Offset:-1 Metadata:"" CODE}]} {Topic:"u" Partitions:[{Offset:-1 Metadata:"" CODE}]}]}`,
	"OffsetDelete":                              `{CODE}`,
}

func rowNamed(t *testing.T, name string) rightsRow {
	t.Helper()
	for _, row := range rightsTable {
		if row.name == name {
			return row
		}
	}
	t.Fatalf("no row %q", name)
	return rightsRow{}
}

// TestNoCoordinator: what is answered where a coordinator loads, is another broker's, or
// is not to be had.
func TestNoCoordinator(t *testing.T) {
	for err, code := range map[error]string{
		coordinator.ErrLoading:        "COORDINATOR_LOAD_IN_PROGRESS",
		coordinator.ErrNotCoordinator: "NOT_COORDINATOR",
		coordinator.ErrUnavailable:    "COORDINATOR_NOT_AVAILABLE",
	} {
		for name, want := range unanswered {
			t.Run(name, func(t *testing.T) {
				env := rightsNode(t)
				env.Groups, env.Transactions = silentGroups{err: err}, silentTxns{err}
				want := strings.ReplaceAll(want, "CODE", code)
				if name == "Heartbeat" && errors.Is(err, coordinator.ErrLoading) {
					want = "{}" // The member has a whole session left when the group is there.
				}
				if diff := cmp.Diff(want, shownAll(ask(t, env, rowNamed(t, name).req()))); diff != "" {
					t.Errorf("when %v: %s", err, diff)
				}
			})
		}
	}
}

// TestClientIsGone: nothing is answered to a client that has left while a coordinator or
// the controller was asked.
func TestClientIsGone(t *testing.T) {
	names := []string{
		"InitProducerId of a transactional id", "AddPartitionsToTxn", "AddPartitionsToTxn by a broker", "AddOffsetsToTxn",
		"EndTxn", "TxnOffsetCommit", "DescribeTransactions", "ListTransactions", "WriteTxnMarkers by a broker", "JoinGroup", "SyncGroup",
		"Heartbeat", "LeaveGroup", "ListGroups", "DescribeGroups", "DeleteGroups", "ConsumerGroupHeartbeat", "ConsumerGroupDescribe",
		"OffsetCommit", "OffsetFetch", "OffsetFetch version 1", "OffsetDelete", "InitProducerId", "Produce in a transaction",
	}
	for name := range uncontrolled {
		names = append(names, name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			env := rightsNode(t)
			env.Groups, env.Transactions = silentGroups{err: context.Canceled}, silentTxns{context.Canceled}
			env.Control = func(context.Context, controller.Request) (kmsg.Response, error) { return nil, context.Canceled }
			env.ProducerID = func(context.Context) (int64, error) { return 0, context.Canceled }
			cancel()
			if _, err := env.Serve(ctx, callOf(rowNamed(t, name).req())); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// uncontrolled are the answers to requests of rightsTable when the controller does not
// answer; CODE stands for the reason, and TEXT for its text.
var uncontrolled = map[string]string{
	"UpdateFeatures":                 `{CODE}`,
	"ElectLeaders":                   `{CODE Topics:[{Topic:"t" Partitions:[{Partition:1 CODE ErrorMessage:"TEXT"} {Partition:5 CODE ErrorMessage:"TEXT"}]} {Topic:"u" Partitions:[{Partition:6 CODE ErrorMessage:"TEXT"}]}]}`,
	"AlterPartitionReassignments":    `{CODE ErrorMessage:"TEXT" Topics:[{Topic:"t" Partitions:[{Partition:1 CODE ErrorMessage:"TEXT"}]}]}`,
	"ListPartitionReassignments":     `{CODE ErrorMessage:"TEXT" Topics:[{Topic:"t" Partitions:[{Partition:1}]}]}`,
	"CreateTopics":                   `{Topics:[{Topic:"a" CODE ErrorMessage:"TEXT" Configs:[]} {Topic:"twice" CODE ErrorMessage:"TEXT" Configs:[]} {Topic:"__cluster_metadata" CODE ErrorMessage:"TEXT" Configs:[]} {Topic:"twice" CODE ErrorMessage:"TEXT" Configs:[]} {Topic:"b" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Authorization failed." Configs:[]}]}`,
	"DeleteTopics by name":           `{Topics:[{Topic:"t" CODE} {Topic:"twice" CODE} {Topic:"none" CODE} {Topic:"twice" CODE}]}`,
	"DeleteTopics by name and by id": `{Topics:[{TopicID:id2 TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"t" CODE} {CODE} {Topic:"u" TopicID:id2 CODE}]}`,
	"CreatePartitions":               `{Topics:[{Topic:"u" TOPIC_AUTHORIZATION_FAILED} {Topic:"twice" CODE ErrorMessage:"TEXT"} {Topic:"t" CODE ErrorMessage:"TEXT"} {Topic:"twice" CODE ErrorMessage:"TEXT"}]}`,
	"AlterConfigs":                   `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {CODE ResourceType:GROUP_CONFIG ResourceName:"g"} {CODE ResourceType:TOPIC ResourceName:"t"} {CODE ResourceType:BROKER ResourceName:"1"} {CODE ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 8" ResourceType:BROKER_LOGGER ResourceName:"1"} {CODE ResourceType:BROKER}]}`,
	"IncrementalAlterConfigs":        `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {CODE ResourceType:GROUP_CONFIG ResourceName:"g"} {CODE ResourceType:TOPIC ResourceName:"t"} {CODE ResourceType:BROKER ResourceName:"1"} {CODE ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"This broker's loggers have no levels of their own." ResourceType:BROKER_LOGGER ResourceName:"1"} {CODE ResourceType:BROKER}]}`,
}

// TestNoController: admin requests are refused by codes after which clients try again.
func TestNoController(t *testing.T) {
	timedOut, moved := [2]string{"REQUEST_TIMED_OUT", "The request timed out."}, [2]string{"NOT_CONTROLLER", "This is not the correct controller for this cluster."}
	for err, told := range map[error][2]string{
		context.DeadlineExceeded:      timedOut,
		coordinator.ErrLoading:        moved,
		coordinator.ErrNotCoordinator: moved,
		coordinator.ErrUnavailable:    timedOut,
	} {
		for name, want := range uncontrolled {
			t.Run(name, func(t *testing.T) {
				env := rightsNode(t)
				env.Control = func(context.Context, controller.Request) (kmsg.Response, error) { return nil, err }
				// One that may not be created, altered or deleted is refused all the same.
				a := &authorizer{asked: map[string]bool{}, grants: func(right string) bool {
					return !strings.HasSuffix(right, " u") && !strings.HasSuffix(right, " b") && right != "CREATE CLUSTER "+ClusterName && right != "DELETE CLUSTER "+ClusterName
				}}
				env.Authorize = a.authorize
				want := strings.NewReplacer("CODE", told[0], "TEXT", told[1]).Replace(want)
				if diff := cmp.Diff(want, shownAll(ask(t, env, rowNamed(t, name).req()))); diff != "" {
					t.Errorf("when %v: %s", err, diff)
				}
			})
		}
	}
}
