package transactions

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// readersScenarios are about who reads what is committed.
var readersScenarios = []scenario.Scenario{
	{ID: "transactions.committed-readers", Says: "Readers of what is committed see nothing from the first open transaction on; when it is aborted it is listed as such.", Refs: []string{"KIP-98", "redpanda@498031126c", "kop PR 1856", "case T01", "case F05"}, Run: scenario.ByBoth(committedReaders)},
	{ID: "transactions.aborted-without-records", Says: "Who reads committed records is told of aborted transactions even where the limit of the fetch leaves no room for records.", Refs: []string{"KIP-98"}, Run: scenario.ByBoth(abortedWithoutRecords)}, // Found by a differential run.
}

func committedReaders(p *scenario.Transactor) {
	t, topic := p.T, p.T.Topic(1)
	p.Write(topic, 5, 0)
	scenario.Equal(t, "offset of a plain record", t.Append(topic, scenario.PlainBatch("plain")), 5)
	got := t.FetchCommitted(topic, 0)
	scenario.Equal(t, "committed records while the transaction is open", len(t.Records(got.RecordBatches)), 0)
	scenario.Equal(t, "stable offset", got.LastStableOffset, 0)
	scenario.Equal(t, "high watermark", got.HighWatermark, 6)
	scenario.Equal(t, "aborted transactions", len(got.AbortedTransactions), 0)
	scenario.Equal(t, "uncommitted records", len(t.Read(topic, 0)), 6)
	req := scenario.ListOffsetsRequest(topic, 0, -1, -1)
	req.IsolationLevel = 1
	listed := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.ListOffsetsResponse](t, t.Newest(kmsg.ListOffsets, 8), req).Topics).Partitions)
	scenario.Equal(t, "latest committed offset", listed.Offset, 0)

	id, epoch := p.ID, p.Epoch
	p.End(false, topic)
	got = t.FetchCommitted(topic, 0)
	scenario.Equal(t, "stable offset", got.LastStableOffset, 7)
	aborted := scenario.One(t, "aborted transactions", got.AbortedTransactions)
	scenario.Equal(t, "aborted producer", aborted.ProducerID, id)
	scenario.Equal(t, "first aborted offset", aborted.FirstOffset, 0)
	var visible []int64 // As a client filters.
	for _, b := range t.Batches(got.RecordBatches) {
		switch {
		case b.Attrs&scenario.AttrControl != 0:
			scenario.Equal(t, "offset of the marker", b.Base, 6)
		case b.Attrs&scenario.AttrTransactional != 0:
			scenario.Equal(t, "producer of a batch in a transaction", b.Producer, id)
			scenario.Equal(t, "its epoch", b.Epoch, epoch)
		default:
			visible = append(visible, scenario.Offsets(b.Records)...)
		}
	}
	scenario.EqualLists(t, "visible offsets", visible, []int64{5})
	if uncommitted := t.Fetch(11, topic, 0); uncommitted.AbortedTransactions != nil {
		t.Fatalf("a reader of what is not committed is told of aborted transactions: %v", scenario.Plain(uncommitted.AbortedTransactions))
	}
}

func abortedWithoutRecords(p *scenario.Transactor) {
	t := p.T
	topic := t.Topic(2)
	t.AppendTo(topic, 1, scenario.PlainBatch("a"))
	id := p.ID
	p.Write(topic, 2, 0)
	p.End(false, topic)
	t.Each(kmsg.Fetch, 4, 18, func(v int16) {
		for offset, want := range []int{1, 1, 1, 0} {
			req := t.FetchRequest(v, topic, scenario.Fetching{Partition: 1}, scenario.Fetching{Partition: 0, Offset: int64(offset)})
			req.MaxBytes, req.IsolationLevel = 1, 1
			got := scenario.One(t, "topics", scenario.Ask[*kmsg.FetchResponse](t, v, req).Topics).Partitions
			scenario.Equal(t, "partitions", len(got), 2)
			second := got[0]
			if second.Partition != 0 {
				second = got[1]
			}
			scenario.Equal(t, "records of the second", len(second.RecordBatches), 0)
			scenario.Equal(t, "aborted transactions", len(second.AbortedTransactions), want)
			for _, a := range second.AbortedTransactions {
				scenario.Equal(t, "the producer", a.ProducerID, id)
				scenario.Equal(t, "the first offset", a.FirstOffset, 0)
			}
		}
	})
}
