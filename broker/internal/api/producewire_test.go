package api

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/iotest"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/protocol"
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

// readProduce reads a request as the handler does, and makes kmsg's of it.
func readProduce(in Stream, version int16) (*kmsg.ProduceRequest, error) {
	r := newProduceReader(in, version)
	var q produceRequest
	topics := r.header(&q)
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis, req.TransactionID = q.version, q.acks, q.timeoutMs, q.txnID
	for ; topics > 0 && r.err == nil; topics-- {
		t := r.topic()
		kt := kmsg.NewProduceRequestTopic()
		kt.Topic, kt.TopicID = t.name, t.id
		for i := 0; i < t.parts && r.err == nil; i++ {
			r.part(func(index int32, records []byte) {
				p := kmsg.NewProduceRequestTopicPartition()
				p.Partition, p.Records = index, bytes.Clone(records)
				kt.Partitions = append(kt.Partitions, p)
			})
		}
		r.tags()
		req.Topics = append(req.Topics, kt)
	}
	r.tags()
	return req, r.err
}

// TestProduceReaderAgreesWithKmsg reads requests both ways, in memory and as
// they arrive.
func TestProduceReaderAgreesWithKmsg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawProduce(t)
		body := req.AppendTo(nil)
		topics, _, err := scanProduce(body, req.Version, nil)
		if err != nil || topics != len(req.Topics) {
			t.Fatalf("scanned %d topics, %v", topics, err)
		}
		m := memory(body)
		for name, in := range map[string]Stream{"in memory": &m, "arriving": arriving(body)} {
			got, err := readProduce(in, req.Version)
			if err != nil || in.Left() != 0 {
				t.Fatalf("%s: %d bytes left, %v", name, in.Left(), err)
			}
			if again := got.AppendTo(nil); !bytes.Equal(again, body) {
				t.Fatalf("%s:\n got %x\nwant %x", name, again, body)
			}
		}
	})
}

// arriving is a body as a connection's reader hands it out, a few bytes at a
// time.
func arriving(body []byte) Stream {
	frame := binary.BigEndian.AppendUint32(nil, uint32(10+len(body)))
	frame = append(frame, make([]byte, 10)...) // Key 0: Produce.
	r := protocol.NewReader(iotest.OneByteReader(bytes.NewReader(append(frame, body...))), new(protocol.Pool), nil)
	if _, err := r.Begin(protocol.Limits{}.WithDefaults(), true); err != nil {
		panic(err)
	}
	if _, err := r.Peek(10); err != nil {
		panic(err)
	}
	r.Skip(10)
	return r
}

// TestProduceResponseAsKmsgReadsIt encodes results and decodes them with kmsg.
func TestProduceResponseAsKmsgReadsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		req := drawProduce(t)
		want := kmsg.NewPtrProduceResponse()
		want.Version = req.Version
		want.ThrottleMillis = rapid.Int32().Draw(t, "throttle")
		q := produceRequest{version: req.Version}
		for _, topic := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
			q.topics = append(q.topics, produceTopic{topic.Topic, topic.TopicID, len(topic.Partitions)})
			for _, part := range topic.Partitions {
				p := producePart{part.Partition, failed(0)}
				rt.Partitions = append(rt.Partitions, drawResult(t, req.Version, &p))
				q.parts = append(q.parts, p)
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

// FuzzProduceReader holds the reader to kmsg on any bytes: it must refuse what
// kmsg refuses and read the same from what it takes, never count what is not
// there, and never panic.
func FuzzProduceReader(f *testing.F) {
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
		topics, parts, err := scanProduce(body, version, nil)
		if topics*minProduceTopicBytes > len(body) || parts*minProducePartBytes > len(body) {
			t.Fatalf("%d topics and %d partitions in %d bytes", topics, parts, len(body))
		}
		m := memory(body)
		got, readErr := readProduce(&m, version)
		if (err == nil) != (readErr == nil) {
			t.Fatalf("scanned: %v; read: %v", err, readErr)
		}
		req := kmsg.NewPtrProduceRequest()
		req.Version = version
		kmsgErr := req.ReadFrom(body)
		switch {
		case err == nil && kmsgErr != nil:
			t.Fatalf("took what kmsg refuses: %v", kmsgErr)
		case err != nil: // kmsg takes some negative lengths for null.
		case !bytes.Equal(got.AppendTo(nil), req.AppendTo(nil)) && !tagged(req):
			t.Fatalf("read %x of %x", got.AppendTo(nil), req.AppendTo(nil))
		}
	})
}

// tagged says whether a request has tagged fields, which our reader drops and
// kmsg keeps.
func tagged(req *kmsg.ProduceRequest) bool {
	n := req.UnknownTags.Len()
	for _, t := range req.Topics {
		n += t.UnknownTags.Len()
		for _, p := range t.Partitions {
			n += p.UnknownTags.Len()
		}
	}
	return n > 0
}
