package quorum

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"time"
)

// Snapshot writes a snapshot of everything below offset, which must be committed
// and lie between two batches, and removes what retention no longer keeps.
// records are the state at that offset as metadata records.
//
// It writes on the caller's goroutine; the loop is held only to take note.
func (n *Node) Snapshot(ctx context.Context, offset int64, now time.Time, records iter.Seq[[]byte]) error {
	c := snapshotContent{records: records}
	var err error
	derr := n.do(ctx, func() {
		index := n.store.before(offset)
		if n.store.endOf(index) != offset || index > n.commit {
			err = fmt.Errorf("a snapshot at offset %d: it is not the end of a committed batch", offset)
			return
		}
		if index == n.store.snap.index {
			return // There is one already.
		}
		term, _ := n.store.Term(index)
		c.id, c.index = snapshotID{offset, int32(term)}, index
		c.voters, c.lastTimestampMs = n.store.votersFor(index), n.store.lastTimestampMs
	})
	if derr != nil || err != nil || c.voters == nil {
		return firstError(derr, err)
	}
	began := time.Now()
	content := c.encode(now.UnixMilli())
	if err := writeSnapshot(n.store.fs, n.store.dir, c.id, content); err != nil {
		return err
	}
	derr = n.do(ctx, func() {
		n.store.compact(&snapshot{id: c.id, index: c.index, voters: c.voters})
		err = n.retain(now)
	})
	n.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "metadata snapshot written",
		slog.Int64("offset", offset), slog.Int("size_bytes", len(content)), slog.Int64("took_us", time.Since(began).Microseconds()))
	return firstError(derr, err)
}

// retain removes the oldest snapshots, and the log below the oldest that stays,
// while there is more than retention allows. The newest always stays.
func (n *Node) retain(now time.Time) error {
	ids, err := listSnapshots(n.store.fs, n.store.dir)
	if err != nil {
		return err
	}
	total := n.opts.Log.Size()
	infos := make([]struct {
		size int64
		made time.Time
	}, len(ids))
	for i, id := range ids {
		st, err := n.store.fs.Stat(filepath.Join(n.store.dir, id.fileName()))
		if err != nil {
			return err
		}
		infos[i].size, infos[i].made = st.Size(), st.ModTime()
		total += st.Size()
	}
	large := func() bool { return n.opts.RetentionBytes >= 0 && total > n.opts.RetentionBytes }
	old := func() bool { return n.opts.RetentionAge >= 0 && now.Sub(infos[0].made) > n.opts.RetentionAge }
	for len(ids) > 1 && (large() || old()) {
		if err := removeSnapshot(n.store.fs, n.store.dir, ids[0]); err != nil {
			return err
		}
		before := n.opts.Log.Size()
		total -= infos[0].size
		ids, infos = ids[1:], infos[1:]
		if err := n.opts.Log.AdvanceStart(ids[0].Offset); err != nil {
			return err
		}
		if _, err := n.opts.Log.Retain(now); err != nil {
			return err
		}
		total -= before - n.opts.Log.Size()
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
