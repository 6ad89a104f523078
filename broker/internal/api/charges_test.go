package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol/config"
)

// tellingGroups is a coordinator with much to tell of each group.
type tellingGroups struct{ obligingGroups }

var muchToTell = strings.Repeat("x", chargeStep)

func (g tellingGroups) Ask(ctx context.Context, name string, in any) (any, error) {
	out, err := g.obligingGroups.Ask(ctx, name, in)
	switch resp := out.(type) {
	case *kmsg.DescribeGroupsResponse:
		resp.Groups[0].State = muchToTell
	case *kmsg.OffsetFetchResponse:
		resp.Groups[0].Topics[0].Partitions[0].Metadata = &muchToTell
	}
	return out, err
}

// TestAnswersAreCharged: answers that may be far larger than their questions are counted
// while they are made, and end when there is no memory for them.
func TestAnswersAreCharged(t *testing.T) {
	configs := kmsg.NewPtrDescribeConfigsRequest()
	configs.Version = 4
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "none", Partitions: make([]int32, 2000)}}
	for range 20 {
		configs.Resources = append(configs.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1"})
	}
	resources := kmsg.NewPtrListConfigResourcesRequest()
	resources.Version = 1
	refused := errors.New("no memory")
	for name, req := range map[string]kmsg.Request{
		"DescribeGroups":      rowNamed(t, "DescribeGroups").req(),
		"OffsetFetch":         rowNamed(t, "OffsetFetch").req(),
		"DescribeConfigs":     configs,
		"DescribeProducers":   producers,
		"ListConfigResources": resources,
	} {
		n := newNode(t, 1)
		n.topic("t", 1, 1)
		n.Groups = tellingGroups{}
		n.Layers = func(*controller.Image) config.Layers { return config.Layers{} }
		if name == "ListConfigResources" {
			for i := range 40 {
				n.topic(fmt.Sprintf("%0200d", i), byte(i+2), 1)
			}
		}
		call := callOf(req)
		call.charged = chargeStep / 2 // Of which the names of topics take the rest.
		if name == "ListConfigResources" {
			call.charged = chargeStep - 10_000
		}
		asked := 0
		call.Reserve = func(bytes int64) error {
			asked++
			if bytes < chargeStep {
				t.Errorf("%s: %d bytes asked for at a time", name, bytes)
			}
			return refused
		}
		if _, err := n.Serve(t.Context(), call); !errors.Is(err, refused) || asked != 1 {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
	}
}

// TestChargeAtItsBound asks for memory when exactly a step has come together.
func TestChargeAtItsBound(t *testing.T) {
	piece := kmsg.NewDescribeConfigsResponseResource()
	each := 2 * retained(&piece)
	for name, tc := range map[string]struct{ before, want int64 }{
		"one byte short": {chargeStep - each - 1, 0}, "just enough": {chargeStep - each, chargeStep},
	} {
		asked := int64(0)
		call := &Call{charged: tc.before, Reserve: func(n int64) error { asked = n; return nil }}
		if err := call.charge(&piece); err != nil || asked != tc.want {
			t.Errorf("%s: %d asked for, %v", name, asked, err)
		}
		if left := call.charged; tc.want > 0 && left != 0 || tc.want == 0 && left != tc.before+each {
			t.Errorf("%s: %d not asked for yet", name, left)
		}
	}
}
