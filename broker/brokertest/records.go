package brokertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// Record is a record of a topic.
type Record struct {
	Partition int32
	Offset    int64     // Where it lies; of no meaning for one that is to be written.
	Time      time.Time // To the millisecond; zero is now for one that is to be written.
	// Key and Value are nil for Kafka's null.
	Key, Value []byte
	Headers    []Header
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Produce writes records to a topic, with no client: those of a partition in one
// batch, uncompressed.
func (c *Cluster) Produce(topic string, records ...Record) {
	c.t.Helper()
	if err := c.write(c.t.Context(), topic, records); err != nil {
		c.t.Fatal(err)
	}
}

// Records reads all records of a topic, by partition and offset, with no client.
// Those of transactions are among them, whether committed or not.
func (c *Cluster) Records(topic string) []Record {
	c.t.Helper()
	all, err := c.read(c.t.Context(), topic)
	if err != nil {
		c.t.Fatalf("topic %s: %v", topic, err)
	}
	return all
}

// write is one Produce request.
func (c *Cluster) write(ctx context.Context, topic string, records []Record) error {
	id, err := c.topicID(ctx, topic)
	if err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	batches := map[int32]*batch.Builder{}
	now := time.Now()
	for _, r := range records {
		if batches[r.Partition] == nil {
			batches[r.Partition] = batch.NewBuilder(batch.Plain(0, -1))
		}
		at := r.Time
		if at.IsZero() {
			at = now
		}
		var headers []batch.Header
		for _, h := range r.Headers {
			headers = append(headers, batch.Header{Key: []byte(h.Key), Value: h.Value})
		}
		batches[r.Partition].Append(at.UnixMilli(), r.Key, r.Value, headers...)
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.TopicID = topic, id
	for _, n := range slices.Sorted(maps.Keys(batches)) {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = n, batches[n].Build()
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := c.Do(ctx, req)
	if err != nil {
		return fmt.Errorf("records of topic %s were not written: %w", topic, err)
	}
	var errs []error
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				if p.ErrorMessage != nil {
					err = fmt.Errorf("%w (%s)", err, *p.ErrorMessage)
				}
				errs = append(errs, fmt.Errorf("records of topic %s partition %d were not written: %w", topic, p.Partition, err))
			}
		}
	}
	return errors.Join(errs...)
}

// topicID asks for the id of a topic, by which newer requests name it.
func (c *Cluster) topicID(ctx context.Context, topic string) ([16]byte, error) {
	t, err := c.describe(ctx, topic)
	return t.TopicID, err
}

// describe asks for a topic's metadata.
func (c *Cluster) describe(ctx context.Context, topic string) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = &topic
	req.Topics = append(req.Topics, rt)
	resp, err := c.Do(ctx, req)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	t := resp.(*kmsg.MetadataResponse).Topics[0]
	return t, kerr.ErrorForCode(t.ErrorCode)
}

// read reads a topic, partition by partition.
func (c *Cluster) read(ctx context.Context, topic string) ([]Record, error) {
	t, err := c.describe(ctx, topic)
	if err != nil {
		return nil, err
	}
	var all []Record
	for n := range int32(len(t.Partitions)) {
		start, err := c.offset(ctx, topic, n, earliest)
		if err != nil {
			return nil, fmt.Errorf("partition %d: %w", n, err)
		}
		end, err := c.offset(ctx, topic, n, latest)
		for err == nil && start < end {
			var p kmsg.FetchResponseTopicPartition
			if p, err = c.fetch(ctx, topic, t.TopicID, n, start); err != nil {
				break
			}
			from := start
			if all, start, err = unpack(all, p.RecordBatches, n, from); err == nil && start == from {
				err = fmt.Errorf("nothing was read at offset %d, before the end at %d", from, end)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("partition %d: %w", n, err)
		}
	}
	return all, nil
}

// What a ListOffsets request asks for in place of a time.
const latest, earliest = -1, -2

// offset asks for an end of a partition. A leader that has just begun may not know
// yet how much of its log is committed; that is waited for.
func (c *Cluster) offset(ctx context.Context, topic string, partition int32, which int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = partition, which, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	for {
		resp, err := c.Do(ctx, req)
		if err != nil {
			return 0, err
		}
		p := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		err = kerr.ErrorForCode(p.ErrorCode)
		if !errors.Is(err, kerr.OffsetNotAvailable) {
			return p.Offset, err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// fetch is one Fetch request for a partition.
func (c *Cluster) fetch(ctx context.Context, topic string, id [16]byte, partition int32, from int64) (kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 16<<20, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, id
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = partition, from, 16<<20, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := c.Do(ctx, req)
	if err != nil {
		return kmsg.FetchResponseTopicPartition{}, err
	}
	r := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return kmsg.FetchResponseTopicPartition{}, err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return kmsg.FetchResponseTopicPartition{}, errors.New("the answer is not about the partition that was asked for")
	}
	p := r.Topics[0].Partitions[0]
	return p, kerr.ErrorForCode(p.ErrorCode)
}

// BatchRecords decodes the records of batches as requests and answers carry them:
// ProduceRequestTopicPartition.Records, FetchResponseTopicPartition.RecordBatches.
// It is for hooks that want to see what a client writes or reads. Partition is
// zero in all of them; Offset is what the batch says, which is the broker's to
// decide in a Produce.
func BatchRecords(batches []byte) ([]Record, error) {
	records, _, err := unpack(nil, batches, 0, 0)
	return records, err
}

// unpackLimit bounds what one batch may become: this is data of a test.
const unpackLimit = 1 << 30

// unpack appends the records in batches, from an offset on, and returns the offset
// behind them.
func unpack(all []Record, in []byte, partition int32, from int64) ([]Record, int64, error) {
	for len(in) > 0 {
		b, rest, err := batch.Next(in)
		if err != nil {
			return all, from, err
		}
		in = rest
		if !b.Control() {
			records := b.Records(unpackLimit)
			for records.Next() {
				if records.Offset() >= from {
					all = append(all, record(partition, records))
				}
			}
			records.Close()
			if err := records.Err(); err != nil {
				return all, from, err
			}
		}
		from = b.NextOffset()
	}
	return all, from, nil
}

// record copies the record that an iterator stands at.
func record(partition int32, at *batch.Iter) Record {
	r := at.Record()
	out := Record{
		Partition: partition, Offset: at.Offset(), Time: time.UnixMilli(at.Timestamp()),
		Key: slices.Clone(r.Key), Value: slices.Clone(r.Value),
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{string(h.Key), slices.Clone(h.Value)})
	}
	return out
}
