package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestEveryRouteDeclaresItsRight(t *testing.T) {
	for key, r := range routes {
		if r.need.operation == kmsg.ACLOperationUnknown || r.need.resource == kmsg.ACLResourceTypeUnknown {
			t.Errorf("%s has no need{operation, resource}; an API open to all says nothing", kmsg.NameForKey(key))
		}
		if r.need == nothing && !r.early && !openToAll[kmsg.Key(key)] {
			t.Errorf("%s takes no right at all: is that so in Kafka?", kmsg.NameForKey(key))
		}
	}
}

// openToAll are the APIs that Kafka answers without asking its authorizer,
// though only to clients that have authenticated.
var openToAll = map[kmsg.Key]bool{
	kmsg.GetTelemetrySubscriptions: true,
	kmsg.PushTelemetry:             true,
	kmsg.ListGroups:                true, // Answers with what the client may describe.
	kmsg.DescribeCluster:           true, // Since Kafka 4.0 of the brokers only.
}

// controllerAPIs are those that kversion does not count among a broker's, with
// the highest version of Kafka 4.2 (kversion's controller tables agree; the
// test looks there first).
var controllerAPIs = map[kmsg.Key]int16{
	kmsg.BrokerRegistration:  4,
	kmsg.BrokerHeartbeat:     1,
	kmsg.AlterPartition:      3,
	kmsg.AllocateProducerIDs: 0,
	kmsg.Envelope:            0,
	kmsg.FetchSnapshot:       1,
}

// TestVersionsAreKafkas holds the table to Kafka 4.2: never a higher version,
// which clients would then use, and never a range that no client finds.
func TestVersionsAreKafkas(t *testing.T) {
	release := kversion.V4_2_0()
	for key, r := range routes {
		name := kmsg.NameForKey(key)
		want, ok := release.LookupMaxKeyVersion(key)
		if !ok {
			want, ok = controllerAPIs[kmsg.Key(key)]
		}
		if !ok {
			t.Errorf("%s is not in Kafka 4.2", name)
			continue
		}
		if r.max > want {
			t.Errorf("%s is served up to version %d, but Kafka 4.2 knows %d", name, r.max, want)
		}
		if r.min > r.max || r.advertisedMin > r.min || r.advertisedMin < 0 {
			t.Errorf("%s serves %d to %d and advertises %d", name, r.min, r.max, r.advertisedMin)
		}
	}
}
