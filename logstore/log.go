package logstore

import (
	"log/slog"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Mark is a place in a log: an offset, and where its batch lies or would lie. Offset
// is exclusive when the mark is an end.
type Mark struct {
	Offset   int64
	Segment  int64 // Base offset of the segment.
	Position int64 // In bytes from the segment's beginning.
}

// Log is one partition's records on disk.
//
// The owner's methods, called one at a time: Append, AppendReplica, AppendMetadata,
// Truncate, TruncateFully, AssignEpoch, SetHighWatermark, AdvanceStart, SetTopicID and
// SetConfig. All others may be called from any goroutine.
type Log struct {
	store     *Store
	fs        vfs.FS
	pool      *segment.Pool
	logger    *slog.Logger
	topic     string
	partition int32
	dir       *segment.Dir

	state  atomic.Pointer[state]
	config atomic.Pointer[Config]
	failed atomic.Pointer[FailedError]
	onDisk atomic.Bool // The directory and its files have been made.
	closed atomic.Bool // No more changes: the store was closed or the log deleted.
	due    atomic.Bool // Maintain may have something to do: see maintain.

	cleaned atomic.Int64 // Compaction has seen what lies below. Changed under mu.
	damaged atomic.Bool  // Compaction found bytes that are no batch, and leaves the log alone.

	// writer orders the changes of the files. Unlike mu it is held over system calls:
	// the owner's and those of Maintain must not mix. Readers and Flush never take it.
	writer struct {
		sync.Mutex

		leaving   []*segment.Segment // Left the log by retention; their files are still there.
		snapshots []int64            // Offsets of the producer snapshots on disk, ascending.
		jitter    time.Duration
		touched   bool // The segments differ from what a clean stop left.
		refused   bool // The last write failed, as on a full disk.
		// tail is the offset after the last batch. It lies below the end when a truncation
		// cut through a batch. Segments are named by it: the next begins where the batches
		// of the one before end, so a segment that lost its end in a crash shows.
		tail int64
	}

	mu struct {
		sync.Mutex // Held for field access only, never over a system call.

		producers   *producer.State
		epochs      checkpoint.Epochs
		recent      recent
		unstable    Mark // The place of the first unstable offset that was asked last,
		located     bool // if there was one since the log was cut last.
		topicID     [16]byte
		unflushed   int64     // Records appended since a flush was asked for.
		dirtySince  time.Time // When the oldest of them was appended; zero if none.
		epochsDirty bool      // epochs differ from the checkpoint file.
		epochWaits  bool      // The newest epoch has no batch yet, and need not be in the file.
	}

	sync syncState
}

// state is what a log publishes: immutable, replaced as a whole.
type state struct {
	// segments is never empty. Later states share its memory; elements that a state
	// shows are never overwritten.
	segments []*segment.Segment
	start    int64 // The first offset that may be read.
	end      Mark
	hw       Mark  // Offsets below are committed.
	stable   Mark  // Below hw; offsets below belong to no undecided transaction.
	cuts     int64 // How often the log was truncated: positions from before are void.
}

// first returns the first offset that may be on disk, below the start or at it.
func (s *state) first() int64 {
	if len(s.segments) == 0 {
		return s.start
	}
	return min(s.segments[0].Base(), s.start)
}

// active returns the segment that is written to.
func (s *state) active() *segment.Segment { return s.segments[len(s.segments)-1] }

// floor returns the index of the newest segment whose base is at or below offset, or 0.
func (s *state) floor(offset int64) int {
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].Base() > offset })
	return max(i-1, 0)
}

// limit returns up to which position the i-th segment may be read by someone who may
// see what is below mark.
func (s *state) limit(i int, mark Mark) int64 {
	switch seg := s.segments[i]; {
	case i == len(s.segments)-1 && seg.Base() < mark.Segment:
		return s.end.Position // The mark is of a later state.
	case seg.Base() < mark.Segment:
		return seg.Size()
	case seg.Base() == mark.Segment:
		return min(mark.Position, seg.Size()) // A mark may be older than a compaction.
	default:
		return 0
	}
}

// publish replaces the state by a copy that change has altered, and brings the last
// stable offset along. change may be called more than once and must not lock.
func (l *Log) publish(change func(*state)) {
	for {
		next := new(state)
		l.mu.Lock()
		*next = *l.state.Load()
		change(next)
		missing, ok := l.stableLocked(next)
		if ok {
			l.state.Store(next)
		}
		l.mu.Unlock()
		if ok {
			l.check()
			return
		}
		// A place on disk has to be looked up, which is not done under the lock. What is
		// found counts only if no truncation came between, which the owner's calls rule out.
		at, err := l.locate(next, missing)
		if err != nil {
			l.logger.Error("last stable offset not found, consumers of committed records wait",
				slog.String("dir", l.Dir()), slog.Int64("offset", missing), slog.Any("err", err))
			at = Mark{Offset: missing, Segment: -1} // Nothing can be read up to it.
		}
		l.mu.Lock()
		l.mu.unstable, l.mu.located = at, true
		l.mu.Unlock()
	}
}

// stableLocked sets the stable mark of a state that is about to be published. When
// the place of the first unstable offset is not at hand it returns that offset.
func (l *Log) stableLocked(s *state) (missing int64, ok bool) {
	s.stable = s.hw
	first, unstable := l.mu.producers.FirstUnstable()
	if !unstable {
		return 0, true
	}
	first = max(first, s.start)
	if first >= s.hw.Offset {
		return 0, true
	}
	if !l.mu.located || l.mu.unstable.Offset != first {
		at, ok := l.mu.recent.at(first)
		if !ok {
			return first, false
		}
		l.mu.unstable, l.mu.located = at, true
	}
	s.stable = l.mu.unstable
	return 0, true
}

// locate finds the place of an offset: that of the batch that holds it, or of the
// next one above it.
func (l *Log) locate(s *state, offset int64) (Mark, error) {
	if offset >= s.end.Offset {
		return Mark{offset, s.end.Segment, s.end.Position}, nil
	}
	l.mu.Lock()
	at, ok := l.mu.recent.at(offset)
	l.mu.Unlock()
	if ok {
		return at, nil
	}
	for i := s.floor(offset); i < len(s.segments); i++ {
		p, ok, err := s.segments[i].Locate(offset, s.limit(i, s.end))
		if err != nil {
			return Mark{}, l.ioError("locate", err)
		}
		if ok {
			return Mark{offset, s.segments[i].Base(), p.Position}, nil
		}
	}
	return Mark{offset, s.end.Segment, s.end.Position}, nil
}

// End returns where the log ends: the offset that is assigned next.
func (l *Log) End() Mark { return l.state.Load().end }

// HighWatermark returns the place below which records are committed.
func (l *Log) HighWatermark() Mark { return l.state.Load().hw }

// Stable returns the place below which every transaction is decided and committed:
// Kafka's last stable offset.
func (l *Log) Stable() Mark { return l.state.Load().stable }

// Start returns the first offset that may be read. It may lie inside a batch.
func (l *Log) Start() int64 { return l.state.Load().start }

// LocalStart returns the first offset that is on this disk. Without tiered storage
// that is Start.
func (l *Log) LocalStart() int64 { return l.Start() }

// SetHighWatermark moves the high watermark to offset, brought into [start, end], and
// the last stable offset with it. It says whether the high watermark changed.
func (l *Log) SetHighWatermark(offset int64) (changed bool) {
	for {
		st := l.state.Load()
		want := min(max(offset, st.start), st.end.Offset)
		if want == st.hw.Offset {
			return false
		}
		at, err := l.locate(st, want)
		if err != nil {
			l.logger.Error("high watermark not moved", slog.String("dir", l.Dir()),
				slog.Int64("offset", want), slog.Any("err", err))
			return false
		}
		moved := false
		l.mu.Lock()
		if l.state.Load().cuts == st.cuts {
			l.mu.producers.OnHighWatermark(want)
			moved = true
		}
		l.mu.Unlock()
		if moved {
			l.publish(func(s *state) { s.hw = at })
			return true
		}
	}
}

// Topic returns the topic's name.
func (l *Log) Topic() string { return l.topic }

// Partition returns the partition's number.
func (l *Log) Partition() int32 { return l.partition }

// Dir returns the partition's directory. It is made with the first append.
func (l *Log) Dir() string { return l.dir.Path() }

// TopicID returns the id of the topic, zero if the directory does not tell.
func (l *Log) TopicID() [16]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.topicID
}

// Config returns the log's configuration, with defaults filled in.
func (l *Log) Config() Config { return *l.config.Load() }

// SetConfig changes the configuration. It applies from the next append and the next
// retention check on; segments that exist keep their index interval.
func (l *Log) SetConfig(c Config) {
	c = c.withDefaults()
	l.config.Store(&c)
	l.mu.Lock()
	l.mu.producers.SetExpiry(c.ProducerIDExpiry)
	l.mu.Unlock()
}

// Size returns how many bytes of batches the log holds. Indexes do not count, as in
// Kafka's DescribeLogDirs.
func (l *Log) Size() int64 {
	var bytes int64
	for _, s := range l.state.Load().segments {
		bytes += s.Size()
	}
	return bytes
}

// Segments returns how many segments the log has.
func (l *Log) Segments() int { return len(l.state.Load().segments) }

// Producers returns what is known of each producer, ordered by id.
func (l *Log) Producers() []producer.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.producers.Entries()
}

// Err returns why the log refuses writes, or nil: a *FailedError.
func (l *Log) Err() error {
	if f := l.failed.Load(); f != nil {
		return f
	}
	return nil
}

// fail makes the log refuse writes until restart. The first reason stays.
func (l *Log) fail(err error) error {
	f := &FailedError{Dir: l.Dir(), Err: err}
	if l.failed.CompareAndSwap(nil, f) {
		l.logger.Error("log failed, writes are refused until restart",
			slog.String("dir", l.Dir()), slog.Any("err", err))
		l.store.metrics.failed()
	}
	return l.Err()
}

// ioError wraps an error of the disk. An error that names its file and place is
// passed on as it is.
func (l *Log) ioError(op string, err error) error {
	return &StorageError{Op: op, Dir: l.Dir(), Err: err}
}

// usableLocked says why nothing may be written, or nil. writer is held.
func (l *Log) usableLocked() error {
	if l.closed.Load() {
		return &ClosedError{l.Dir()}
	}
	return l.Err()
}

// name returns the partition's name as directories and checkpoints spell it.
func (l *Log) name() string { return dirName(l.topic, l.partition) }

func (l *Log) join(name string) string { return filepath.Join(l.Dir(), name) }
