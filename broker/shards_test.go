package broker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// TestDeletedShardTopics: a coordinator whose topic is deleted begins again with one
// that is made anew, whose leader epochs begin at 0 again.
func TestDeletedShardTopics(t *testing.T) {
	for topic, use := range map[string]func(*testing.T, *world) error{
		transactionsTopic: func(t *testing.T, w *world) error {
			cl := w.client(kgo.TransactionalID("t"))
			defer cl.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, _, err := cl.ProducerID(ctx)
			return err
		},
		offsetsTopic: func(t *testing.T, w *world) error {
			cl := w.client()
			defer cl.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			offsets := make(kadm.Offsets)
			offsets.AddOffset("lines", 0, 7, -1)
			return kadm.NewClient(cl).CommitAllOffsets(ctx, "g", offsets)
		},
	} {
		t.Run(topic, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, vfs.NewMem(), txnSettings)
				cl := w.client()
				defer cl.Close()
				produce(t, cl, "lines", 0, 1)
				for i := range 3 {
					if err := use(t, w); err != nil {
						t.Fatalf("after %d deletions: %v", i, err)
					}
					if _, err := kadm.NewClient(cl).DeleteTopic(t.Context(), topic); err != nil {
						t.Fatal(err)
					}
				}
				w.end()
			})
		})
	}
}
