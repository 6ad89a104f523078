package api

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A few bytes of a request become much of an answer: there is a bound on how many
// things a request may name, and the bound itself is served.
func TestTooManyElements(t *testing.T) {
	lookUp := kmsg.NewPtrMetadataRequest()
	lookUp.Version = 13
	produce := kmsg.NewPtrProduceRequest()
	produce.Version = 12
	epochs := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epochs.Version, epochs.ReplicaID = 4, -1
	for name, tc := range map[string]struct {
		request kmsg.Request
		fill    func(n int)
		fits    int
	}{
		"nameless topics": {lookUp, func(n int) { lookUp.Topics = make([]kmsg.MetadataRequestTopic, n) }, maxElements},
		"topics":          {produce, func(n int) { produce.Topics = make([]kmsg.ProduceRequestTopic, n) }, maxElements},
		"nested": {
			epochs, func(n int) {
				epochs.Topics = make([]kmsg.OffsetForLeaderEpochRequestTopic, 2)
				epochs.Topics[1].Partitions = make([]kmsg.OffsetForLeaderEpochRequestTopicPartition, n)
			}, maxElements - 2,
		},
		"nested, counted": {
			produce, func(n int) {
				produce.Topics = make([]kmsg.ProduceRequestTopic, 2)
				produce.Topics[1].Partitions = make([]kmsg.ProduceRequestTopicPartition, n)
			}, maxElements - 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 1)
			tc.fill(tc.fits)
			if _, err := n.Serve(t.Context(), callOf(tc.request)); err != nil {
				t.Errorf("%d: %v", tc.fits, err)
			}
			tc.fill(tc.fits + 1)
			if _, err := n.Serve(t.Context(), callOf(tc.request)); !is[*DecodeError](err) {
				t.Errorf("%d: %v, want a DecodeError", tc.fits+1, err)
			}
		})
	}
}

// What an answer holds is counted while it is made, and a connection that has no
// memory for it ends.
func TestCharge(t *testing.T) {
	var asked int64
	refused := errors.New("no memory")
	call := &Call{Reserve: func(n int64) error {
		if asked += n; asked > 10<<20 {
			return refused
		}
		return nil
	}}
	piece := kmsg.NewDescribeConfigsResponseResource()
	piece.ResourceName = string(make([]byte, 1<<20))
	var err error
	pieces := 0
	for err == nil && pieces < 100 {
		err = call.charge(&piece)
		pieces++
	}
	if !errors.Is(err, refused) || pieces != 5 && pieces != 6 {
		t.Errorf("%v after %d pieces of 1 MiB that are twice in memory, want 10 MiB to be refused", err, pieces)
	}
}
