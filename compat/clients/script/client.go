package script

import (
	"fmt"
	"sync"
	"time"
)

// Header is one header of a record. A null value is nil.
type Header struct {
	Key   string
	Value []byte
}

// Record is a record to be sent or one that was read. Null is nil.
type Record struct {
	Key, Value []byte
	Headers    []Header
	Partition  int   // Any says that the client may choose.
	Timestamp  int64 // Milliseconds; 0 is now.
	Offset     int64
}

// Any is the partition of a record whose key decides.
const Any = -1

// Place is where a record was acknowledged.
type Place struct {
	Partition int
	Offset    int64
}

// Options are those of a producer.
type Options struct {
	Codec           string // Empty is none.
	Idempotent      bool
	MaxBytes        int // 0 is the client's default.
	TransactionalID string
}

// Producer sends records. What has no transactions returns ErrNotApplicable.
type Producer interface {
	Send(topic string, records []Record) ([]Place, error)
	Begin() error
	Commit() error
	Abort() error
	SendOffset(member Consumer, group, topic string, partition int, offset int64) error
	Close() error
}

// NoTransactions is embedded in a Producer of a client that has none, whose Has says so.
type NoTransactions struct{}

// Begin is not applicable.
func (NoTransactions) Begin() error { return ErrNotApplicable }

// Commit is not applicable.
func (NoTransactions) Commit() error { return ErrNotApplicable }

// Abort is not applicable.
func (NoTransactions) Abort() error { return ErrNotApplicable }

// SendOffset is not applicable.
func (NoTransactions) SendOffset(Consumer, string, string, int, int64) error {
	return ErrNotApplicable
}

// Consumer reads, as a member of a group or by itself.
type Consumer interface {
	Poll(within time.Duration) ([]Record, error)
	// Held are the partitions of a member, as topic/partition.
	Held() []string
	// Commit commits what was polled; CommitAt one offset.
	Commit() error
	CommitAt(topic string, partition int, offset int64) error
	Close() error
}

// Client is an adapter to one client. What it has not it says by ErrNotApplicable.
type Client interface {
	// Has is asked for codecs by name and for what the scripts name.
	Has(feature string) error
	Producer(Options) (Producer, error)
	Reader(topic string, partitions int, committed bool, start int64) (Consumer, error)
	Member(group string, topics []string, protocol string) (Consumer, error)

	Committed(group, topic string, partition int) (int64, error)
	Offsets(topic string, partition int) (begin, end int64, err error)
	OffsetForTime(topic string, partition int, ms int64) (int64, error) // -1 where there is none.

	CreateTopic(topic string, partitions int, config map[string]string) error
	Topics() ([]string, error)
	Partitions(topic string) (int, error)
	Config(topic, name string) (string, error)
	AlterConfig(topic, name, value string) error
	AddPartitions(topic string, total int) error
	DeleteRecords(topic string, partition int, before int64) error
	Groups() ([]string, error)
	DeleteGroup(group string) error
	DeleteTopic(topic string) error

	// ErrorName is Kafka's name of an error, or what it says.
	ErrorName(error) string
	Fenced(error) bool
}

// NotApplicable is an ErrNotApplicable with its reason.
func NotApplicable(reason string) error { return fmt.Errorf("%s: %w", reason, ErrNotApplicable) }

// member is a member of a group: a goroutine that polls, and commits what it read.
type member struct {
	consumer Consumer
	stop     chan struct{}
	ended    chan struct{}
	once     sync.Once

	mu struct {
		sync.Mutex

		records []Record
		held    []string
		err     error
	}
}

func join(r *Run, c Client, group string, topics []string, protocol string) *member {
	consumer, err := c.Member(group, topics, protocol)
	r.Must(err)
	m := &member{consumer: consumer, stop: make(chan struct{}), ended: make(chan struct{})}
	go m.loop()
	return m
}

func (m *member) loop() {
	defer close(m.ended)
	err := m.poll()
	if closed := m.consumer.Close(); err == nil {
		err = closed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.err = err
}

func (m *member) poll() error {
	for {
		select {
		case <-m.stop:
			return nil
		default:
		}
		got, err := m.consumer.Poll(200 * time.Millisecond)
		if err == nil && len(got) > 0 {
			err = m.consumer.Commit()
		}
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.mu.records = append(m.mu.records, got...)
		m.mu.held = m.consumer.Held()
		m.mu.Unlock()
	}
}

// leave ends the member's part in the group.
func (m *member) leave(r *Run) {
	m.once.Do(func() { close(m.stop) })
	select {
	case <-m.ended:
	case <-time.After(30 * time.Second):
		r.Fail("a member did not leave within 30 s")
	}
	_ = m.look(r)
}

// look returns what was read so far, and ends the script if the member failed.
func (m *member) look(r *Run) []Record {
	m.mu.Lock()
	records, err := m.mu.records, m.mu.err
	m.mu.Unlock()
	r.Must(err)
	return records
}

func (m *member) held() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.held
}
