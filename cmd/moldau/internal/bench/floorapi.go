package bench

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// floorVersions is what the probe serves: as little as franz-go needs to make a
// topic, write it and read it. Versions are picked so that each API has one form
// on the wire.
var floorVersions = []struct{ key, low, high int16 }{
	{keyProduce, 9, 11},
	{keyFetch, 12, 12},
	{keyListOffsets, 6, 6},
	{keyMetadata, 9, 12},
	{keyAPIVersions, 0, 3},
	{keyCreateTopics, 5, 6},
	{keyDeleteTopics, 4, 5},
	{keyInitProducerID, 2, 4},
}

// Numbers of the APIs.
const (
	keyProduce        = 0
	keyListOffsets    = 2
	keyMetadata       = 3
	keyAPIVersions    = 18
	keyCreateTopics   = 19
	keyDeleteTopics   = 20
	keyInitProducerID = 22
)

// served says whether the probe serves a request's version.
func served(q request) bool {
	for _, v := range floorVersions {
		if v.key == q.key {
			return v.low <= q.version && q.version <= v.high
		}
	}
	return false
}

// flexible says whether the request's header has tagged fields.
func flexible(q request) bool { return q.key != keyAPIVersions || q.version >= 3 }

// answer serves one request.
func (c *floorConn) answer(ctx context.Context, q request, r *frame) error {
	if !served(q) {
		if q.key == keyAPIVersions {
			// A client that offers a newer version is told in version 0.
			r.skip(r.left)
			resp := c.floor.apiVersions()
			resp.ErrorCode = codeBadVersion
			return c.send(request{keyAPIVersions, 0, q.correlation}, resp)
		}
		return fmt.Errorf("API %d version %d is not served by the probe", q.key, q.version)
	}
	if q.key == keyProduce {
		return c.produce(q, r)
	}
	body := make([]byte, r.left)
	if r.bytes(body); r.err != nil {
		return r.err
	}
	req := kmsg.RequestForKey(q.key)
	req.SetVersion(q.version)
	if err := req.ReadFrom(body); err != nil {
		return err
	}
	var resp kmsg.Response
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		return c.fetch(ctx, q, req)
	case *kmsg.ApiVersionsRequest:
		resp = c.floor.apiVersions()
	case *kmsg.MetadataRequest:
		resp = c.floor.metadata(req)
	case *kmsg.ListOffsetsRequest:
		resp = c.floor.listOffsets(req)
	case *kmsg.CreateTopicsRequest:
		resp = c.floor.createTopics(req)
	case *kmsg.DeleteTopicsRequest:
		resp = c.floor.deleteTopics(req)
	case *kmsg.InitProducerIDRequest:
		answer := kmsg.NewPtrInitProducerIDResponse()
		answer.ProducerID, answer.ProducerEpoch = c.floor.nextProducerID(), 0
		resp = answer
	default:
		return fmt.Errorf("BUG: API %d is offered and not served", q.key)
	}
	return c.send(q, resp)
}

func (c *floorConn) send(q request, resp kmsg.Response) error {
	resp.SetVersion(q.version)
	c.begin(q)
	c.out = resp.AppendTo(c.out)
	c.finish(0)
	_, err := c.conn.Write(c.out)
	return err
}

func (f *Floor) apiVersions() *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	for _, v := range floorVersions {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = v.key, v.low, v.high
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

const floorNode = 1

func (f *Floor) metadata(req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = floorNode, f.host, f.port
	resp.Brokers = append(resp.Brokers, b)
	resp.ControllerID = floorNode
	f.mu.Lock()
	defer f.mu.Unlock()
	if req.Topics == nil {
		for _, t := range f.mu.topics {
			resp.Topics = append(resp.Topics, describe(t.name, t))
		}
	}
	for _, t := range req.Topics {
		if t.Topic != nil {
			resp.Topics = append(resp.Topics, describe(*t.Topic, f.mu.topics[*t.Topic]))
		}
	}
	return resp
}

// describe tells clients of a topic; nil is one that does not exist.
func describe(name string, t *floorTopic) kmsg.MetadataResponseTopic {
	d := kmsg.NewMetadataResponseTopic()
	d.Topic = &name
	if t == nil {
		d.ErrorCode = codeUnknownTopic
		return d
	}
	for n := range t.partitions {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(n), floorNode, 0
		p.Replicas, p.ISR = []int32{floorNode}, []int32{floorNode}
		d.Partitions = append(d.Partitions, p)
	}
	return d
}

// timestampEarliest in ListOffsets asks for the first offset; any other time is
// answered with the end.
const timestampEarliest = -2

func (f *Floor) listOffsets(req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.Topics {
		answer := kmsg.NewListOffsetsResponseTopic()
		answer.Topic = t.Topic
		for _, q := range t.Partitions {
			a := kmsg.NewListOffsetsResponseTopicPartition()
			a.Partition = q.Partition
			if p := f.partition(t.Topic, q.Partition); p == nil {
				a.ErrorCode = codeUnknownTopic
			} else {
				a.Offset, a.LeaderEpoch = 0, 0
				if q.Timestamp != timestampEarliest {
					a.Offset = p.endOffset()
				}
			}
			answer.Partitions = append(answer.Partitions, a)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}

func (f *Floor) createTopics(req *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	resp := kmsg.NewPtrCreateTopicsResponse()
	for _, t := range req.Topics {
		flush := false
		for _, c := range t.Configs {
			flush = flush || c.Name == "flush.messages" && c.Value != nil && *c.Value == "1"
		}
		answer := kmsg.NewCreateTopicsResponseTopic()
		answer.Topic = t.Topic
		f.create(t.Topic, max(int(t.NumPartitions), 1), flush)
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}

func (f *Floor) deleteTopics(req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	for _, name := range req.TopicNames {
		answer := kmsg.NewDeleteTopicsResponseTopic()
		answer.Topic = &name
		f.remove(name)
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}
