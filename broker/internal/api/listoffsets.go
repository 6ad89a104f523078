package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
)

// listOffsets serves ListOffsets (2), versions 1 to 11: which offset a timestamp
// stands for, or one of the constants that stand for the ends of a log.
//
// Version 2 knows isolation, 4 leader epochs, 6 is flexible; 7, 8, 9 and 11 each
// bring a constant; 10 brings a timeout, which only matters with tiered storage.
//
// Topics that the principal may not describe come last, as they were asked for; of
// the others each is there once, and each of its partitions.
func listOffsets(_ context.Context, env *Env, call *Call, req *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error) {
	resp := kmsg.NewPtrListOffsetsResponse()
	view, twice := env.view(call), duplicates(req)
	served := newMerging(func(into *kmsg.ListOffsetsResponseTopic, more kmsg.ListOffsetsResponseTopic) {
		into.Partitions = append(into.Partitions, more.Partitions...)
	})
	var refused []kmsg.ListOffsetsResponseTopic
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		if !env.MayTopic(call.Conn, kmsg.ACLOperationDescribe, t.Topic) {
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, failedOffset(p.Partition, kerr.TopicAuthorizationFailed.Code))
			}
			refused = append(refused, rt)
			continue
		}
		for _, p := range t.Partitions {
			tp := topicPartition{t.Topic, p.Partition}
			again, named := twice[tp]
			if !named {
				continue // Answered when it was named first.
			}
			delete(twice, tp)
			rp := failedOffset(p.Partition, 0)
			switch {
			case again:
				rp.ErrorCode = kerr.InvalidRequest.Code
			case !knownTimestamp(p.Timestamp, req.Version):
				rp.ErrorCode = kerr.UnsupportedVersion.Code
			default:
				found, err := view.listOffset(req, t.Topic, p)
				if rp.ErrorCode = listOffsetsCode(err, req.Version); err == nil {
					rp.Offset, rp.Timestamp, rp.LeaderEpoch = found.Offset, found.TimestampMs, found.Epoch
				}
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			served.add(t.Topic, rt)
		}
	}
	resp.Topics = slices.Concat(served.topics, refused)
	return resp, nil
}

// failedOffset is the answer of a partition without an offset.
func failedOffset(partition int32, errorCode int16) kmsg.ListOffsetsResponseTopicPartition {
	rp := kmsg.NewListOffsetsResponseTopicPartition()
	rp.Partition, rp.ErrorCode, rp.Offset, rp.Timestamp, rp.LeaderEpoch = partition, errorCode, -1, -1, -1
	return rp
}

func (v clusterView) listOffset(req *kmsg.ListOffsetsRequest, topic string, p kmsg.ListOffsetsRequestTopicPartition) (replica.Listed, error) {
	r, err := v.named(topic, p.Partition)
	if err != nil {
		return replica.Listed{}, err
	}
	o := replica.ListOptions{
		CurrentEpoch: p.CurrentLeaderEpoch, Client: req.ReplicaID == -1, AnyReplica: req.ReplicaID == debugReplica,
	}
	if req.IsolationLevel == 1 {
		o.Isolation = replica.Committed
	}
	return r.ListOffset(p.Timestamp, o)
}

// listOffsetsCode knows that before version 5 clients were not told that a new
// leader does not know its high watermark yet (KIP-207).
func listOffsetsCode(err error, version int16) int16 {
	c := code(err)
	if c == kerr.OffsetNotAvailable.Code && version < 5 {
		return kerr.LeaderNotAvailable.Code
	}
	return c
}

// knownTimestamp says whether a timestamp means something in that version.
func knownTimestamp(ms int64, version int16) bool {
	switch ms {
	case replica.MaxTimestamp:
		return version >= 7
	case replica.EarliestLocal:
		return version >= 8
	case replica.LatestTiered:
		return version >= 9
	case replica.EarliestPending:
		return version >= 11
	}
	return ms >= replica.Earliest
}

type topicPartition struct {
	topic     string
	partition int32
}

// duplicates are the partitions that a request names more than once.
func duplicates(req *kmsg.ListOffsetsRequest) map[topicPartition]bool {
	seen := make(map[topicPartition]bool)
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			tp := topicPartition{t.Topic, p.Partition}
			_, again := seen[tp]
			seen[tp] = again
		}
	}
	return seen
}
