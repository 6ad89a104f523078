package clients

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
	"github.com/moldau-broker/moldau/compat/scenario/client"
)

// saramaScenarios are of what users of sarama see, who name the release that it is to speak
// as: it sends other versions of requests for each.
var saramaScenarios = []scenario.Scenario{
	{ID: "clients.sarama.codecs", Says: "sarama reads what it wrote with every codec: nulls, empty values, headers and times.", Run: bySarama(saramaCodecs)},
	{ID: "clients.sarama.broken-connections", Says: "An idempotent producer of sarama that loses answers with their connections writes each record once, and in order.", Refs: []string{"KIP-98"}, Run: bySarama(saramaBroken)},
	{ID: "clients.sarama.group", Says: "Members of a group of sarama share what is written, take over from who leaves, and go on where the group committed.", Limit: time.Minute, Run: bySarama(saramaGroup)},
	{ID: "clients.sarama.offsets", Says: "sarama's offset manager finds offsets and metadata that an earlier one committed.", Run: bySarama(saramaOffsets)},
	{ID: "clients.sarama.out-of-range", Says: "sarama says of an offset outside of the log that it is outside.", Run: bySarama(saramaOutOfRange)},
	{ID: "clients.sarama.transactions", Says: "Who reads what is committed by sarama gets what its transactions committed, offsets of a group with it, and nothing of what they aborted.", Refs: []string{"KIP-98"}, Run: bySarama(saramaTransactions)},
	{ID: "clients.sarama.admin", Says: "sarama's admin client makes, changes, describes and deletes topics and groups.", Run: bySaramaAs(client.SaramaReleases[1:], saramaAdmin)}, // As 1.0 it asks in versions that Kafka 4.0 removed.
}

// bySarama plays a scenario as every release.
func bySarama(run func(s *client.SaramaUser)) func(t *scenario.T) {
	return bySaramaAs(client.SaramaReleases, run)
}

func bySaramaAs(releases []sarama.KafkaVersion, run func(s *client.SaramaUser)) func(t *scenario.T) {
	return func(t *scenario.T) {
		for _, release := range releases {
			t.Part("as " + release.String())
			run(&client.SaramaUser{T: t, Release: release})
		}
		t.Part("")
	}
}

func saramaCodecs(s *client.SaramaUser) {
	topic := s.T.Topic(1)
	codecs := []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4}
	if s.Release.IsAtLeast(sarama.V2_1_0_0) {
		codecs = append(codecs, sarama.CompressionZSTD)
	}
	start := time.UnixMilli(time.Now().UnixMilli())
	for _, codec := range codecs {
		c := s.Config()
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
		s.Fine(codec.String(), s.Producer(c).SendMessages(sent))
		for i, m := range s.Read(c, topic, sent[0].Offset, len(sent)) {
			scenario.Equal(s.T, fmt.Sprint(codec, ", record ", i), saramaSays(m.Offset, m.Key, m.Value, m.Timestamp), saramaSays(sent[i].Offset, encoded(sent[i].Key), encoded(sent[i].Value), sent[i].Timestamp))
			scenario.Equal(s.T, fmt.Sprint(codec, ", headers of record ", i), len(m.Headers), len(sent[i].Headers))
			for j, h := range m.Headers {
				scenario.Equal(s.T, "header", string(h.Key)+"="+string(h.Value), string(sent[i].Headers[j].Key)+"="+string(sent[i].Headers[j].Value))
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

func saramaBroken(s *client.SaramaUser) {
	const n, cuts = 40, 5
	topic := s.T.Topic(1)
	c := s.Config()
	lossy := client.NewCutter(s.T)
	c.Net.Proxy.Dialer = lossy
	c.Producer.Idempotent = true
	p := s.Producer(c)
	s.Write(p, topic, 1, 0, 1)
	lossy.Left.Store(cuts)
	for i := 1; i < n; i++ {
		s.Write(p, topic, 1, i, 1)
	}
	scenario.Equal(s.T, "broken connections", lossy.Cuts.Load(), cuts)
	scenario.EqualLists(s.T, "values", client.SaramaValues(s.Read(s.Config(), topic, 0, n)), client.NumbersFrom(0, n))
	scenario.Equal(s.T, "end of the log", s.T.EndOffset(topic), n)
}

func saramaGroup(s *client.SaramaUser) {
	const partitions = 4
	topic, group := s.T.Topic(partitions), s.T.Group()
	a, b := s.Member(group, topic), s.Member(group, topic)
	s.Hold([]*client.SaramaMember{a, b}, 2, 2)
	p := s.Producer(s.Config())
	s.Write(p, topic, partitions, 0, 40)
	ofA, ofB := s.Take(a, 20), s.Take(b, 20)
	inAnyOrder(s.T, "what two members read", client.SaramaValues(append(ofA, ofB...)), client.NumbersFrom(0, 40))
	a.Commit(ofA)
	b.Commit(ofB)
	b.Leave()
	s.Hold([]*client.SaramaMember{a}, partitions)
	s.Write(p, topic, partitions, 40, 40)
	inAnyOrder(s.T, "what the one that stays reads", client.SaramaValues(s.Take(a, 40)), client.NumbersFrom(40, 40))
	a.Leave() // It has not committed.
	again := s.Member(group, topic)
	inAnyOrder(s.T, "what is read after the commit", client.SaramaValues(s.Take(again, 40)), client.NumbersFrom(40, 40))
	again.Leave()
}

func saramaOffsets(s *client.SaramaUser) {
	topic, group := s.T.Topic(1), s.T.Group()
	client, err := sarama.NewClient(s.Seed(), s.Config())
	s.Fine("a client", err)
	s.AtEnd(client.Close)
	manage := func(use func(sarama.OffsetManager, sarama.PartitionOffsetManager)) {
		m, err := sarama.NewOffsetManagerFromClient(group, client)
		s.Fine("an offset manager", err)
		p, err := m.ManagePartition(topic, 0)
		s.Fine("a partition's offset", err)
		use(m, p)
		p.AsyncClose()
		m.Commit() // What is dirty is written before the manager lets go.
		s.Fine("end of a partition's offset", p.Close())
		s.Fine("end of an offset manager", m.Close())
	}
	manage(func(m sarama.OffsetManager, p sarama.PartitionOffsetManager) {
		offset, metadata := p.NextOffset()
		scenario.Equal(s.T, "an offset that nobody committed", fmt.Sprint(offset, metadata), fmt.Sprint(sarama.OffsetOldest, ""))
		p.MarkOffset(7, "seven")
		m.Commit()
	})
	manage(func(m sarama.OffsetManager, p sarama.PartitionOffsetManager) {
		offset, metadata := p.NextOffset()
		scenario.Equal(s.T, "the committed offset", fmt.Sprint(offset, metadata), fmt.Sprint(7, "seven"))
		p.ResetOffset(3, "three")
		m.Commit()
	})
	scenario.Equal(s.T, "the offset that was reset", s.T.Committed(s.T.Newest(kmsg.OffsetFetch, 5), group, topic, 0).Offset, 3)
}

func saramaOutOfRange(s *client.SaramaUser) {
	topic := s.T.Topic(1)
	s.Write(s.Producer(s.Config()), topic, 1, 0, 5)
	s.T.OK("delete records", s.T.DeleteRecords(topic, 2).ErrorCode)
	consumer, err := sarama.NewConsumer(s.Seed(), s.Config())
	s.Fine("a consumer", err)
	s.AtEnd(consumer.Close)
	for _, at := range []int64{1, 6} {
		if _, err := consumer.ConsumePartition(topic, 0, at); !errors.Is(err, sarama.ErrOffsetOutOfRange) {
			s.T.Fatalf("consume at %d of 2 to 5: got %v, want %v", at, err, sarama.ErrOffsetOutOfRange)
		}
	}
	scenario.EqualLists(s.T, "values from the oldest", client.SaramaValues(s.Read(s.Config(), topic, sarama.OffsetOldest, 3)), client.NumbersFrom(2, 3))
}

func saramaTransactions(s *client.SaramaUser) {
	topic, group := s.T.Topic(1), s.T.Group()
	c := s.Config()
	c.Producer.Idempotent = true
	c.Producer.Transaction.ID, c.Producer.Transaction.Timeout = s.T.TransactionalID(), time.Minute
	c.Producer.Transaction.Retry.Backoff = 20 * time.Millisecond
	p := s.Producer(c)
	for i, commit := range []bool{true, false, true} {
		s.Fine("begin", p.BeginTxn())
		s.Write(p, topic, 1, 10*i, 10)
		s.Fine("offsets", p.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{topic: {{Partition: 0, Offset: int64(10 * (i + 1)), LeaderEpoch: -1}}}, group))
		end := p.AbortTxn
		if commit {
			end = p.CommitTxn
		}
		s.Fine("end", end())
		want := []int64{10, 10, 30}[i]
		s.T.Until("the group's offset", func() bool {
			return s.T.Committed(s.T.Newest(kmsg.OffsetFetch, 5), group, topic, 0).Offset == want
		})
	}
	committed := s.Config()
	committed.Consumer.IsolationLevel = sarama.ReadCommitted
	scenario.EqualLists(s.T, "committed", client.SaramaValues(s.Read(committed, topic, 0, 20)), append(client.NumbersFrom(0, 10), client.NumbersFrom(20, 10)...))
	scenario.EqualLists(s.T, "all", client.SaramaValues(s.Read(s.Config(), topic, 0, 30)), client.NumbersFrom(0, 30))
}

func saramaAdmin(s *client.SaramaUser) {
	admin, err := sarama.NewClusterAdmin(s.Seed(), s.Config())
	s.Fine("an admin client", err)
	s.AtEnd(admin.Close)
	topic, group := s.T.Name("admin"), s.T.Group()
	s.Fine("create a topic", admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": new("1234567")}}, false))
	s.T.DeleteTopicAtEnd(topic)
	s.T.Served(topic, 2)
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false); !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		s.T.Fatalf("create a topic twice: got %v, want %v", err, sarama.ErrTopicAlreadyExists)
	}
	s.Write(s.Producer(s.Config()), topic, 2, 0, 10)
	s.Fine("more partitions", admin.CreatePartitions(topic, 3, nil, false))
	s.T.Served(topic, 3)
	s.Fine("alter settings", admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": new("7654321")}, false))
	s.T.Until("the setting", func() bool {
		described, err := admin.DescribeConfigs([]*sarama.ConfigResource{{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}}, sarama.DescribeConfigsOptions{})
		s.Fine("describe settings", err)
		entries := scenario.One(s.T, "resources", described).Configs
		return len(entries) == 1 && entries[0].Value == "7654321"
	})
	topics, err := admin.ListTopics()
	s.Fine("list topics", err)
	scenario.Equal(s.T, "partitions", topics[topic].NumPartitions, 3)
	s.Fine("delete records", admin.DeleteRecords(topic, map[int32]int64{0: 2}))
	scenario.Equal(s.T, "start of the log", s.T.StartOffset(topic), 2)

	s.T.OK("commit", scenario.One(s.T, "partitions", s.T.Commit(s.T.Newest(kmsg.OffsetCommit, 8), group, topic, scenario.Committing{Partition: 0, Offset: 4})))
	offsets, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
	s.Fine("offsets of a group", err)
	scenario.Equal(s.T, "offset", offsets.GetBlock(topic, 0).Offset, 4)
	groups, err := admin.ListConsumerGroups()
	s.Fine("list groups", err)
	_, listed := groups[group]
	scenario.Equal(s.T, "the group is listed", listed, true)
	s.Fine("delete the group", admin.DeleteConsumerGroup(group))
	s.Fine("delete the topic", admin.DeleteTopic(topic))
	s.T.Until("the topic's end", func() bool { return !s.T.TopicExists(topic) })
}
