package broker

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"

	"github.com/moldau-broker/moldau/logstore"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// FeatureLevel is a feature of Kafka's and the level that a cluster begins with.
type FeatureLevel struct {
	Name  string
	Level int16
}

// errFormatted says that Format was asked for what was done before.
var errFormatted = errors.New("the data directory is formatted already")

// Format makes the data directory of cfg that of a new cluster of one node, which
// Run does by itself with an empty one: it is for who wants to name the cluster
// beforehand. It returns what the metadata log of the cluster begins with.
func Format(cfg Config) ([]FeatureLevel, error) {
	if cfg.FS == nil {
		cfg.FS = vfs.OS
	}
	s, err := resolve(cfg)
	if err != nil {
		return nil, err
	}
	if err := checkDirectory(cfg.FS, s.dir); err != nil {
		return nil, err
	}
	store, err := logstore.Open(logstore.Options{
		Dir: s.dir, FS: cfg.FS, Logger: slog.New(slog.DiscardHandler),
		Accept: func(_ logstore.Meta, formatted bool) error {
			if formatted {
				return errFormatted
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	_, err = format(cfg, s, store)
	if err := errors.Join(err, store.Abandon()); err != nil {
		return nil, err
	}
	var levels []FeatureLevel
	for _, r := range bootstrapRecords() {
		if f, ok := r.(*metadata.FeatureLevel); ok {
			levels = append(levels, FeatureLevel{f.Name, f.FeatureLevel})
		}
	}
	slices.SortFunc(levels[1:], func(a, b FeatureLevel) int { return cmp.Compare(a.Name, b.Name) })
	return levels, nil
}
