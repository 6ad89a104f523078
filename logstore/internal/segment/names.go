package segment

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// Suffixes of the files of a segment, of the producer snapshot that lies beside
// them, and of files on their way in or out.
const (
	LogSuffix       = ".log"
	IndexSuffix     = ".index"
	TimeIndexSuffix = ".timeindex"
	TxnIndexSuffix  = ".txnindex"
	SnapshotSuffix  = ".snapshot"

	DeletedSuffix = ".deleted" // Removed after a delay.
	CleanedSuffix = ".cleaned" // Compaction is still writing it.
	SwapSuffix    = ".swap"    // Complete; about to replace its sources.
)

// digits is how many digits a file name has: those of 2^63-1 and one more.
const digits = 20

// FileName returns the name of a segment's file: the base offset in 20 digits.
func FileName(base int64, suffix string) string {
	return fmt.Sprintf("%0*d%s", digits, base, suffix)
}

// ParseFileName splits a file name into its offset and what follows it, and says
// whether it is such a name at all.
func ParseFileName(name string) (base int64, suffix string, ok bool) {
	if len(name) <= digits || name[digits] != '.' || strings.ContainsAny(name[:digits], "+-_") {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	return base, name[digits:], err == nil
}

// Dir is the directory of a log. All its segments share it, because a log that is
// deleted is renamed while readers may still be using it.
type Dir struct{ path atomic.Pointer[string] }

// NewDir returns a Dir at path.
func NewDir(path string) *Dir {
	d := new(Dir)
	d.Move(path)
	return d
}

// Path returns where the directory is now.
func (d *Dir) Path() string { return *d.path.Load() }

// Move says that the directory was renamed.
func (d *Dir) Move(path string) { d.path.Store(&path) }

// Join returns the path of a file in the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.Path(), name) }
