package groups

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// coordinatorScenarios are about finding coordinators.
var coordinatorScenarios = []scenario.Scenario{
	{ID: "groups.coordinator.find", Says: "FindCoordinator names the broker in every version, in batches from 4.", Refs: []string{"KIP-699"}, Run: findCoordinator},
	{ID: "groups.coordinator.key-type", Says: "A key type that does not exist is INVALID_REQUEST.", Run: findCoordinatorType},
	{ID: "groups.coordinator.share-key", Says: "A share group's key that is not group:topic:partition is INVALID_REQUEST.", Refs: []string{"KIP-932"}, Since: "4.1", Run: findCoordinatorShare},
	{ID: "groups.coordinator.transactions", Says: "Transactional ids have coordinators, an empty one too.", Refs: []string{"KIP-98"}, Run: findTransactionCoordinator},
	{ID: "groups.coordinator.whole-answer", Says: "FindCoordinator tells node, host and port of a group's and of a transactional id's coordinator, of several from version 4 in order.", Refs: []string{"KIP-699"}, Run: coordinatorAnswers},
}

func findCoordinator(t *scenario.T) {
	group := t.Group()
	t.Each(kmsg.FindCoordinator, 0, 6, func(v int16) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = group, []string{group, "another"}
		resp := scenario.Ask[*kmsg.FindCoordinatorResponse](t, v, req)
		if v < 4 {
			t.OK("find", resp.ErrorCode)
			scenario.Equal(t, "node", resp.NodeID, t.Node())
			if resp.Host == "" || resp.Port <= 0 {
				t.Fatalf("host %q port %d", resp.Host, resp.Port)
			}
			return
		}
		scenario.Equal(t, "coordinators", len(resp.Coordinators), 2)
		for i, c := range resp.Coordinators {
			t.OK("find", c.ErrorCode)
			scenario.Equal(t, "key", c.Key, req.CoordinatorKeys[i])
			scenario.Equal(t, "node", c.NodeID, t.Node())
			if c.Host == "" || c.Port <= 0 {
				t.Fatalf("host %q port %d", c.Host, c.Port)
			}
		}
	})
}

func findCoordinatorType(t *scenario.T) {
	t.Each(kmsg.FindCoordinator, 1, 6, func(v int16) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "k", []string{"k"}, 3
		resp := scenario.Ask[*kmsg.FindCoordinatorResponse](t, v, req)
		if v < 4 {
			t.Code("find", resp.ErrorCode, kerr.InvalidRequest)
			return
		}
		c := scenario.One(t, "coordinators", resp.Coordinators)
		t.Code("find", c.ErrorCode, kerr.InvalidRequest)
		scenario.Equal(t, "node", c.NodeID, -1)
		scenario.Equal(t, "host", c.Host, "")
		scenario.Equal(t, "port", c.Port, -1)
	})
}

func findCoordinatorShare(t *scenario.T) {
	t.Each(kmsg.FindCoordinator, 1, 6, func(v int16) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "nonsense", []string{"nonsense"}, 2
		resp := scenario.Ask[*kmsg.FindCoordinatorResponse](t, v, req)
		code := resp.ErrorCode
		if v >= 4 {
			code = scenario.One(t, "coordinators", resp.Coordinators).ErrorCode
		}
		t.Code("find", code, kerr.InvalidRequest)
	})
}

func findTransactionCoordinator(t *scenario.T) {
	if !t.Has(kmsg.AddPartitionsToTxn, 0) {
		t.NotApplicable("transactions are not served")
	}
	id := t.Name("x")
	t.Each(kmsg.FindCoordinator, 1, 6, func(v int16) {
		find := func(key string) (code int16, node int32) {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = key, []string{key}, 1
			resp := scenario.Ask[*kmsg.FindCoordinatorResponse](t, v, req)
			if v < 4 {
				return resp.ErrorCode, resp.NodeID
			}
			c := scenario.One(t, "coordinators", resp.Coordinators)
			return c.ErrorCode, c.NodeID
		}
		t.Until("a coordinator", func() bool { code, node := find(id); return code == 0 && node == t.Node() })
		code, _ := find("")
		t.OK("an empty id", code)
	})
}

func coordinatorAnswers(t *scenario.T) {
	group, txnID, b := t.Group(), t.TransactionalID(), t.Broker()
	t.Each(kmsg.FindCoordinator, 0, 6, func(v int16) {
		for kind, key := range []string{group, txnID} {
			if kind == 1 && v == 0 {
				continue
			}
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = int8(kind), key, []string{key, key + ".2"}
			want := kmsg.NewPtrFindCoordinatorResponse()
			want.ErrorMessage, want.NodeID, want.Host, want.Port = new("NONE"), b.NodeID, b.Host, b.Port
			for _, k := range req.CoordinatorKeys {
				want.Coordinators = append(want.Coordinators, scenario.Filled(func(c *kmsg.FindCoordinatorResponseCoordinator) {
					c.Key, c.NodeID, c.Host, c.Port, c.ErrorMessage = k, b.NodeID, b.Host, b.Port, new("")
				}))
			}
			scenario.Whole(t, "the coordinator of "+key, scenario.Ask[*kmsg.FindCoordinatorResponse](t, v, req), want)
			if v < 1 {
				continue
			}
			req.CoordinatorType, req.CoordinatorKeys = 9, []string{key}
			refused := kmsg.NewPtrFindCoordinatorResponse()
			refused.ErrorCode, refused.ErrorMessage, refused.NodeID, refused.Port = kerr.InvalidRequest.Code, new(invalidRequest), -1, -1
			refused.Coordinators = []kmsg.FindCoordinatorResponseCoordinator{scenario.Filled(func(c *kmsg.FindCoordinatorResponseCoordinator) {
				c.Key, c.ErrorCode, c.ErrorMessage, c.NodeID, c.Port = key, kerr.InvalidRequest.Code, new(invalidRequest), -1, -1
			})}
			scenario.Whole(t, "a kind that is none", scenario.Ask[*kmsg.FindCoordinatorResponse](t, v, req), refused)
		}
	})
}

const invalidRequest = "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."
