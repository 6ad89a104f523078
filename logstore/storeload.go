package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moldau-broker/moldau/logstore/internal/checkpoint"
)

// metadataTopic is the topic of the metadata log. It is opened by OpenMetadataLog and
// left alone by Load.
const metadataTopic = "__cluster_metadata"

// Keep says what is to become of a partition's directory that was found at start.
type Keep int

const (
	// KeepLog opens the log.
	KeepLog Keep = iota
	// KeepStray renames the directory to one that ends in -stray: the metadata does not
	// assign it here, and a human decides.
	KeepStray
	// KeepDelete deletes it like a log that is deleted.
	KeepDelete
)

// progressInterval is how often loading and closing tell how far they are.
const progressInterval = 10 * time.Second

// Load opens the logs of all partitions in the directory, several at a time. cfg is
// asked about each, with the topic id that its directory tells, zeros if it tells none.
// After an unclean stop this takes as long as it takes to scan what may not have been
// durable; the log tells how far it is.
func (s *Store) Load(ctx context.Context, cfg func(topic string, partition int32, id [16]byte) (Config, Keep)) error {
	began := s.now()
	found, err := s.scan()
	if err != nil {
		return err
	}
	var loaded atomic.Int64
	progress := s.progress("logs loading", &loaded, len(found))
	err = each(ctx, s.opt.LoadThreads, found, func(key partitionKey) error {
		defer progress()
		return s.loadOne(key, cfg)
	})
	if err != nil {
		return err
	}
	s.logger.Info("logs loaded", slog.String("dir", s.dir), slog.Int("logs", len(s.Logs())),
		slog.Bool("clean", s.clean), slog.Int64("took_ms", s.now().Sub(began).Milliseconds()))
	s.points, s.manifest = nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.loaded = true
	return nil
}

// scan lists the live partitions and bins the deleted ones.
func (s *Store) scan() ([]partitionKey, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var found []partitionKey
	for _, e := range entries {
		if !e.IsDir() || ignoredDir(e.Name()) {
			continue
		}
		topic, partition, kind, reason := parseDirName(e.Name())
		switch path := s.path(e.Name()); {
		case kind == deletedDir:
			s.bin(s.now().Add(Config{}.withDefaults().FileDeleteDelay), path)
		case reason != "":
			return nil, &DirNameError{path, reason}
		case kind == strayDir:
			s.logger.Warn("stray partition found, it is kept: delete the directory when it is not needed", slog.String("path", path))
		case kind == futureDir:
			s.logger.Warn("unfinished move of a partition found, it is left alone", slog.String("path", path))
		case topic == metadataTopic:
		default:
			found = append(found, partitionKey{topic, partition})
		}
	}
	return found, nil
}

// ignoredDir says whether a directory may lie in a data directory without being a
// partition's: those of Kafka's tiered storage, and what file systems put at the top
// of a volume.
func ignoredDir(name string) bool {
	return name == "remote-log-index-cache" || name == "lost+found" || strings.HasPrefix(name, ".")
}

func (s *Store) loadOne(key partitionKey, cfg func(string, int32, [16]byte) (Config, Keep)) error {
	path := s.path(dirName(key.topic, key.partition))
	r, known := s.recorded(key, path)
	id := r.topicID
	if !known {
		var err error
		id, err = checkpoint.ReadTopicID(s.fs, filepath.Join(path, checkpoint.PartitionMetadata))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return refused(err)
		}
	}
	c, keep := cfg(key.topic, key.partition, id)
	if keep != KeepLog {
		return s.dismiss(key, path, keep)
	}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("configuration of %s: %w", path, err)
	}
	l := s.newLog(key.topic, key.partition, c)
	l.mu.topicID = id
	l.cleaned.Store(s.points[key].cleaned)
	l.begin(s.now())
	var err error
	if known {
		err = l.loadRecorded(s.now(), r, s.points[key])
	} else {
		err = l.load(s.now(), s.clean, s.points[key])
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, refused(err))
	}
	s.mu.Lock()
	s.mu.logs[key] = l
	s.mu.Unlock()
	return nil
}

// dismiss renames the directory of a partition that does not belong here.
func (s *Store) dismiss(key partitionKey, path string, keep Keep) error {
	suffix := straySuffix
	if keep == KeepDelete {
		suffix = deleteSuffix
	}
	to := s.path(leavingName(key.topic, key.partition, suffix))
	if err := s.fs.Rename(path, to); err != nil {
		return err
	}
	s.logger.Warn("partition does not belong here and was renamed", slog.String("from", path), slog.String("to", to))
	if keep == KeepDelete {
		s.bin(s.now().Add(Config{}.withDefaults().FileDeleteDelay), to)
	}
	return s.fs.SyncDir(s.dir)
}

// OpenMetadataLog opens the log of the metadata quorum, or makes it. Like Kafka's it
// has no checkpoints; after an unclean stop it is scanned from the beginning.
func (s *Store) OpenMetadataLog(cfg Config) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", metadataTopic, err)
	}
	l := s.newLog(metadataTopic, 0, cfg)
	l.mu.topicID = [16]byte{15: 1} // Fixed by Kafka.
	l.begin(s.now())
	switch _, err := s.fs.Stat(l.Dir()); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := l.load(s.now(), s.clean, points{}); err != nil {
			return nil, fmt.Errorf("open %s: %w", l.Dir(), refused(err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.metadata = l
	return l, nil
}

// each calls do for every item, n at a time, until one fails.
func each[T any](ctx context.Context, n int, items []T, do func(T) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, len(items)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				if err := do(items[i]); err != nil {
					stop(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// progress returns a function to be called after each of total pieces of work, which
// tells the log now and then how many are done.
func (s *Store) progress(what string, done *atomic.Int64, total int) func() {
	var mu sync.Mutex
	told := s.now()
	return func() {
		n := done.Add(1)
		mu.Lock()
		defer mu.Unlock()
		if now := s.now(); now.Sub(told) >= progressInterval {
			told = now
			s.logger.Info(what, slog.String("dir", s.dir), slog.Int64("done", n), slog.Int("total", total)) //nolint:sloglint // The callers' messages are literals.
		}
	}
}
