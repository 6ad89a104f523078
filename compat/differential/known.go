package differential

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Known is a difference that is meant, or that is Kafka's mistake.
type Known struct {
	// Name is short, for a table.
	Name string
	// Reference is a row of docs/deviations.md or a Kafka issue.
	Reference string

	is   func(d *Difference) bool
	ends bool // The two worlds are not alike after it.
}

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
		Reference: "Kafka after 4.2: hasPreferredServerAssignorChanged",
		is: func(d *Difference) bool {
			here, _ := strconv.Atoi(d.Here)
			there, _ := strconv.Atoi(d.There)
			return strings.HasSuffix(d.Path, "Epoch") && here > there && slices.ContainsFunc(d.Lines, func(l Line) bool {
				return strings.HasPrefix(l.Request, "ConsumerGroupHeartbeat") && strings.Contains(l.Request, "ServerAssignor:")
			})
		},
		ends: true,
	},
	{
		Name:      "a JoinGroup that names a protocol twice is never answered by Kafka",
		Reference: "ClassicGroup counts the protocol twice, finds none that all members have, and throws",
		is: func(d *Difference) bool {
			req, ok := d.sent.(*kmsg.JoinGroupRequest)
			return ok && d.There == "no answer yet" && len(req.Protocols) == 2 && req.Protocols[0].Name == req.Protocols[1].Name
		},
		ends: true,
	},
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
