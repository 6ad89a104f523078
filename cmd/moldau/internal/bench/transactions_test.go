package bench

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// TestTransact: what is counted is there, committed, in the partition of its
// producer.
func TestTransact(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 2))
	target := Target{Bootstrap: mb.Addrs(), Topic: "orders"}
	load := TransactLoad{RecordBytes: 50, Records: 7, Producers: 2, Count: 11}
	r, err := Transact(t.Context(), target, load)
	if err != nil {
		t.Fatal(err)
	}
	if r.Records != 77 || r.Bytes != 77*50 || r.Latency.Samples != 11 {
		t.Errorf("%+v", r)
	}
	// Each producer's first transaction is not counted.
	want := int(load.Count+2) * load.Records
	cl, err := target.client(kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	seen := map[int32]int{}
	for n := 0; n < want; {
		polled := cl.PollFetches(t.Context())
		if err := polled.Err(); err != nil {
			t.Fatal(err)
		}
		polled.EachRecord(func(rec *kgo.Record) {
			seen[rec.Partition]++
			n++
		})
	}
	if seen[0]+seen[1] != want || seen[0]%load.Records != 0 || seen[0] == 0 || seen[1] == 0 {
		t.Errorf("records by partition: %v, want %d in whole transactions", seen, want)
	}
	if _, err := Transact(t.Context(), target, TransactLoad{RecordBytes: 50, Records: 7}); err == nil {
		t.Error("no transactions are a load")
	}
}
