package cli

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// probe asks the leaders of partitions of which nothing comes whether there is
// anything before their end: compaction and deletion leave ends that no record
// stands before, and nobody but a leader knows a slow broker from an empty log. It
// reports whether a partition goes on.
func (r *reader) probe(ctx context.Context, cl *kgo.Client, next map[int32]int64, patience time.Duration) (goesOn bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	adm := kadm.NewClient(cl)
	topics, err := adm.ListTopics(ctx, r.topic)
	if err != nil {
		return false
	}
	topic := topics[r.topic]
	for p, offset := range next {
		at, waiting, err := r.look(ctx, cl.Broker(int(topic.Partitions[p].Leader)), topic.ID, p, offset)
		if errors.Is(err, kerr.OffsetOutOfRange) {
			at, err = logStart(ctx, adm, r.topic, p)
		}
		if err == nil && at > offset {
			r.advance(p, at)
			waiting = true
		}
		goesOn = goesOn || waiting
	}
	return goesOn
}

// look fetches once, without waiting. It returns whether records wait to be read,
// and if not, the offset up to which there are none.
func (r *reader) look(ctx context.Context, leader *kgo.Broker, id [16]byte, partition int32, offset int64) (at int64, waiting bool, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 0, 1, 1<<20, -1
	level := kgo.ReadUncommitted()
	if r.committed {
		req.IsolationLevel, level = 1, kgo.ReadCommitted()
	}
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = r.topic, id
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = partition, offset, 1<<20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, leader)
	switch {
	case err != nil:
		return 0, false, err
	case resp.ErrorCode != 0:
		return 0, false, kerr.ErrorForCode(resp.ErrorCode)
	case len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1:
		return 0, false, kerr.UnknownTopicOrPartition
	}
	got := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return 0, false, err
	}
	end := got.HighWatermark
	if r.committed {
		end = got.LastStableOffset
	}
	if len(got.RecordBatches) == 0 {
		return max(offset, end), false, nil // Nothing stands from here to the end.
	}
	found, after := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: offset, IsolationLevel: level, Topic: r.topic, Partition: partition,
	}, got, kgo.DefaultDecompressor(), nil)
	if len(found.Records) > 0 {
		return offset, true, found.Err
	}
	return after, false, found.Err
}

// logStart is where a partition begins now.
func logStart(ctx context.Context, adm *kadm.Client, topic string, partition int32) (int64, error) {
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	found, _ := starts.Lookup(topic, partition)
	return found.Offset, found.Err
}
