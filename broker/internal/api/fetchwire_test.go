package api

import (
	"bytes"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/logstore/producer"
)

// memSpan is a span that lies in memory.
type memSpan []byte

func (s memSpan) Len() int { return len(s) }
func (s memSpan) Buffers(dst net.Buffers) (net.Buffers, bool) {
	return append(dst, s), true
}

func (s memSpan) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(s).ReadAt(p, off) }
func (s memSpan) File() (uintptr, int64, bool)            { return 0, 0, false }

// drawFetched draws a partition, and returns it as kmsg has it too.
func drawFetched(t *rapid.T) (fetchedPartition, kmsg.FetchResponseTopicPartition) {
	p := failedFetch(fetchTopic{}, rapid.Int32().Draw(t, "index"), rapid.SampledFrom([]int16{0, 1, 6}).Draw(t, "code"))
	k := kmsg.NewFetchResponseTopicPartition()
	k.Partition, k.ErrorCode = p.index, p.code
	k.RecordBatches = []byte{} // Never null, as Kafka's.
	p.highWatermark, p.stable, p.logStart = rapid.Int64().Draw(t, "hw"), rapid.Int64().Draw(t, "stable"), rapid.Int64().Draw(t, "start")
	k.HighWatermark, k.LastStableOffset, k.LogStartOffset = p.highWatermark, p.stable, p.logStart
	if rapid.Bool().Draw(t, "read committed") {
		p.aborted = []producer.Aborted{}
		k.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for i := range rapid.Int64Range(0, 3).Draw(t, "aborted") {
			p.aborted = append(p.aborted, producer.Aborted{ProducerID: i, First: i * 10, Last: 99})
			a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			a.ProducerID, a.FirstOffset = i, i*10
			k.AbortedTransactions = append(k.AbortedTransactions, a)
		}
	}
	if rapid.Bool().Draw(t, "preferred") {
		p.preferred, k.PreferredReadReplica = 2, 2
	}
	if rapid.Bool().Draw(t, "diverging") {
		p.diverging = &epochEnd{4, 77}
		k.DivergingEpoch.Epoch, k.DivergingEpoch.EndOffset = 4, 77
	}
	if rapid.Bool().Draw(t, "leader") {
		p.currentLeader = leaderHint{2, 5}
		k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = 2, 5
	}
	if rapid.Bool().Draw(t, "records") {
		k.RecordBatches = rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "bytes")
		p.records = memSpan(k.RecordBatches)
	}
	return p, k
}

// TestFetchResponseAsKmsgWritesIt encodes responses both ways.
func TestFetchResponseAsKmsgWritesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fetchResponse{
			version:    rapid.Int16Range(4, 18).Draw(t, "version"),
			throttleMs: rapid.Int32().Draw(t, "throttle"),
			code:       rapid.SampledFrom([]int16{0, 70}).Draw(t, "code"),
			sessionID:  rapid.Int32().Draw(t, "session"),
			nodes:      drawNodes(t),
		}
		want := kmsg.NewPtrFetchResponse()
		want.Version, want.ThrottleMillis, want.ErrorCode, want.SessionID = f.version, f.throttleMs, f.code, f.sessionID
		for i := range rapid.IntRange(0, 4).Draw(t, "topics") {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = string(rune('a'+i%2)), [16]byte{byte(i % 2), 9} // Topics may come again.
			for range rapid.IntRange(1, 3).Draw(t, "partitions") {
				p, k := drawFetched(t)
				p.topic = fetchTopic{topic.Topic, topic.TopicID}
				f.parts = append(f.parts, p)
				topic.Partitions = append(topic.Partitions, k)
			}
			want.Topics = append(want.Topics, topic)
		}
		if f.version >= 16 {
			for _, n := range f.nodes {
				b := kmsg.NewFetchResponseBroker()
				b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, n.rack
				want.Brokers = append(want.Brokers, b)
			}
		}
		encoded, cuts := f.appendTo([]byte("size and header"), nil)
		var got []byte
		for _, p := range splice(encoded, cuts) {
			if p.Span != nil {
				got = append(got, p.Span.(memSpan)...)
			} else {
				got = append(got, p.Bytes...)
			}
		}
		if want := want.AppendTo([]byte("size and header")); !bytes.Equal(got, want) {
			t.Fatalf("version %d:\n got %x\nwant %x", f.version, got, want)
		}
	})
}
