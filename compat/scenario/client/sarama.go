package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// SaramaUser is who uses sarama in a scenario.
type SaramaUser struct {
	T       *scenario.T
	Release sarama.KafkaVersion
}

// SaramaReleases are an old one, one of the middle, and a new one.
var SaramaReleases = []sarama.KafkaVersion{sarama.V1_0_0_0, sarama.V2_8_0_0, sarama.V4_0_0_0}

// Config is sarama's own, with timers that nothing waits for.
func (s *SaramaUser) Config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version, c.ClientID = s.Release, "moldau-compat"
	c.Net.Proxy.Enable, c.Net.Proxy.Dialer = true, NewCutter(s.T)
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

// Fine fails unless an error is nil.
func (s *SaramaUser) Fine(what string, err error) {
	if err != nil {
		s.T.Fatalf("%s: %v", what, err)
	}
}

// AtEnd closes what the scenario leaves open.
func (s *SaramaUser) AtEnd(closing func() error) { s.T.Cleanup(func() { _ = closing() }) }

// Seed is the address that clients begin with.
func (s *SaramaUser) Seed() []string { return []string{s.T.Addr()} }

// Producer makes a producer that the scenario's end closes.
func (s *SaramaUser) Producer(c *sarama.Config) sarama.SyncProducer {
	p, err := sarama.NewSyncProducer(s.Seed(), c)
	s.Fine("a producer", err)
	s.AtEnd(p.Close)
	return p
}

// Write writes numbers as values, to each partition in turn.
func (s *SaramaUser) Write(p sarama.SyncProducer, topic string, partitions, from, n int) {
	var all []*sarama.ProducerMessage
	for i := range n {
		all = append(all, &sarama.ProducerMessage{Topic: topic, Partition: int32(i % partitions), Value: sarama.StringEncoder(strconv.Itoa(from + i))})
	}
	s.Fine("produce", p.SendMessages(all))
}

// Read reads n records of a partition from an offset.
func (s *SaramaUser) Read(c *sarama.Config, topic string, at int64, n int) (got []*sarama.ConsumerMessage) {
	consumer, err := sarama.NewConsumer(s.Seed(), c)
	s.Fine("a consumer", err)
	s.AtEnd(consumer.Close)
	partition, err := consumer.ConsumePartition(topic, 0, at)
	s.Fine("consume", err)
	for len(got) < n {
		select {
		case m := <-partition.Messages():
			got = append(got, m)
		case err := <-partition.Errors():
			s.T.Fatalf("consume after %d records: %v", len(got), err)
		case <-s.T.Context().Done():
			s.T.Fatalf("%d of %d records came", len(got), n)
		}
	}
	s.Fine("end of consuming", partition.Close())
	return got
}

// SaramaValues are the values of records as strings.
func SaramaValues(records []*sarama.ConsumerMessage) (all []string) {
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return all
}

// SaramaMember is a member of a group of sarama.
type SaramaMember struct {
	got   chan *sarama.ConsumerMessage
	fail  chan error
	Leave func()

	mu      sync.Mutex
	session sarama.ConsumerGroupSession
	held    int
}

// Member makes a member of a group, which joins and takes records at once.
func (s *SaramaUser) Member(group, topic string) *SaramaMember {
	g, err := sarama.NewConsumerGroup(s.Seed(), group, s.Config())
	s.Fine("a member", err)
	m := &SaramaMember{got: make(chan *sarama.ConsumerMessage, 1000), fail: make(chan error, 1)}
	ctx, cancel := context.WithCancel(s.T.Context())
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
	m.Leave = sync.OnceFunc(func() {
		cancel()
		_ = g.Close()
		running.Wait()
	})
	s.T.Cleanup(m.Leave)
	return m
}

// Setup is called with what the member holds from now on.
func (m *SaramaMember) Setup(session sarama.ConsumerGroupSession) error {
	return m.set(session)
}

// Cleanup is called when it holds that no longer.
func (m *SaramaMember) Cleanup(sarama.ConsumerGroupSession) error { return m.set(nil) }

func (m *SaramaMember) set(session sarama.ConsumerGroupSession) error {
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
func (m *SaramaMember) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
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
func (m *SaramaMember) holds() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
}

// Commit commits that records were read.
func (m *SaramaMember) Commit(records []*sarama.ConsumerMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range records {
		m.session.MarkMessage(r, "")
	}
	m.session.Commit()
}

// Hold waits until members hold numbers of partitions.
func (s *SaramaUser) Hold(members []*SaramaMember, want ...int) {
	s.T.Until(fmt.Sprint("members that hold ", want, " partitions"), func() bool {
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
func (s *SaramaUser) unfailed(m *SaramaMember) {
	select {
	case err := <-m.fail:
		s.T.Fatalf("a member: %v", err)
	default:
	}
}

// Take takes n records of a member.
func (s *SaramaUser) Take(m *SaramaMember, n int) (got []*sarama.ConsumerMessage) {
	for len(got) < n {
		select {
		case r := <-m.got:
			got = append(got, r)
		case err := <-m.fail:
			s.T.Fatalf("a member: %v", err)
		case <-s.T.Context().Done():
			s.T.Fatalf("%d of %d records came", len(got), n)
		}
	}
	return got
}
