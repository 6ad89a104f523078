package api

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteRecords serves DeleteRecords (21), versions 0 to 2: it moves a
// partition's log start up to the asked offset and answers with the new low
// watermark, once all live replicas have followed or the request's time is up.
// Versions 1 and 2 change only the encoding.
func deleteRecords(ctx context.Context, env *Env, call *Call, req *kmsg.DeleteRecordsRequest) (*kmsg.DeleteRecordsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(req.TimeoutMillis, 0))*time.Millisecond)
	defer cancel()
	resp := kmsg.NewPtrDeleteRecordsResponse()
	view := env.view(call)
	var waiting sync.WaitGroup // All move first, and then wait together.
	for _, t := range lastNamed(req.Topics) {
		rt := kmsg.NewDeleteRecordsResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		may := env.MayTopic(call.Conn, kmsg.ACLOperationDelete, t.Topic)
		for i, p := range t.Partitions {
			rp := &rt.Partitions[i]
			rp.Default()
			rp.Partition, rp.LowWatermark = p.Partition, -1
			if !may {
				rp.ErrorCode = kerr.TopicAuthorizationFailed.Code
				continue
			}
			if _, there := view.image.Partition(t.Topic, p.Partition); there && isInternal(t.Topic) {
				rp.ErrorCode = kerr.InvalidTopicException.Code
				continue
			}
			waiting.Go(func() {
				if r, err := view.named(t.Topic, p.Partition); err != nil {
					rp.ErrorCode = code(err)
				} else if low, err := r.DeleteRecords(ctx, p.Offset); err != nil {
					rp.ErrorCode = code(err)
				} else {
					rp.LowWatermark = low
				}
			})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	waiting.Wait()
	return resp, nil
}

// lastNamed is what a request asks for, with each topic and partition once: of a
// partition that is named again Kafka does what is said last.
func lastNamed(topics []kmsg.DeleteRecordsRequestTopic) (once []kmsg.DeleteRecordsRequestTopic) {
	topicAt, partAt := make(map[string]int), make(map[topicPartition]int)
	for _, t := range topics {
		for _, p := range t.Partitions {
			i, ok := topicAt[t.Topic]
			if !ok {
				i = len(once)
				topicAt[t.Topic] = i
				once = append(once, kmsg.DeleteRecordsRequestTopic{Topic: t.Topic})
			}
			tp := topicPartition{t.Topic, p.Partition}
			if j, again := partAt[tp]; again {
				once[i].Partitions[j] = p
				continue
			}
			partAt[tp] = len(once[i].Partitions)
			once[i].Partitions = append(once[i].Partitions, p)
		}
	}
	return once
}
