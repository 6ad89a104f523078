package api

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// alterCase is one resource of a request, and what is answered to a client that may do
// nothing and to one that may do everything; "" is that the controller is asked.
type alterCase struct {
	kind            kmsg.ConfigResourceType
	name            string
	ops             []alterOp
	lacking, having string
	older           string // What AlterConfigs answers to who lacks the right, if that differs.
}

type alterOp struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value string // "<null>" is null.
}

// alterCases are as Apache Kafka 4.2.2 answers them: what is wrong with the form of a
// request comes before the right to it, and whose the resource is comes after.
var alterCases = map[string]alterCase{
	"a topic": {
		kind: kmsg.ConfigResourceTypeTopic, name: "t", ops: []alterOp{{"retention.ms", 0, "1"}},
		lacking: `TOPIC_AUTHORIZATION_FAILED "Topic authorization failed."`,
	},
	"of a topic, a key twice": {
		kind: kmsg.ConfigResourceTypeTopic, name: "t", ops: []alterOp{{"retention.ms", 0, "1"}, {"retention.ms", 0, "<null>"}},
		lacking: `INVALID_REQUEST "Error due to duplicate config keys"`, having: `INVALID_REQUEST "Error due to duplicate config keys"`,
	},
	"of a topic, values that are null": {
		kind: kmsg.ConfigResourceTypeTopic, name: "t", ops: []alterOp{{"a", 0, "<null>"}, {"b", 0, "1"}, {"c", 2, "<null>"}},
		lacking: `INVALID_REQUEST "Null value not supported for : a, c"`, having: `INVALID_REQUEST "Null value not supported for : a, c"`,
	},
	"of a topic, a setting deleted": {
		kind: kmsg.ConfigResourceTypeTopic, name: "t", ops: []alterOp{{"a", 1, "<null>"}},
		lacking: `TOPIC_AUTHORIZATION_FAILED "Topic authorization failed."`,
		older:   `INVALID_REQUEST "Null value not supported for : a"`,
	},
	"of a topic, no operation that there is": {
		kind: kmsg.ConfigResourceTypeTopic, name: "t", ops: []alterOp{{"retention.ms", 9, "1"}},
		lacking: `TOPIC_AUTHORIZATION_FAILED "Topic authorization failed."`,
	},
	"no topic": {kind: kmsg.ConfigResourceTypeTopic, lacking: `TOPIC_AUTHORIZATION_FAILED "Topic authorization failed."`},
	"a group":  {kind: kmsg.ConfigResourceTypeGroupConfig, name: "g", lacking: `GROUP_AUTHORIZATION_FAILED "Group authorization failed."`},
	"client metrics": {
		kind: kmsg.ConfigResourceTypeClientMetrics, name: "c", lacking: `CLUSTER_AUTHORIZATION_FAILED "Cluster authorization failed."`,
	},
	"of client metrics, a key twice": {
		kind: kmsg.ConfigResourceTypeClientMetrics, name: "c", ops: []alterOp{{"a", 0, "1"}, {"a", 0, "1"}},
		lacking: `INVALID_REQUEST "Error due to duplicate config keys"`, having: `INVALID_REQUEST "Error due to duplicate config keys"`,
	},
	"of no kind": {
		kind: 99, name: "odd", lacking: `INVALID_REQUEST "Unknown resource type 99"`, having: `INVALID_REQUEST "Unknown resource type 99"`,
	},
	"of no kind, a key twice": {
		kind: 3, name: "odd", ops: []alterOp{{"a", 0, "1"}, {"a", 0, "1"}},
		lacking: `INVALID_REQUEST "Error due to duplicate config keys"`, having: `INVALID_REQUEST "Error due to duplicate config keys"`,
	},
	"this broker":     {kind: kmsg.ConfigResourceTypeBroker, name: "1", lacking: `CLUSTER_AUTHORIZATION_FAILED`},
	"all brokers":     {kind: kmsg.ConfigResourceTypeBroker, lacking: `CLUSTER_AUTHORIZATION_FAILED`},
	"another broker":  {kind: kmsg.ConfigResourceTypeBroker, name: "2", lacking: `CLUSTER_AUTHORIZATION_FAILED`, having: `INVALID_REQUEST "Unexpected broker id, expected 1, but received 2"`},
	"no broker's id":  {kind: kmsg.ConfigResourceTypeBroker, name: "x", lacking: `CLUSTER_AUTHORIZATION_FAILED`, having: `INVALID_REQUEST "Node id must be an integer, but it is: x"`},
	"a broker's null": {kind: kmsg.ConfigResourceTypeBroker, name: "x", ops: []alterOp{{"a", 0, "<null>"}}, lacking: `INVALID_REQUEST "Null value not supported for : a"`, having: `INVALID_REQUEST "Null value not supported for : a"`},
	"of a broker, no operation that there is": {
		kind: kmsg.ConfigResourceTypeBroker, name: "1", ops: []alterOp{{"log.retention.ms", 9, "1"}},
		lacking: `CLUSTER_AUTHORIZATION_FAILED`, having: `INVALID_REQUEST "Unknown operations type 9"`,
	},
	"a logger": {
		kind: kmsg.ConfigResourceTypeBrokerLogger, name: "1", ops: []alterOp{{"root", 0, "INFO"}},
		lacking: `CLUSTER_AUTHORIZATION_FAILED`, having: `INVALID_REQUEST "This broker's loggers have no levels of their own."`,
		older: `INVALID_REQUEST "Unknown resource type 8"`,
	},
	"a logger of another broker": {
		kind: kmsg.ConfigResourceTypeBrokerLogger, name: "2", lacking: `CLUSTER_AUTHORIZATION_FAILED`,
		having: `INVALID_REQUEST "Unexpected node id. Expected 1, but received 2"`, older: `INVALID_REQUEST "Unknown resource type 8"`,
	},
	"a logger of no broker": {
		kind: kmsg.ConfigResourceTypeBrokerLogger, name: "x", lacking: `CLUSTER_AUTHORIZATION_FAILED`,
		having: `INVALID_REQUEST "Node id must be an integer, but it is: x"`, older: `INVALID_REQUEST "Unknown resource type 8"`,
	},
	"of a logger, a key twice": {
		kind: kmsg.ConfigResourceTypeBrokerLogger, name: "1", ops: []alterOp{{"root", 0, "INFO"}, {"root", 0, "INFO"}},
		lacking: `INVALID_REQUEST "Error due to duplicate config keys"`, having: `INVALID_REQUEST "Error due to duplicate config keys"`,
	},
}

// alter asks for the changes of cases in one request and returns what each is answered.
func alter(t *testing.T, env *Env, older bool, cases ...alterCase) (answers []string) {
	t.Helper()
	value := func(o alterOp) *string {
		if o.value == "<null>" {
			return nil
		}
		return &o.value
	}
	if older {
		req := kmsg.NewPtrAlterConfigsRequest()
		for _, tc := range cases {
			r := kmsg.AlterConfigsRequestResource{ResourceType: tc.kind, ResourceName: tc.name}
			for _, o := range tc.ops {
				r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: o.name, Value: value(o)})
			}
			req.Resources = append(req.Resources, r)
		}
		for _, r := range ask(t, env, req).(*kmsg.AlterConfigsResponse).Resources {
			answers = append(answers, altered(r.ErrorCode, r.ErrorMessage))
		}
		return answers
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for _, tc := range cases {
		r := kmsg.IncrementalAlterConfigsRequestResource{ResourceType: tc.kind, ResourceName: tc.name}
		for _, o := range tc.ops {
			r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: o.name, Op: o.op, Value: value(o)})
		}
		req.Resources = append(req.Resources, r)
	}
	for _, r := range ask(t, env, req).(*kmsg.IncrementalAlterConfigsResponse).Resources {
		answers = append(answers, altered(r.ErrorCode, r.ErrorMessage))
	}
	return answers
}

func altered(errorCode int16, message *string) string {
	s := coded(errorCode)
	if message != nil {
		s += ` "` + *message + `"`
	}
	return strings.TrimSpace(s)
}

// TestWhatComesBeforeTheRightToAlter: a client that may do nothing is told what is wrong
// with the form of its request, and of the rest that it may not; and the controller is
// asked only about what neither is wrong with.
func TestWhatComesBeforeTheRightToAlter(t *testing.T) {
	for name, tc := range alterCases {
		for _, older := range []bool{false, true} {
			if older && len(tc.ops) > 0 && tc.ops[0].op > 1 {
				continue // It has no operations.
			}
			lacking, having := tc.lacking, tc.having
			if older && tc.older != "" {
				lacking, having = tc.older, tc.older
			}
			env := rightsNode(t)
			control := env.Control
			asked := false
			env.Control = func(ctx context.Context, rq controller.Request) (kmsg.Response, error) {
				asked = true
				return control(ctx, rq)
			}
			if diff := cmp.Diff([]string{having}, alter(t, env, older, tc)); diff != "" || asked != (having == "") {
				t.Errorf("%s, older %t, with all rights, the controller was asked: %t: %s", name, older, asked, diff)
			}
			a := &authorizer{asked: map[string]bool{}, grants: func(string) bool { return false }}
			env.Authorize = a.authorize
			env.Control = func(context.Context, controller.Request) (kmsg.Response, error) {
				return nil, errors.New("the controller was asked")
			}
			if diff := cmp.Diff([]string{lacking}, alter(t, env, older, tc)); diff != "" {
				t.Errorf("%s, older %t, without rights: %s", name, older, diff)
			}
		}
	}
}

// TestAlterTwice: a resource that is named twice is refused each time before all else,
// and what it is named beside is served.
func TestAlterTwice(t *testing.T) {
	const twice = `INVALID_REQUEST "Each resource must appear at most once."`
	for _, older := range []bool{false, true} {
		for _, kind := range []kmsg.ConfigResourceType{2, 4, 8, 16, 32, 77} {
			env := rightsNode(t)
			a := &authorizer{asked: map[string]bool{}, grants: func(right string) bool { return right == "ALTER_CONFIGS TOPIC t" }}
			env.Authorize = a.authorize
			one := alterCase{kind: kind, name: "1"}
			other := alterCase{kind: kind, name: "1", ops: []alterOp{{"a", 0, "<null>"}, {"a", 0, "1"}}}
			want := []string{twice, "", twice, twice, `TOPIC_AUTHORIZATION_FAILED "Topic authorization failed."`}
			got := alter(t, env, older, one, alterCase{kind: 2, name: "t"}, other, one, alterCase{kind: 2, name: "u"})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("kind %d, older %t: %s", kind, older, diff)
			}
		}
	}
}
