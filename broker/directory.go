package broker

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/broker/internal/quorum"
	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// metadataDir is the directory of the metadata log within a data directory.
const metadataDir = "__cluster_metadata-0"

// A ForeignDirectoryError says that a data directory belongs to somebody else.
type ForeignDirectoryError struct {
	Dir          string
	What         string // "cluster id" or "node id"
	There, Asked string
}

func (e *ForeignDirectoryError) Error() string {
	return fmt.Sprintf("data directory %s has the %s %s, this broker is configured with %s: "+
		"configure %[3]s, or give this broker a directory of its own", e.Dir, e.What, e.There, e.Asked)
}

// A NotEmptyError says that a directory holds something, but nothing of a broker.
type NotEmptyError struct{ Dir, Found string }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("data directory %s was not formatted, and is not empty: it holds %s; "+
		"name an empty directory, or the one that holds the broker's data", e.Dir, e.Found)
}

// openDirectory opens the data directory, formatting an empty one as a cluster of
// one node.
func openDirectory(cfg Config, s *settings, opts logstore.Options) (*logstore.Store, logstore.Meta, error) {
	if err := checkDirectory(cfg.FS, s.dir); err != nil {
		return nil, logstore.Meta{}, err
	}
	opts.Accept = func(m logstore.Meta, formatted bool) error {
		if !formatted {
			return nil
		}
		return s.owns(cfg, m)
	}
	store, err := logstore.Open(opts)
	if err != nil {
		return nil, logstore.Meta{}, err
	}
	meta, formatted := store.Meta()
	if !formatted {
		if meta, err = format(cfg, s, store); err != nil {
			return nil, logstore.Meta{}, errors.Join(err, store.Abandon())
		}
	}
	return store, meta, nil
}

// owns checks that a formatted directory is this node's.
func (s *settings) owns(cfg Config, meta logstore.Meta) error {
	if cfg.ClusterID != "" && cfg.ClusterID != meta.ClusterID {
		if !cfg.KeepClusterID {
			return &ForeignDirectoryError{s.dir, "cluster id", meta.ClusterID, cfg.ClusterID}
		}
		cfg.Logger.Warn("the data directory keeps its cluster id", slog.String("dir", s.dir),
			slog.String("cluster_id", meta.ClusterID), slog.String("asked", cfg.ClusterID))
	}
	if meta.NodeID != s.nodeID {
		return &ForeignDirectoryError{s.dir, "node id", strconv.Itoa(int(meta.NodeID)), strconv.Itoa(int(s.nodeID))}
	}
	return nil
}

// format makes the directory that of a new cluster whose only node this is. The
// file that says so comes last: a directory that was formatted by half is not
// formatted.
func format(cfg Config, s *settings, store *logstore.Store) (logstore.Meta, error) {
	meta := logstore.Meta{ClusterID: cfg.ClusterID, NodeID: s.nodeID, DirectoryID: newID()}
	if meta.ClusterID == "" {
		id := newID()
		meta.ClusterID = base64.RawURLEncoding.EncodeToString(id[:])
	}
	voters := &metadata.Voters{Voters: []metadata.VoterNode{{
		ID: meta.NodeID, DirectoryID: meta.DirectoryID, MinKRaftVersion: 0, MaxKRaftVersion: 1,
	}}}
	var records [][]byte
	for _, r := range bootstrapRecords() {
		records = append(records, metadata.Encode(r, 0))
	}
	dir := filepath.Join(s.dir, metadataDir)
	if err := quorum.Format(cfg.FS, dir, voters, records, time.Now().UnixMilli()); err != nil {
		return meta, err
	}
	return meta, store.Format(meta)
}

// newID draws a random id as Kafka does: one that in base64 does not begin with a
// dash, which command lines would take for a flag.
func newID() [16]byte {
	for {
		var id [16]byte
		rand.Read(id[:])
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !strings.HasPrefix(base64.RawURLEncoding.EncodeToString(id[:]), "-") {
			return id
		}
	}
}

// checkDirectory refuses to make a broker's directory of one that holds other
// things.
func checkDirectory(fsys vfs.FS, dir string) error {
	files, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory %s cannot be read: %w", dir, err)
	}
	other := ""
	for _, f := range files {
		switch name := f.Name(); {
		case name == "meta.properties":
			return nil
		case strings.HasPrefix(name, "."), name == "lost+found", strings.HasSuffix(name, ".tmp"):
		case name == metadataDir:
			// A format that was cut short leaves its snapshot, and nothing else.
			inside, err := fsys.ReadDir(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			for _, g := range inside {
				if strings.HasSuffix(g.Name(), ".log") {
					other = filepath.Join(name, g.Name())
				}
			}
		default:
			other = name
		}
	}
	if other != "" {
		return &NotEmptyError{dir, other}
	}
	return nil
}
