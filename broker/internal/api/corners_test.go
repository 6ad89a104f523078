package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/coordinator/group"
	"github.com/moldau-broker/moldau/coordinator/txn"
	"github.com/moldau-broker/moldau/protocol/batch"
)

// TestConsumerGroupsThatAreOff: a cluster whose group.version is 0 has no such groups.
func TestConsumerGroupsThatAreOff(t *testing.T) {
	for level, want := range map[int16]int16{0: kerr.UnsupportedVersion.Code, 1: 0, 2: 0} {
		env := rightsNode(t)
		env.Features = func() Features { return Features{Finalized: map[string]int16{groupFeature: level}} }
		if got := ask(t, env, rowNamed(t, "ConsumerGroupHeartbeat").req()).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode; got != want {
			t.Errorf("heartbeat at level %d: %d, want %d", level, got, want)
		}
		groups := ask(t, env, rowNamed(t, "ConsumerGroupDescribe").req()).(*kmsg.ConsumerGroupDescribeResponse).Groups
		if len(groups) != 2 || groups[0].Group != "h" || groups[1].Group != "g" || groups[0].ErrorCode != want || groups[1].ErrorCode != want {
			t.Errorf("describing at level %d: %+v, want %d", level, groups, want)
		}
	}
}

// TestUnknownIDsAreNotDeleted: what this broker has not heard of yet goes on to the
// controller only for who may delete every topic.
func TestUnknownIDsAreNotDeleted(t *testing.T) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: [16]byte{77}}, {TopicID: [16]byte{78}}, {TopicID: [16]byte{78}}}
	env := rightsNode(t)
	if diff := cmp.Diff(`{Topics:[{TopicID:id77} {TopicID:id78} {TopicID:id78}]}`, shownAll(ask(t, env, req))); diff != "" {
		t.Error(diff)
	}
	env.Authorize = deny(kmsg.ACLResourceTypeCluster)
	want := `{Topics:[{TopicID:id77 UNKNOWN_TOPIC_ID ErrorMessage:"This server does not host this topic ID."} {TopicID:id78} {TopicID:id78}]}`
	if diff := cmp.Diff(want, shownAll(ask(t, env, req))); diff != "" {
		t.Error(diff)
	}
}

// TestNamedTwiceIsRefused: a topic that is named twice is the controller's to refuse,
// whoever asks, and no other.
func TestNamedTwiceIsRefused(t *testing.T) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	for _, name := range []string{"t", "u", "u"} {
		req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: kmsg.StringPtr(name)})
	}
	env := rightsNode(t)
	env.Authorize = func(*Conn, kmsg.ACLOperation, kmsg.ACLResourceType, string) bool { return false }
	want := `{Topics:[{Topic:"t" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"u"} {Topic:"u"}]}`
	if diff := cmp.Diff(want, shownAll(ask(t, env, req))); diff != "" {
		t.Error(diff)
	}
}

// otherReplicas has another topic's partition wherever it is asked.
type otherReplicas struct{ Replicas }

func (o otherReplicas) Partition(string, int32) (*replica.Partition, error) {
	return o.Replicas.Partition("u", 0)
}

// TestTopicsMadeAgain: a replica of another id than the image has is not the one that is
// asked for.
func TestTopicsMadeAgain(t *testing.T) {
	env := rightsNode(t)
	env.Replicas = otherReplicas{env.Replicas}
	codes := func(resp kmsg.Response) [2]int16 {
		topics := resp.(*kmsg.FetchResponse).Topics
		return [2]int16{topics[0].Partitions[0].ErrorCode, topics[1].Partitions[0].ErrorCode}
	}
	if got, want := codes(ask(t, env, fetching2(12, -1))), [2]int16{kerr.NotLeaderForPartition.Code, 0}; got != want {
		t.Errorf("Fetch by name: %d, want %d", got, want)
	}
	if got, want := codes(ask(t, env, fetching2(13, -1))), [2]int16{kerr.InconsistentTopicID.Code, 0}; got != want {
		t.Errorf("Fetch by id: %d, want %d", got, want)
	}
	produced := ask(t, env, producing2(nil, batch.Plain(0, -1))).(*kmsg.ProduceResponse).Topics
	if got, want := [2]int16{produced[0].Partitions[0].ErrorCode, produced[1].Partitions[0].ErrorCode}, [2]int16{kerr.NotLeaderForPartition.Code, 0}; got != want {
		t.Errorf("Produce: %d, want %d", got, want)
	}
}

// TestListOffsetsCommitted: the end of what is committed is where an open transaction
// begins.
func TestListOffsetsCommitted(t *testing.T) {
	env := rightsNode(t)
	if got := ask(t, env, rowNamed(t, "Produce in a transaction").req()).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; got != 0 {
		t.Fatal(got)
	}
	for isolation, want := range map[int8]int64{0: 2, 1: 1} {
		req := rowNamed(t, "ListOffsets").req().(*kmsg.ListOffsetsRequest)
		req.IsolationLevel = isolation
		if got := ask(t, env, req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset; got != want {
			t.Errorf("isolation %d: %d, want %d", isolation, got, want)
		}
	}
}

// TestMarkersOfOldCoordinators are refused by the log, each for its partition.
func TestMarkersOfOldCoordinators(t *testing.T) {
	env := rightsNode(t)
	for _, tc := range []struct {
		epoch int32
		want  int16
	}{{5, 0}, {4, kerr.TransactionCoordinatorFenced.Code}, {5, 0}} {
		req := markers().(*kmsg.WriteTxnMarkersRequest)
		req.Markers = req.Markers[:1]
		req.Markers[0].CoordinatorEpoch = tc.epoch
		got := ask(t, env, req).(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics
		if got[0].Partitions[0].ErrorCode != tc.want || got[0].Partitions[1].ErrorCode != kerr.UnknownTopicOrPartition.Code || got[1].Partitions[0].ErrorCode != 0 {
			t.Errorf("epoch %d: %+v", tc.epoch, got)
		}
	}
}

// TestBadFilters of transactions are refused before any is asked for.
func TestBadFilters(t *testing.T) {
	env := rightsNode(t)
	env.Transactions = silentTxns{errors.New("the coordinator was asked")}
	req := kmsg.NewPtrListTransactionsRequest()
	req.Version, req.TransactionalIDPattern = 2, kmsg.StringPtr("(")
	if got := ask(t, env, req).(*kmsg.ListTransactionsResponse).ErrorCode; got != kerr.InvalidRegularExpression.Code {
		t.Errorf("got %d", got)
	}
}

// noting notes what every shard is asked.
type noting struct {
	obligingGroups
	got *any
}

func (n noting) AskAll(_ context.Context, newInput func() any) ([]any, error) {
	*n.got = newInput()
	return nil, nil
}

type notingTxns struct {
	obligingTxns
	got *any
}

func (n notingTxns) AskAll(_ context.Context, newInput func() any) ([]any, error) {
	*n.got = newInput()
	return nil, nil
}

// TestWhatShardsAreAsked: listings hand their filters on, and who asks.
func TestWhatShardsAreAsked(t *testing.T) {
	env := rightsNode(t)
	var groups, txns any
	env.Groups, env.Transactions = noting{got: &groups}, notingTxns{got: &txns}
	list := kmsg.NewPtrListGroupsRequest()
	list.Version, list.StatesFilter = 5, []string{"Empty"}
	ask(t, env, list)
	if rq, ok := groups.(group.Request); !ok || rq.ClientID != "test-client" || rq.Body.(*kmsg.ListGroupsRequest).StatesFilter[0] != "Empty" {
		t.Errorf("ListGroups asks %+v", groups)
	}
	listTxns := kmsg.NewPtrListTransactionsRequest()
	listTxns.StateFilters = []string{"Ongoing", "Odd"}
	resp := ask(t, env, listTxns).(*kmsg.ListTransactionsResponse)
	want, _, _ := txn.NewFilter(listTxns)
	if rq, ok := txns.(txn.List); !ok || shownFilter(rq.Filter) != shownFilter(want) {
		t.Errorf("ListTransactions asks %+v, want %+v", txns, want)
	}
	if diff := cmp.Diff([]string{"Odd"}, resp.UnknownStateFilters); diff != "" {
		t.Error(diff)
	}
}

func TestClientsWithoutAnID(t *testing.T) {
	id := "c"
	if a, b := (&Call{}).Client(), (&Call{ClientID: &id}).Client(); a != "" || b != "c" {
		t.Errorf("%q and %q", a, b)
	}
}

// TestLogLevel: the lowest level that is let through, by log4j's names.
func TestLogLevel(t *testing.T) {
	for want, level := range map[string]slog.Level{"DEBUG": -9, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError, "OFF": slog.LevelError + 1} {
		l := slog.New(slog.NewTextHandler(&strings.Builder{}, &slog.HandlerOptions{Level: level}))
		if got := logLevel(l); got != want {
			t.Errorf("%v: %s, want %s", level, got, want)
		}
	}
	if got := logLevel(nil); got != "OFF" {
		t.Errorf("no logger: %s", got)
	}
}

// TestRunsOfProducerIDs come out of one block, as far as that goes, and wait for another
// only as long as whoever asks does.
func TestRunsOfProducerIDs(t *testing.T) {
	next, fail := int64(100), error(nil)
	ids := NewProducerIDs(func(context.Context) (int64, int32, error) {
		next += 10
		return next - 10, 10, fail
	})
	for _, tc := range []struct {
		count int32
		first int64
		n     int32
	}{{4, 100, 4}, {6, 104, 6}, {11, 110, 10}, {9, 120, 9}, {9, 129, 1}, {1, 130, 1}} {
		first, n, err := ids.Run(t.Context(), tc.count)
		if err != nil || first != tc.first || n != tc.n {
			t.Errorf("%d ids: %d from %d, %v; want %d from %d", tc.count, n, first, err, tc.n, tc.first)
		}
	}
	if id, err := ids.Next(t.Context()); id != 131 || err != nil {
		t.Errorf("next is %d, %v", id, err)
	}
	if _, _, err := ids.Run(t.Context(), 8); err != nil {
		t.Error(err)
	}
	fail = errors.New("no controller")
	if first, n, err := ids.Run(t.Context(), 1); !errors.Is(err, fail) || first != -1 || n != 0 {
		t.Errorf("%d from %d: %v", n, first, err)
	}
	fail = nil
	if _, err := ids.Next(t.Context()); err != nil {
		t.Errorf("after a failure: %v", err)
	}
	taken := <-ids.block
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ids.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("while another asks: %v", err)
	}
	ids.block <- taken
}

func shownFilter(f txn.Filter) string { return fmt.Sprintf("%+v", f) }
