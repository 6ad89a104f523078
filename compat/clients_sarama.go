package compat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// saramaScenarios are of what users of sarama see, who name the release that it is
// to speak as: it sends other versions of requests for each.
var saramaScenarios = []Scenario{
	{ID: "clients.sarama.codecs", Says: "sarama reads what it wrote with every codec: nulls, empty values, headers and times.", Run: bySarama(saramaCodecs)},
	{ID: "clients.sarama.broken-connections", Says: "An idempotent producer of sarama that loses answers with their connections writes each record once, and in order.", Refs: []string{"KIP-98"}, Run: bySarama(saramaBroken)},
	{ID: "clients.sarama.group", Says: "Members of a group of sarama share what is written, take over from who leaves, and go on where the group committed.", Limit: time.Minute, Run: bySarama(saramaGroup)},
	{ID: "clients.sarama.offsets", Says: "sarama's offset manager finds offsets and metadata that an earlier one committed.", Run: bySarama(saramaOffsets)},
	{ID: "clients.sarama.out-of-range", Says: "sarama says of an offset outside of the log that it is outside.", Run: bySarama(saramaOutOfRange)},
	{ID: "clients.sarama.transactions", Says: "Who reads what is committed by sarama gets what its transactions committed, offsets of a group with it, and nothing of what they aborted.", Refs: []string{"KIP-98"}, Run: bySarama(saramaTransactions)},
	{ID: "clients.sarama.admin", Says: "sarama's admin client makes, changes, describes and deletes topics and groups.", Run: bySaramaAs(saramaReleases[1:], saramaAdmin)}, // As 1.0 it asks in versions that Kafka 4.0 removed.
}

// saramaUser is who uses sarama in a scenario.
type saramaUser struct {
	t       *T
	release sarama.KafkaVersion
}

// saramaReleases are an old one, one of the middle, and a new one.
var saramaReleases = []sarama.KafkaVersion{sarama.V1_0_0_0, sarama.V2_8_0_0, sarama.V4_0_0_0}

// bySarama plays a scenario as every release.
func bySarama(run func(s *saramaUser)) func(t *T) { return bySaramaAs(saramaReleases, run) }

func bySaramaAs(releases []sarama.KafkaVersion, run func(s *saramaUser)) func(t *T) {
	return func(t *T) {
		for _, release := range releases {
			t.Part("as " + release.String())
			run(&saramaUser{t, release})
		}
		t.Part("")
	}
}

// config is sarama's own, with timers that nothing waits for.
func (s *saramaUser) config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version, c.ClientID = s.release, "moldau-compat"
	c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, newCutter(s.t)
	c.Net.MaxOpenRequests = 1
	c.Metadata.Retry.Backoff = 50 * time.Millisecond
	c.Metadata.AllowAutoTopicCreation = false
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Retry.Backoff, c.Producer.Retry.Max = 20*time.Millisecond, 20
	c.Consumer.Return.Errors = true
	c.Consumer.MaxWaitTime = 100 * time.Millisecond
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	return c
}

// fine fails unless an error is nil.
func (s *saramaUser) fine(what string, err error) {
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

// atEnd closes what the scenario leaves open.
func (s *saramaUser) atEnd(closing func() error) { s.t.cleanup(func() { _ = closing() }) }

// seed is the address that clients begin with.
func (s *saramaUser) seed() []string { return []string{s.t.Addr()} }

// producer makes a producer that the scenario's end closes.
func (s *saramaUser) producer(c *sarama.Config) sarama.SyncProducer {
	p, err := sarama.NewSyncProducer(s.seed(), c)
	s.fine("a producer", err)
	s.atEnd(p.Close)
	return p
}

// write writes numbers as values, to each partition in turn.
func (s *saramaUser) write(p sarama.SyncProducer, topic string, partitions, from, n int) {
	var all []*sarama.ProducerMessage
	for i := range n {
		all = append(all, &sarama.ProducerMessage{Topic: topic, Partition: int32(i % partitions), Value: sarama.StringEncoder(strconv.Itoa(from + i))})
	}
	s.fine("produce", p.SendMessages(all))
}

// read reads n records of a partition from an offset.
func (s *saramaUser) read(c *sarama.Config, topic string, at int64, n int) (got []*sarama.ConsumerMessage) {
	consumer, err := sarama.NewConsumer(s.seed(), c)
	s.fine("a consumer", err)
	s.atEnd(consumer.Close)
	partition, err := consumer.ConsumePartition(topic, 0, at)
	s.fine("consume", err)
	for len(got) < n {
		select {
		case m := <-partition.Messages():
			got = append(got, m)
		case err := <-partition.Errors():
			s.t.Fatalf("consume after %d records: %v", len(got), err)
		case <-s.t.Context().Done():
			s.t.Fatalf("%d of %d records came", len(got), n)
		}
	}
	s.fine("end of consuming", partition.Close())
	return got
}

// saramaValues are the values of records as strings.
func saramaValues(records []*sarama.ConsumerMessage) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return all
}

func saramaCodecs(s *saramaUser) {
	topic := s.t.Topic(1)
	codecs := []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4}
	if s.release.IsAtLeast(sarama.V2_1_0_0) {
		codecs = append(codecs, sarama.CompressionZSTD)
	}
	start := time.UnixMilli(time.Now().UnixMilli())
	for _, codec := range codecs {
		c := s.config()
		c.Producer.Compression = codec
		sent := []*sarama.ProducerMessage{
			{Value: sarama.StringEncoder("value")},
			{Key: sarama.StringEncoder("key")},
			{Key: sarama.ByteEncoder{}, Value: sarama.ByteEncoder{}},
			{Key: sarama.StringEncoder("key"), Value: sarama.StringEncoder(strings.Repeat("long ", 2000))},
			{Value: sarama.StringEncoder("headers"), Headers: []sarama.RecordHeader{{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("a"), Value: []byte("2")}}},
			{Value: sarama.StringEncoder("time"), Timestamp: start.Add(-time.Minute)},
		}
		for _, m := range sent {
			m.Topic = topic
			if m.Timestamp.IsZero() {
				m.Timestamp = start
			}
		}
		s.fine(codec.String(), s.producer(c).SendMessages(sent))
		for i, m := range s.read(c, topic, sent[0].Offset, len(sent)) {
			equal(s.t, fmt.Sprint(codec, ", record ", i), saramaSays(m.Offset, m.Key, m.Value, m.Timestamp), saramaSays(sent[i].Offset, encoded(sent[i].Key), encoded(sent[i].Value), sent[i].Timestamp))
			equal(s.t, fmt.Sprint(codec, ", headers of record ", i), len(m.Headers), len(sent[i].Headers))
			for j, h := range m.Headers {
				equal(s.t, "header", string(h.Key)+"="+string(h.Value), string(sent[i].Headers[j].Key)+"="+string(sent[i].Headers[j].Value))
			}
		}
	}
}

func saramaSays(offset int64, key, value []byte, at time.Time) string {
	return fmt.Sprintf("%d: %s %s %d", offset, orNull(key), orNull(value), at.UnixMilli())
}

func encoded(e sarama.Encoder) []byte {
	if e == nil {
		return nil
	}
	b, _ := e.Encode() // Those of bytes and texts do not fail.
	if b == nil {
		b = []byte{}
	}
	return b
}

func saramaBroken(s *saramaUser) {
	const n, cuts = 40, 5
	topic := s.t.Topic(1)
	c := s.config()
	lossy := newCutter(s.t)
	c.Net.Proxy.Dialer = lossy
	c.Producer.Idempotent = true
	p := s.producer(c)
	s.write(p, topic, 1, 0, 1)
	lossy.left.Store(cuts)
	for i := 1; i < n; i++ {
		s.write(p, topic, 1, i, 1)
	}
	equal(s.t, "broken connections", lossy.cuts.Load(), cuts)
	equals(s.t, "values", saramaValues(s.read(s.config(), topic, 0, n)), numbersFrom(0, n))
	equal(s.t, "end of the log", s.t.endOffset(topic), n)
}

// saramaMember is a member of a group of sarama.
type saramaMember struct {
	got   chan *sarama.ConsumerMessage
	fail  chan error
	leave func()

	mu      sync.Mutex
	session sarama.ConsumerGroupSession
	held    int
}

// member makes a member of a group, which joins and takes records at once.
func (s *saramaUser) member(group, topic string) *saramaMember {
	g, err := sarama.NewConsumerGroup(s.seed(), group, s.config())
	s.fine("a member", err)
	m := &saramaMember{got: make(chan *sarama.ConsumerMessage, 1000), fail: make(chan error, 1)}
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{topic}, m); err != nil && ctx.Err() == nil {
				m.fail <- err
				return
			}
		}
	})
	running.Go(func() {
		for err := range g.Errors() {
			if ctx.Err() == nil {
				select {
				case m.fail <- err:
				default:
				}
			}
		}
	})
	m.leave = sync.OnceFunc(func() {
		cancel()
		_ = g.Close()
		running.Wait()
	})
	s.t.cleanup(m.leave)
	return m
}

// Setup is called with what the member holds from now on.
func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	return m.set(session)
}

// Cleanup is called when it holds that no longer.
func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return m.set(nil) }

func (m *saramaMember) set(session sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session, m.held = session, 0
	if session != nil {
		for _, ps := range session.Claims() {
			m.held += len(ps)
		}
	}
	return nil
}

// ConsumeClaim hands over what comes of one partition.
func (m *saramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for record := range claim.Messages() {
		select {
		case m.got <- record:
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
}

// holds is how many partitions a member holds.
func (m *saramaMember) holds() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// commit commits that records were read.
func (m *saramaMember) commit(records []*sarama.ConsumerMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		m.session.MarkMessage(r, "")
	}
	m.session.Commit()
}

// hold waits until members hold numbers of partitions.
func (s *saramaUser) hold(members []*saramaMember, want ...int) {
	s.t.until(fmt.Sprint("members that hold ", want, " partitions"), func() bool {
		var have []int
		for _, m := range members {
			have = append(have, m.holds())
			s.unfailed(m)
		}
		slices.Sort(have)
		return slices.Equal(have, want)
	})
}

// unfailed ends the scenario if a member has failed.
func (s *saramaUser) unfailed(m *saramaMember) {
	select {
	case err := <-m.fail:
		s.t.Fatalf("a member: %v", err)
	default:
	}
}

// take takes n records of a member.
func (s *saramaUser) take(m *saramaMember, n int) (got []*sarama.ConsumerMessage) {
	for len(got) < n {
		select {
		case r := <-m.got:
			got = append(got, r)
		case err := <-m.fail:
			s.t.Fatalf("a member: %v", err)
		case <-s.t.Context().Done():
			s.t.Fatalf("%d of %d records came", len(got), n)
		}
	}
	return got
}

func saramaGroup(s *saramaUser) {
	const partitions = 4
	topic, group := s.t.Topic(partitions), s.t.Group()
	a, b := s.member(group, topic), s.member(group, topic)
	s.hold([]*saramaMember{a, b}, 2, 2)
	p := s.producer(s.config())
	s.write(p, topic, partitions, 0, 40)
	ofA, ofB := s.take(a, 20), s.take(b, 20)
	inAnyOrder(s.t, "what two members read", saramaValues(append(ofA, ofB...)), numbersFrom(0, 40))
	a.commit(ofA)
	b.commit(ofB)
	b.leave()
	s.hold([]*saramaMember{a}, partitions)
	s.write(p, topic, partitions, 40, 40)
	inAnyOrder(s.t, "what the one that stays reads", saramaValues(s.take(a, 40)), numbersFrom(40, 40))
	a.leave() // It has not committed.
	again := s.member(group, topic)
	inAnyOrder(s.t, "what is read after the commit", saramaValues(s.take(again, 40)), numbersFrom(40, 40))
	again.leave()
}

func saramaOffsets(s *saramaUser) {
	topic, group := s.t.Topic(1), s.t.Group()
	client, err := sarama.NewClient(s.seed(), s.config())
	s.fine("a client", err)
	s.atEnd(client.Close)
	manage := func(use func(sarama.OffsetManager, sarama.PartitionOffsetManager)) {
		m, err := sarama.NewOffsetManagerFromClient(group, client)
		s.fine("an offset manager", err)
		p, err := m.ManagePartition(topic, 0)
		s.fine("a partition's offset", err)
		use(m, p)
		p.AsyncClose()
		m.Commit() // What is dirty is written before the manager lets go.
		s.fine("end of a partition's offset", p.Close())
		s.fine("end of an offset manager", m.Close())
	}
	manage(func(m sarama.OffsetManager, p sarama.PartitionOffsetManager) {
		offset, metadata := p.NextOffset()
		equal(s.t, "an offset that nobody committed", fmt.Sprint(offset, metadata), fmt.Sprint(sarama.OffsetOldest, ""))
		p.MarkOffset(7, "seven")
		m.Commit()
	})
	manage(func(m sarama.OffsetManager, p sarama.PartitionOffsetManager) {
		offset, metadata := p.NextOffset()
		equal(s.t, "the committed offset", fmt.Sprint(offset, metadata), fmt.Sprint(7, "seven"))
		p.ResetOffset(3, "three")
		m.Commit()
	})
	equal(s.t, "the offset that was reset", s.t.committed(s.t.newest(kmsg.OffsetFetch, 5), group, topic, 0).Offset, 3)
}

func saramaOutOfRange(s *saramaUser) {
	topic := s.t.Topic(1)
	s.write(s.producer(s.config()), topic, 1, 0, 5)
	s.t.ok("delete records", s.t.deleteRecords(topic, 2).ErrorCode)
	consumer, err := sarama.NewConsumer(s.seed(), s.config())
	s.fine("a consumer", err)
	s.atEnd(consumer.Close)
	for _, at := range []int64{1, 6} {
		if _, err := consumer.ConsumePartition(topic, 0, at); !errors.Is(err, sarama.ErrOffsetOutOfRange) {
			s.t.Fatalf("consume at %d of 2 to 5: got %v, want %v", at, err, sarama.ErrOffsetOutOfRange)
		}
	}
	equals(s.t, "values from the oldest", saramaValues(s.read(s.config(), topic, sarama.OffsetOldest, 3)), numbersFrom(2, 3))
}

func saramaTransactions(s *saramaUser) {
	topic, group := s.t.Topic(1), s.t.Group()
	c := s.config()
	c.Producer.Idempotent = true
	c.Producer.Transaction.ID, c.Producer.Transaction.Timeout = s.t.transactionalID(), time.Minute
	c.Producer.Transaction.Retry.Backoff = 20 * time.Millisecond
	p := s.producer(c)
	for i, commit := range []bool{true, false, true} {
		s.fine("begin", p.BeginTxn())
		s.write(p, topic, 1, 10*i, 10)
		s.fine("offsets", p.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{topic: {{Partition: 0, Offset: int64(10 * (i + 1)), LeaderEpoch: -1}}}, group))
		end := p.AbortTxn
		if commit {
			end = p.CommitTxn
		}
		s.fine("end", end())
		want := []int64{10, 10, 30}[i]
		s.t.until("the group's offset", func() bool {
			return s.t.committed(s.t.newest(kmsg.OffsetFetch, 5), group, topic, 0).Offset == want
		})
	}
	committed := s.config()
	committed.Consumer.IsolationLevel = sarama.ReadCommitted
	equals(s.t, "committed", saramaValues(s.read(committed, topic, 0, 20)), append(numbersFrom(0, 10), numbersFrom(20, 10)...))
	equals(s.t, "all", saramaValues(s.read(s.config(), topic, 0, 30)), numbersFrom(0, 30))
}

func saramaAdmin(s *saramaUser) {
	admin, err := sarama.NewClusterAdmin(s.seed(), s.config())
	s.fine("an admin client", err)
	s.atEnd(admin.Close)
	topic, group := s.t.name("admin"), s.t.Group()
	s.fine("create a topic", admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": new("1234567")}}, false))
	s.t.deleteAtEnd(topic)
	s.t.served(topic, 2)
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false); !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		s.t.Fatalf("create a topic twice: got %v, want %v", err, sarama.ErrTopicAlreadyExists)
	}
	s.write(s.producer(s.config()), topic, 2, 0, 10)
	s.fine("more partitions", admin.CreatePartitions(topic, 3, nil, false))
	s.t.served(topic, 3)
	s.fine("alter settings", admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": new("7654321")}, false))
	s.t.until("the setting", func() bool {
		described, err := admin.DescribeConfigs([]*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}}, sarama.DescribeConfigsOptions{})
		s.fine("describe settings", err)
		entries := one(s.t, "resources", described).Configs
		return len(entries) == 1 && entries[0].Value == "7654321"
	})
	topics, err := admin.ListTopics()
	s.fine("list topics", err)
	equal(s.t, "partitions", topics[topic].NumPartitions, 3)
	s.fine("delete records", admin.DeleteRecords(topic, map[int32]int64{0: 2}))
	equal(s.t, "start of the log", s.t.startOffset(topic), 2)

	s.t.ok("commit", one(s.t, "partitions", s.t.commit(s.t.newest(kmsg.OffsetCommit, 8), group, topic, committing{partition: 0, offset: 4})))
	offsets, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
	s.fine("offsets of a group", err)
	equal(s.t, "offset", offsets.GetBlock(topic, 0).Offset, 4)
	groups, err := admin.ListConsumerGroups()
	s.fine("list groups", err)
	_, listed := groups[group]
	equal(s.t, "the group is listed", listed, true)
	s.fine("delete the group", admin.DeleteConsumerGroup(group))
	s.fine("delete the topic", admin.DeleteTopic(topic))
	s.t.until("the topic's end", func() bool { return !s.t.exists(topic) })
}
