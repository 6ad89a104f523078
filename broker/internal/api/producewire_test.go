package api

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// drawProduce draws a request of any shape.
func drawProduce(t *rapid.T) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version = rapid.Int16Range(3, 13).Draw(t, "version")
	req.Acks = rapid.Int16Range(-1, 1).Draw(t, "acks")
	req.TimeoutMillis = rapid.Int32().Draw(t, "timeout")
	if rapid.Bool().Draw(t, "transactional") {
		req.TransactionID = kmsg.StringPtr(rapid.StringN(0, 20, 20).Draw(t, "txn"))
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "topics") {
		topic := kmsg.NewProduceRequestTopic()
		if req.Version >= 13 {
			topic.TopicID = [16]byte{1, byte(i)}
		} else {
			topic.Topic = rapid.StringN(0, 200, 300).Draw(t, "topic")
		}
		for range rapid.IntRange(0, 4).Draw(t, "partitions") {
			part := kmsg.NewProduceRequestTopicPartition()
			part.Partition = rapid.Int32().Draw(t, "index")
			switch rapid.IntRange(0, 5).Draw(t, "records") {
			case 0: // Null.
			case 1:
				part.Records = []byte{}
			default:
				part.Records = rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "bytes")
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// TestProduceWalkAgreesWithKmsg reads requests both ways.
func TestProduceWalkAgreesWithKmsg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawProduce(t)
		body := req.AppendTo(nil)
		topics, parts, ok := countProduce(body, req.Version)
		if !ok || topics != len(req.Topics) {
			t.Fatalf("counted %d topics, %v", topics, ok)
		}
		var q produceRequest
		q.read(body, req.Version)
		if len(q.parts) != parts {
			t.Fatalf("counted %d partitions, read %d", parts, len(q.parts))
		}
		if err := sameProduce(&q, req); err != nil {
			t.Fatal(err)
		}
	})
}

// sameProduce says what of a request was read otherwise.
func sameProduce(q *produceRequest, req *kmsg.ProduceRequest) error {
	if q.acks != req.Acks || q.timeoutMs != req.TimeoutMillis || (q.txnID == nil) != (req.TransactionID == nil) ||
		req.TransactionID != nil && string(q.txnID) != *req.TransactionID {
		return fmt.Errorf("read %d %d %q of %+v", q.acks, q.timeoutMs, q.txnID, req)
	}
	rest := q.parts
	for i, topic := range req.Topics {
		if string(q.topics[i].name) != topic.Topic || q.topics[i].id != topic.TopicID || q.topics[i].parts != len(topic.Partitions) {
			return fmt.Errorf("topic %d is %+v, want %+v", i, q.topics[i], topic)
		}
		for j, part := range topic.Partitions {
			if rest[j].index != part.Partition || !bytes.Equal(rest[j].records, part.Records) || (rest[j].records == nil) != (part.Records == nil) {
				return fmt.Errorf("partition %d/%d is %v, want %v", i, j, rest[j], part)
			}
		}
		rest = rest[len(topic.Partitions):]
	}
	return nil
}

// TestProduceResponseAsKmsgReadsIt encodes results and decodes them with kmsg.
func TestProduceResponseAsKmsgReadsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawProduce(t)
		want := kmsg.NewPtrProduceResponse()
		want.Version = req.Version
		want.ThrottleMillis = rapid.Int32().Draw(t, "throttle")
		var q produceRequest
		q.read(req.AppendTo(nil), req.Version)
		for i, topic := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			for j := range topic.Partitions {
				rt.Partitions = append(rt.Partitions, drawResult(t, req.Version, q.part(i, j)))
			}
			want.Topics = append(want.Topics, rt)
		}
		nodes := drawNodes(t)
		if req.Version >= 10 {
			want.Brokers = brokersOfProduce(nodes)
		}
		if got, want := q.appendTo(nil, want.ThrottleMillis, nodes), want.AppendTo(nil); !bytes.Equal(got, want) {
			t.Fatalf("version %d:\n got %x\nwant %x", req.Version, got, want)
		}
	})
}

// part is the j-th partition of the i-th topic.
func (q *produceRequest) part(i, j int) *producePart {
	for _, t := range q.topics[:i] {
		j += t.parts
	}
	return &q.parts[j]
}

// drawResult draws the result of a partition, and returns it as kmsg has it.
func drawResult(t *rapid.T, version int16, p *producePart) kmsg.ProduceResponseTopicPartition {
	p.code = rapid.SampledFrom([]int16{0, 3, 6, 87}).Draw(t, "code")
	p.baseOffset = rapid.Int64().Draw(t, "base")
	p.appendTimeMs = rapid.Int64().Draw(t, "append time")
	p.logStart = rapid.Int64().Draw(t, "log start")
	if rapid.Bool().Draw(t, "message") {
		p.message = kmsg.StringPtr("what is wrong")
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "record errors") {
		p.recordErrors = append(p.recordErrors, batch.RecordError{Index: int32(i), Message: rapid.SampledFrom([]string{"", "bad"}).Draw(t, "bad")})
	}
	if rapid.Bool().Draw(t, "leader") {
		p.currentLeader = leaderHint{3, 9}
	}

	k := kmsg.NewProduceResponseTopicPartition()
	k.Partition, k.ErrorCode, k.BaseOffset, k.LogAppendTime, k.LogStartOffset = p.index, p.code, p.baseOffset, p.appendTimeMs, p.logStart
	k.ErrorMessage = p.message
	for _, e := range p.recordErrors {
		ke := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		ke.RelativeOffset, ke.ErrorMessage = e.Index, orNull(e.Message)
		k.ErrorRecords = append(k.ErrorRecords, ke)
	}
	if version >= 10 {
		k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = p.currentLeader.id, p.currentLeader.epoch
	}
	return k
}

func drawNodes(t *rapid.T) (nodes []node) {
	for i := range rapid.IntRange(0, 2).Draw(t, "nodes") {
		n := node{id: int32(i), host: "broker", port: 9092}
		if i == 1 {
			n.rack = kmsg.StringPtr("rack")
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func brokersOfProduce(nodes []node) (brokers []kmsg.ProduceResponseBroker) {
	for _, n := range nodes {
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, n.rack
		brokers = append(brokers, b)
	}
	return brokers
}

// FuzzProduceWalk holds the walk to kmsg on any bytes: it must refuse what kmsg
// refuses and read the same from what it takes, never allocate for what is not
// there, and never panic.
func FuzzProduceWalk(f *testing.F) {
	for _, v := range []int16{3, 8, 9, 12, 13} {
		req := kmsg.NewPtrProduceRequest()
		req.Version = v
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic = "t"
		part := kmsg.NewProduceRequestTopicPartition()
		part.Records = []byte("records")
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		f.Add(v, req.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 3 || version > 13 {
			return
		}
		topics, parts, ok := countProduce(body, version)
		if topics*minProduceTopicBytes+parts*minProducePartBytes > len(body) {
			t.Fatalf("%d topics and %d partitions in %d bytes", topics, parts, len(body))
		}
		req := kmsg.NewPtrProduceRequest()
		req.Version = version
		err := req.ReadFrom(body)
		if ok && err != nil {
			t.Fatalf("took what kmsg refuses: %v", err)
		}
		if !ok {
			return // kmsg takes some negative lengths for null.
		}
		var q produceRequest
		q.read(body, version)
		if err := sameProduce(&q, req); err != nil {
			t.Fatal(err)
		}
	})
}
