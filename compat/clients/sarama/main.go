// Program sarama runs the scripts through sarama, which speaks as a release of Kafka
// that its user names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

var release = flag.String("release", "4.0.0", "the release of Kafka to speak as")

func main() { script.Main(dial) }

func dial(bootstrap string) (script.Client, error) {
	version, err := sarama.ParseKafkaVersion(*release)
	if err != nil {
		return nil, err
	}
	c := &client{bootstrap: bootstrap, version: version}
	if c.sarama, err = sarama.NewClient([]string{bootstrap}, c.config()); err != nil {
		return nil, err
	}
	c.admin, err = sarama.NewClusterAdminFromClient(c.sarama)
	return c, err
}

type client struct {
	bootstrap string
	version   sarama.KafkaVersion
	sarama    sarama.Client
	admin     sarama.ClusterAdmin
}

func (c *client) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = c.version
	config.Metadata.AllowAutoTopicCreation = false
	config.Net.ReadTimeout, config.Net.DialTimeout = 20*time.Second, 5*time.Second
	return config
}

func (c *client) Has(feature string) error {
	switch {
	case feature == "kip848":
		return script.NotApplicable("sarama speaks the classic protocol alone")
	case feature == "zstd" && !c.version.IsAtLeast(sarama.V2_1_0_0):
		return script.NotApplicable("zstd is of 2.1 and later")
	case feature == "delete groups" && !c.version.IsAtLeast(sarama.V1_1_0_0):
		return script.NotApplicable("groups are deleted since 1.1")
	}
	return nil
}

var codecs = map[string]sarama.CompressionCodec{
	"": sarama.CompressionNone, "none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func (c *client) Producer(o script.Options) (script.Producer, error) {
	config := c.config()
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Compression = codecs[o.Codec]
	config.Producer.Idempotent = o.Idempotent || o.TransactionalID != ""
	config.Net.MaxOpenRequests = 1 // A retry must not overtake, and idempotence demands it.
	config.Producer.Partitioner = func(topic string) sarama.Partitioner {
		return partitioner{sarama.NewHashPartitioner(topic)}
	}
	if o.MaxBytes > 0 {
		config.Producer.MaxMessageBytes = o.MaxBytes
	}
	if o.TransactionalID != "" {
		config.Producer.Transaction.ID = o.TransactionalID
		config.Producer.Transaction.Timeout = 20 * time.Second
	}
	p, err := sarama.NewSyncProducer([]string{c.bootstrap}, config)
	return &producer{p}, err
}

// partitioner honours a message's partition and leaves Any to another.
type partitioner struct{ sarama.Partitioner }

func (p partitioner) Partition(m *sarama.ProducerMessage, n int32) (int32, error) {
	if m.Partition == script.Any {
		return p.Partitioner.Partition(m, n)
	}
	return m.Partition, nil
}

type producer struct{ sarama.SyncProducer }

func encoder(b []byte) sarama.Encoder {
	if b == nil {
		return nil
	}
	return sarama.ByteEncoder(b)
}

func (p *producer) Send(topic string, records []script.Record) ([]script.Place, error) {
	list := make([]*sarama.ProducerMessage, len(records))
	for i, r := range records {
		list[i] = &sarama.ProducerMessage{Topic: topic, Key: encoder(r.Key), Value: encoder(r.Value), Partition: int32(r.Partition)}
		if r.Timestamp > 0 {
			list[i].Timestamp = time.UnixMilli(r.Timestamp)
		}
		for _, h := range r.Headers {
			list[i].Headers = append(list[i].Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
	}
	if err := p.SendMessages(list); err != nil {
		return nil, err
	}
	places := make([]script.Place, len(list))
	for i, m := range list {
		places[i] = script.Place{Partition: int(m.Partition), Offset: m.Offset}
	}
	return places, nil
}

func (p *producer) Begin() error  { return p.BeginTxn() }
func (p *producer) Commit() error { return p.CommitTxn() }
func (p *producer) Abort() error  { return p.AbortTxn() }

func (p *producer) SendOffset(_ script.Consumer, group, topic string, partition int, offset int64) error {
	at := []*sarama.PartitionOffsetMetadata{{Partition: int32(partition), Offset: offset, LeaderEpoch: -1}}
	return p.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{topic: at}, group)
}

// consumer takes what sarama pushes.
type consumer struct {
	*script.Inbox

	close func() error

	mu      sync.Mutex
	session sarama.ConsumerGroupSession // Of a member.
}

func (c *client) consuming() *sarama.Config {
	config := c.config()
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Fetch.Default = 8 << 20
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = 10 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	return config
}

func (c *client) Reader(topic string, partitions int, committed bool, start int64) (script.Consumer, error) {
	config := c.consuming()
	if committed {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	s, err := sarama.NewConsumer([]string{c.bootstrap}, config)
	if err != nil {
		return nil, err
	}
	out, done := &consumer{Inbox: script.NewInbox()}, make(chan struct{})
	var parts []sarama.PartitionConsumer
	for p := range partitions {
		part, err := s.ConsumePartition(topic, int32(p), start)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		go func() {
			for m := range part.Messages() {
				out.Put(done, m.Topic, record(m))
			}
		}()
		go out.errors(part.Errors())
	}
	out.close = func() error {
		close(done)
		for _, p := range parts {
			p.AsyncClose()
		}
		return s.Close()
	}
	return out, nil
}

func (c *consumer) errors(from <-chan *sarama.ConsumerError) {
	for err := range from {
		c.Fail(err)
	}
}

func record(m *sarama.ConsumerMessage) script.Record {
	r := script.Record{Key: m.Key, Value: m.Value, Partition: int(m.Partition), Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli()}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, script.Header{Key: string(h.Key), Value: h.Value})
	}
	return r
}

func (c *client) Member(group string, topics []string, _ string) (script.Consumer, error) {
	g, err := sarama.NewConsumerGroup([]string{c.bootstrap}, group, c.consuming())
	if err != nil {
		return nil, err
	}
	out, ended := &consumer{Inbox: script.NewInbox()}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := g.Consume(ctx, topics, out); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
				out.Fail(err)
				return
			}
		}
	}()
	go func() {
		for err := range g.Errors() {
			out.Fail(err)
		}
	}()
	out.close = func() error {
		cancel()
		<-ended
		return g.Close()
	}
	return out, nil
}

// Setup, Cleanup and ConsumeClaim are what sarama calls in a member.
func (c *consumer) Setup(s sarama.ConsumerGroupSession) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	var held []string
	for t, ps := range s.Claims() {
		for _, p := range ps {
			held = append(held, fmt.Sprintf("%s/%d", t, p))
		}
	}
	c.Hold(held)
	return nil
}

func (c *consumer) Cleanup(sarama.ConsumerGroupSession) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
	c.Hold(nil)
	return nil
}

func (c *consumer) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		c.Put(s.Context().Done(), m.Topic, record(m))
		if s.Context().Err() != nil {
			break
		}
	}
	return nil
}

func (c *consumer) Commit() error {
	return c.CommitPolled(func(offsets map[string]map[int]int64) error {
		for topic, partitions := range offsets {
			for p, offset := range partitions {
				if err := c.CommitAt(topic, p, offset); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (c *consumer) CommitAt(topic string, partition int, offset int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return errors.New("there is no session to commit in")
	}
	c.session.MarkOffset(topic, int32(partition), offset, "")
	c.session.Commit()
	return c.Err()
}

func (c *consumer) Close() error { return c.close() }

func (c *client) ErrorName(err error) string {
	if failed := sarama.ProducerErrors(nil); errors.As(err, &failed) && len(failed) > 0 {
		err = failed[0].Err
	}
	switch {
	case errors.Is(err, sarama.ErrMessageSizeTooLarge):
		return "MESSAGE_TOO_LARGE"
	case errors.Is(err, sarama.ErrTopicAlreadyExists):
		return "TOPIC_ALREADY_EXISTS"
	}
	return err.Error()
}

func (c *client) Fenced(err error) bool {
	if failed := sarama.ProducerErrors(nil); errors.As(err, &failed) && len(failed) > 0 {
		err = failed[0].Err
	}
	return errors.Is(err, sarama.ErrProducerFenced) || errors.Is(err, sarama.ErrInvalidProducerEpoch)
}
