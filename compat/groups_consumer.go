package compat

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerScenarios are about groups of the consumer protocol (KIP-848).
var consumerScenarios = []Scenario{
	{ID: "groups.consumer.first-heartbeat", Says: "A first heartbeat with partitions, without a rebalance timeout or without a subscription is INVALID_REQUEST, one with an unknown assignor UNSUPPORTED_ASSIGNOR, and the group is not made.", Refs: []string{"KIP-848", "franz-go kfake@0013f780", "case G17"}, Since: "4.0", Run: firstHeartbeat},
}

// firstHeartbeat plays one sound request and its spoiled copies.
func firstHeartbeat(t *T) {
	topic := t.Topic(1)
	group := t.Group()
	sound := func(v int16) *kmsg.ConsumerGroupHeartbeatRequest {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.RebalanceTimeoutMillis, req.SubscribedTopicNames = group, 5000, []string{topic}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if v >= 1 {
			req.MemberID = "member" // Before, the coordinator makes it.
		}
		return req
	}
	t.each(kmsg.ConsumerGroupHeartbeat, 0, 1, func(v int16) {
		for what, tc := range map[string]struct {
			spoil func(*kmsg.ConsumerGroupHeartbeatRequest)
			want  *kerr.Error
		}{
			"partitions": {func(r *kmsg.ConsumerGroupHeartbeatRequest) {
				r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: t.topicID(topic), Partitions: []int32{0}}}
			}, kerr.InvalidRequest},
			"no list of partitions": {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil }, kerr.InvalidRequest},
			"no rebalance timeout":  {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RebalanceTimeoutMillis = -1 }, kerr.InvalidRequest},
			"no subscription":       {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = nil }, kerr.InvalidRequest},
			"an unknown assignor":   {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = new("nope") }, kerr.UnsupportedAssignor},
		} {
			req := sound(v)
			tc.spoil(req)
			resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, req)
			t.code(what, resp.ErrorCode, tc.want)
			if resp.ErrorMessage == nil || *resp.ErrorMessage == "" {
				t.Fatalf("%s: there is no error message", what)
			}
			equal(t, what+": the group is listed", t.listed(t.newest(kmsg.ListGroups, 5), group, nil, nil) != nil, false)
		}
	})
	t.each(kmsg.ConsumerGroupHeartbeat, 0, 1, func(v int16) {
		resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, sound(v))
		t.ok("a sound one", resp.ErrorCode)
		if resp.MemberID == nil {
			t.Fatalf("the member is not told its id")
		}
		leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		leave.Group, leave.MemberID, leave.MemberEpoch, leave.RebalanceTimeoutMillis = group, *resp.MemberID, -1, -1
		t.ok("leave", ask[*kmsg.ConsumerGroupHeartbeatResponse](t, v, leave).ErrorCode)
	})
}
