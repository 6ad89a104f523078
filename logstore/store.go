package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
	"github.com/moldau-broker/moldau/logstore/internal/segment"
	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Options says where a Store is and how it behaves. Dir is needed; the zero value of
// another field means its default.
type Options struct {
	Dir     string       // The data directory: one of Kafka's log.dirs. Made if missing.
	FS      vfs.FS       // Default vfs.OS.
	Logger  *slog.Logger // Default: none.
	Metrics *Metrics     // Default: none.
	Rand    *rand.Rand   // For the jitter of segment.jitter.ms. Default: seeded by chance.

	// LoadThreads is how many partitions are opened at the same time. As many are closed
	// at the same time, but at least closeThreads.
	// Default 2. Kafka's num.recovery.threads.per.data.dir.
	LoadThreads int
	// MaxFiles bounds the descriptors of files that nobody is using; those in use are
	// not bounded. Default 8192: the caller, who knows the limit of the process, sets
	// half of it.
	MaxFiles int
	// MaxMaps bounds the memory mappings. Default 16384, a quarter of what Linux grants
	// a process; above it files are read instead.
	MaxMaps int

	// HighWatermarkInterval, PointsInterval and RetentionInterval are how often Maintain
	// writes the high watermarks, writes recovery points and log starts, and applies
	// retention. Defaults 5 s, 60 s, 5 min. Kafka's
	// replica.high.watermark.checkpoint.interval.ms,
	// log.flush.(start.)offset.checkpoint.interval.ms, log.retention.check.interval.ms.
	HighWatermarkInterval, PointsInterval, RetentionInterval time.Duration
	// FirstRetention is how long after the first Maintain retention is applied first, if
	// that is less than RetentionInterval: what came with old timestamps can be read
	// until then. Default 0. Kafka's log.initial.task.delay.ms, there 30 s.
	FirstRetention time.Duration
	// IdleAfter is how long a file is kept open unused. Default 30 s.
	IdleAfter time.Duration
	// ProducerExpiryInterval is how often producers past Config.ProducerIDExpiry are
	// forgotten. Default 10 min. Kafka's producer.id.expiration.check.interval.ms.
	ProducerExpiryInterval time.Duration
	// Accept is asked, before anything is changed, whether this is the directory that
	// the caller means. Its error ends Open. Default: every directory is.
	Accept func(m Meta, formatted bool) error
}

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	o.LoadThreads = or(o.LoadThreads, 2)
	o.MaxFiles = or(o.MaxFiles, 8192)
	o.MaxMaps = or(o.MaxMaps, 16384)
	o.HighWatermarkInterval = or(o.HighWatermarkInterval, 5*time.Second)
	o.PointsInterval = or(o.PointsInterval, time.Minute)
	o.RetentionInterval = or(o.RetentionInterval, 5*time.Minute)
	o.IdleAfter = or(o.IdleAfter, 30*time.Second)
	o.ProducerExpiryInterval = or(o.ProducerExpiryInterval, 10*time.Minute)
	return o
}

// Store is one data directory: the logs in it, the checkpoints that tell of all of
// them, and the lock that keeps other processes out.
//
// Open, then Format if Meta says that the directory is new, then OpenMetadataLog where
// there is a controller, then Load. All other methods may be called from any goroutine,
// Maintain and Close by one at a time.
type Store struct {
	opt     Options
	fs      vfs.FS
	dir     string
	logger  *slog.Logger
	metrics *Metrics
	pool    *segment.Pool
	lock    io.Closer

	meta        Meta
	formatted   bool
	brokerEpoch int64 // Of the clean stop, -1 if unknown.
	clean       bool

	// What the checkpoints and the manifest told at the start; for Load.
	points   map[partitionKey]points
	manifest map[partitionKey]recorded

	mu struct {
		sync.Mutex // Held for field access only.

		logs     map[partitionKey]*Log
		metadata *Log
		binned   []binned
		loaded   bool // Load was finished: logs are all there are.
		closed   bool
	}
	random struct {
		sync.Mutex
		*rand.Rand
	}
	upkeep upkeep
	dirs   unsynced // Directories of logs that were made. Of many one sync is enough.

	cleanerSecret  [16]byte    // See compact.NewMap.
	cleaned        offsetsFile // The cleaner's own.
	highWatermarks offsetsFile // Maintain's own.
	// pointsFile orders writes of the recovery point and log start checkpoints, and is
	// held over them: what stands above the truth would make a start after a crash skip
	// or drop what is there.
	pointsFile struct {
		sync.Mutex
		recovery, starts offsetsFile
	}
}

type partitionKey struct {
	topic     string
	partition int32
}

// Meta says whose data directory it is: the content of meta.properties.
type Meta struct {
	ClusterID   string
	NodeID      int32
	DirectoryID [16]byte // Zero if the file does not tell: it is older than Kafka 3.7.
}

// lockName is the file that is locked for as long as the store is open.
const lockName = ".lock"

// Open opens a data directory, makes it if it is missing, and locks it. It reads whose
// directory it is and whether it was stopped cleanly, and takes that mark away, so that
// a crash from now on is told from a clean stop. No log is opened yet.
//
// Errors: *LockedError, *NotWritableError, *NewerFormatError, each with what to do.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{opt: o, fs: o.FS, dir: o.Dir, logger: o.Logger, metrics: o.Metrics, brokerEpoch: -1}
	s.pool = segment.NewPool(o.FS, o.MaxFiles, o.MaxMaps)
	s.random.Rand = o.Rand
	binary.NativeEndian.PutUint64(s.cleanerSecret[:], o.Rand.Uint64())
	binary.NativeEndian.PutUint64(s.cleanerSecret[8:], o.Rand.Uint64())
	s.mu.logs = make(map[partitionKey]*Log)
	if err := makeDir(s.fs, s.dir); err != nil {
		return nil, &NotWritableError{s.dir, err}
	}
	lock, err := s.fs.Lock(filepath.Join(s.dir, lockName))
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return nil, &LockedError{s.dir, err}
	case err != nil:
		return nil, &NotWritableError{s.dir, err}
	}
	s.lock = lock
	if err := s.read(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// makeDir makes a directory and its missing parents, durably: all that will ever be
// synced below would be lost with its name.
func makeDir(fsys vfs.FS, path string) error {
	switch _, err := fsys.Stat(path); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeDir(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return fsys.SyncDir(parent)
}

// read reads the files of the directory itself.
func (s *Store) read() error {
	m, err := checkpoint.ReadMeta(s.fs, s.path(checkpoint.MetaProperties))
	switch {
	case err == nil:
		s.meta, s.formatted = Meta{m.ClusterID, m.NodeID, m.Directory}, true
	case !errors.Is(err, fs.ErrNotExist):
		return refused(err)
	}
	if s.opt.Accept != nil {
		if err := s.opt.Accept(s.meta, s.formatted); err != nil {
			return err
		}
	}
	manifest, err := s.takeManifest()
	if err != nil {
		return err
	}
	s.brokerEpoch, s.clean, err = checkpoint.TakeCleanShutdown(s.fs, s.dir)
	if err != nil {
		return refused(err)
	}
	if !s.clean {
		// What is read now is taken for written. A process that was killed may have left
		// names that are not durable.
		if err := s.fs.SyncDir(s.dir); err != nil {
			return &NotWritableError{s.dir, err}
		}
	}
	s.points = make(map[partitionKey]points)
	for _, c := range []struct {
		file  *offsetsFile
		name  string
		field func(*points) *int64
	}{
		{&s.pointsFile.recovery, checkpoint.RecoveryPoints, func(p *points) *int64 { return &p.flushed }},
		{&s.pointsFile.starts, checkpoint.LogStarts, func(p *points) *int64 { return &p.start }},
		{&s.highWatermarks, checkpoint.HighWatermarks, func(p *points) *int64 { return &p.hw }},
		{&s.cleaned, checkpoint.Cleaned, func(p *points) *int64 { return &p.cleaned }},
	} {
		list, err := checkpoint.ReadOffsets(s.fs, s.path(c.name))
		if err != nil {
			return refused(err)
		}
		*c.file = offsetsFile{name: c.name, most: make(map[partitionKey]int64)}
		for _, o := range list {
			key := partitionKey{o.Topic, o.Partition}
			p := s.points[key]
			*c.field(&p) = max(o.Offset, 0)
			s.points[key], c.file.most[key] = p, max(o.Offset, 0)
		}
	}
	s.manifest = s.readManifest(manifest)
	return nil
}

// refused turns a checkpoint's error about versions into this package's.
func refused(err error) error {
	if v, ok := errors.AsType[*checkpoint.VersionError](err); ok {
		return &NewerFormatError{v.Path, v.Version, v.Max}
	}
	return err
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Dir returns the data directory.
func (s *Store) Dir() string { return s.dir }

// Meta returns whose directory it is, and false if it was never formatted.
func (s *Store) Meta() (Meta, bool) { return s.meta, s.formatted }

// Format writes whose directory it is. It replaces what was there: whether that is
// right is for the caller to know.
func (s *Store) Format(m Meta) error {
	err := checkpoint.WriteMeta(s.fs, s.path(checkpoint.MetaProperties), checkpoint.Meta{
		Version: 1, ClusterID: m.ClusterID, NodeID: m.NodeID, Directory: m.DirectoryID,
	})
	if err != nil {
		return &NotWritableError{s.dir, err}
	}
	s.meta, s.formatted = m, true
	return nil
}

// CleanShutdown says whether the directory was closed cleanly when it was last used,
// and the broker epoch that was told to Close then; -1 if unknown.
func (s *Store) CleanShutdown() (brokerEpoch int64, clean bool) { return s.brokerEpoch, s.clean }

// Usage returns the size of the volume and how many bytes of it may still be written.
func (s *Store) Usage() (total, usable int64, err error) { return vfs.Usage(s.fs, s.dir) }

// Log returns the log of a partition.
func (s *Store) Log(topic string, partition int32) (*Log, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.mu.logs[partitionKey{topic, partition}]
	return l, ok
}

// Logs returns all logs, in no order. The metadata log is not among them.
func (s *Store) Logs() []*Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Log, 0, len(s.mu.logs))
	for _, l := range s.mu.logs {
		list = append(list, l)
	}
	return list
}

// Create adds an empty log for a partition. Its directory is made with the first
// append, so a partition that nobody writes to costs nothing. *ExistsError if there is
// one already.
func (s *Store) Create(topic string, partition int32, id [16]byte, cfg Config) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("create %s: %w", dirName(topic, partition), err)
	}
	key := partitionKey{topic, partition}
	l := s.newLog(topic, partition, cfg)
	l.mu.topicID = id
	l.begin(s.now())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil, &ClosedError{s.dir}
	}
	if _, taken := s.mu.logs[key]; taken {
		return nil, &ExistsError{dirName(topic, partition)}
	}
	s.mu.logs[key] = l
	return l, nil
}

// newLog returns a log that is not loaded.
func (s *Store) newLog(topic string, partition int32, cfg Config) *Log {
	l := &Log{store: s, fs: s.fs, pool: s.pool, logger: s.logger, topic: topic, partition: partition}
	l.dir = segment.NewDir(s.path(dirName(topic, partition)))
	cfg = cfg.withDefaults()
	l.config.Store(&cfg)
	l.mu.producers = producer.New(cfg.ProducerIDExpiry)
	l.writer.jitter = s.jitter(cfg.SegmentJitter)
	return l
}

// begin makes the log an empty one without files.
func (l *Log) begin(now time.Time) {
	first := segment.New(l.pool, l.dir, 0, l.config.Load().IndexIntervalBytes, now)
	l.state.Store(&state{segments: []*segment.Segment{first}})
}

// Delete removes a log: its directory is renamed at once and deleted after
// Config.FileDeleteDelay. Readers that hold a span finish in peace.
func (s *Store) Delete(l *Log) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	s.mu.Lock()
	key := partitionKey{l.topic, l.partition}
	if s.mu.logs[key] == l {
		delete(s.mu.logs, key)
	}
	s.mu.Unlock()
	if l.closed.Load() {
		return nil
	}
	l.closed.Store(true)
	if !l.onDisk.Load() {
		return nil
	}
	s.metrics.removed(l.Size())
	l.release()
	to := s.path(leavingName(l.topic, l.partition, deleteSuffix))
	if err := s.fs.Rename(l.Dir(), to); err != nil {
		return l.ioError("delete", err)
	}
	l.dir.Move(to)
	s.bin(s.now().Add(l.config.Load().FileDeleteDelay), to)
	if err := s.fs.SyncDir(s.dir); err != nil {
		return l.ioError("delete", err)
	}
	return nil
}

// release gives up the log's idle descriptors.
func (l *Log) release() {
	for _, seg := range l.state.Load().segments {
		seg.Release()
	}
}

// now reads the clock. The pure parts get the time as an argument.
func (s *Store) now() time.Time { return time.Now() }

// jitter draws a duration below most.
func (s *Store) jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	s.random.Lock()
	defer s.random.Unlock()
	return time.Duration(s.random.Int64N(int64(most)))
}
