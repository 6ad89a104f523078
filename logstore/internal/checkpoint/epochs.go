package checkpoint

import (
	"slices"
	"sort"
	"strconv"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// LeaderEpochs is the file of a partition's Epochs, in its directory.
const LeaderEpochs = "leader-epoch-checkpoint"

// Epoch says that the records from Start on were written under a leader epoch,
// until the next one begins.
type Epoch struct {
	Epoch int32
	Start int64
}

// Epochs is the history of a log's leader epochs, oldest first. Epochs and starts
// both strictly increase. Replicas compare it to find where their logs part
// (KIP-101, KIP-279). The zero value has none. Methods are for the log's owner;
// readers take a Clone.
type Epochs []Epoch

// Assign notes that the record at start is of epoch, both at least 0, and forgets
// what contradicts it: newer epochs, and what begins there or further on. Where the
// epoch itself began before stays: Kafka forgets that when a newer epoch stands
// between, and all epochs before it then seem to end where this one was assigned. It
// says whether anything changed; the newest epoch assigned again further on does not.
func (e *Epochs) Assign(epoch int32, start int64) (changed bool) {
	keep := len(*e)
	for keep > 0 && ((*e)[keep-1].Epoch > epoch || (*e)[keep-1].Start > start) {
		keep--
	}
	if keep > 0 && (*e)[keep-1].Epoch == epoch {
		changed = keep < len(*e)
		*e = (*e)[:keep]
		return changed
	}
	if keep > 0 && (*e)[keep-1].Start == start {
		keep--
	}
	*e = append((*e)[:keep], Epoch{epoch, start})
	return true
}

// Latest is the newest epoch, if there is one.
func (e Epochs) Latest() (Epoch, bool) {
	if len(e) == 0 {
		return Epoch{}, false
	}
	return e[len(e)-1], true
}

// CutEnd forgets the epochs that begin at or above end: the log was truncated to
// it. It says whether there were any.
func (e *Epochs) CutEnd(end int64) (changed bool) {
	keep := sort.Search(len(*e), func(i int) bool { return (*e)[i].Start >= end })
	changed = keep < len(*e)
	*e = (*e)[:keep]
	return changed
}

// CutStart forgets the epochs that ended at or below start: records below it were
// deleted. The epoch that start lies in begins there now. It says whether anything
// changed.
func (e *Epochs) CutStart(start int64) (changed bool) {
	above := sort.Search(len(*e), func(i int) bool { return (*e)[i].Start > start })
	if above == 0 || above == 1 && (*e)[0].Start == start {
		return false
	}
	*e = slices.Delete(*e, 0, above-1)
	(*e)[0].Start = start
	return true
}

// End answers OffsetForLeaderEpoch in a log that ends at logEnd: where the records
// of the asked epoch end, and of which epoch that is true. That is the epoch asked,
// or, if it has no records here, the newest one before it that has; if all here are
// newer, it is the start of the log. (-1, -1) says that the epoch is unknown here:
// none, or newer than all.
func (e Epochs) End(epoch int32, logEnd int64) (found int32, end int64) {
	if epoch < 0 {
		return -1, -1
	}
	if last, ok := e.Latest(); ok && last.Epoch == epoch {
		return epoch, logEnd
	}
	next := sort.Search(len(e), func(i int) bool { return e[i].Epoch > epoch })
	switch next {
	case len(e):
		return -1, -1
	case 0:
		return epoch, e[0].Start
	}
	return e[next-1].Epoch, e[next].Start
}

// At is the epoch of the record at offset, or -1 if none is known.
func (e Epochs) At(offset int64) int32 {
	i := sort.Search(len(e), func(i int) bool { return e[i].Start > offset })
	if i == 0 {
		return -1
	}
	return e[i-1].Epoch
}

// Clone copies the history.
func (e Epochs) Clone() Epochs { return slices.Clone(e) }

// EncodeEpochs gives the content of a leader epoch checkpoint.
func EncodeEpochs(epochs Epochs) []byte {
	return encodeList(epochs, func(b []byte, e Epoch) []byte {
		b = append(strconv.AppendInt(b, int64(e.Epoch), 10), ' ')
		return strconv.AppendInt(b, e.Start, 10)
	})
}

// DecodeEpochs reads the content of a leader epoch checkpoint. Lines that
// contradict later ones are dropped, as Kafka drops them.
func DecodeEpochs(data []byte) (epochs Epochs, err error) {
	err = decodeList(data, 2, func(f []string) string {
		epoch, err := strconv.ParseInt(f[0], 10, 32)
		if err != nil || epoch < 0 {
			return "the epoch is not a number from 0 on"
		}
		start, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || start < 0 {
			return "the start offset is not a number from 0 on"
		}
		epochs.Assign(int32(epoch), start)
		return ""
	})
	if err != nil {
		return nil, err
	}
	return epochs, nil
}

// ReadEpochs reads a leader epoch checkpoint; a missing one has none.
func ReadEpochs(fsys vfs.FS, path string) (Epochs, error) {
	return readIfExists(fsys, path, DecodeEpochs)
}

// WriteEpochs replaces a leader epoch checkpoint.
func WriteEpochs(fsys vfs.FS, path string, epochs Epochs) error {
	return vfs.WriteFileAtomic(fsys, path, EncodeEpochs(epochs))
}
