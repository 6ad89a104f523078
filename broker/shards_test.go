package broker

import (
	"cmp"
	"context"
	"fmt"
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

// TestMorePartitionsOfShardTopics: keys stay with their shards when the coordinator's
// topic gets more partitions, also when nobody has asked for one since the start.
func TestMorePartitionsOfShardTopics(t *testing.T) {
	const keys = 12
	for topic, check := range map[string]func(*testing.T, *world){
		transactionsTopic: func(t *testing.T, w *world) {
			for i := range keys {
				if epoch := producerEpoch(t, w, fmt.Sprint("t", i)); epoch == 0 {
					t.Errorf("transactional id t%d begins anew", i)
				}
			}
		},
		offsetsTopic: func(t *testing.T, w *world) {
			cl := w.client()
			defer cl.Close()
			for i := range keys {
				got, err := kadm.NewClient(cl).FetchOffsets(t.Context(), fmt.Sprint("g", i))
				if err != nil {
					t.Fatal(err)
				}
				if o, ok := got.Lookup("lines", 0); !ok || o.At != 7 {
					t.Errorf("group g%d has committed %v", i, got)
				}
			}
		},
	} {
		t.Run(topic, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := vfs.NewMem()
				w := start(t, disk, txnSettings)
				cl := w.client()
				produce(t, cl, "lines", 0, 1)
				offsets := make(kadm.Offsets)
				offsets.AddOffset("lines", 0, 7, -1)
				for i := range keys {
					if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), fmt.Sprint("g", i), offsets); err != nil {
						t.Fatal(err)
					}
					producerEpoch(t, w, fmt.Sprint("t", i))
				}
				cl.Close()
				w.end()
				w = start(t, disk, txnSettings)
				cl = w.client()
				defer cl.Close()
				added, err := kadm.NewClient(cl).UpdatePartitions(t.Context(), 11, topic)
				if err := cmp.Or(err, added.Error()); err != nil {
					t.Fatal(err)
				}
				check(t, w)
				w.end()
			})
		})
	}
}

// producerEpoch is the epoch that a new producer of a transactional id gets.
func producerEpoch(t *testing.T, w *world, id string) int16 {
	t.Helper()
	cl := w.client(kgo.TransactionalID(id))
	defer cl.Close()
	_, epoch, err := cl.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}
