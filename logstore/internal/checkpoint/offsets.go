package checkpoint

import (
	"strconv"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// The offset checkpoints of a data directory: one line a partition.
const (
	RecoveryPoints = "recovery-point-offset-checkpoint" // The first offset not known to be flushed.
	LogStarts      = "log-start-offset-checkpoint"      // Where deleted records end, if inside a segment.
	HighWatermarks = "replication-offset-checkpoint"
	Cleaned        = "cleaner-offset-checkpoint" // The first offset that compaction has not seen.
)

// Offset is one partition's line in an offset checkpoint.
type Offset struct {
	Topic     string
	Partition int32
	Offset    int64
}

// EncodeOffsets gives the content of an offset checkpoint, in the order given.
func EncodeOffsets(offsets []Offset) []byte {
	return encodeList(offsets, func(b []byte, o Offset) []byte {
		b = append(append(b, o.Topic...), ' ')
		b = append(strconv.AppendInt(b, int64(o.Partition), 10), ' ')
		return strconv.AppendInt(b, o.Offset, 10)
	})
}

// DecodeOffsets reads the content of an offset checkpoint. Should a partition be in
// it twice, the later line counts, as in Kafka; both are returned.
func DecodeOffsets(data []byte) (offsets []Offset, err error) {
	err = decodeList(data, 3, func(f []string) string {
		partition, err := strconv.ParseInt(f[1], 10, 32)
		if err != nil || partition < 0 {
			return "the partition is not a number from 0 on"
		}
		offset, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return "the offset is not a number"
		}
		offsets = append(offsets, Offset{f[0], int32(partition), offset})
		return ""
	})
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

// ReadOffsets reads an offset checkpoint; a missing one has no entries.
func ReadOffsets(fsys vfs.FS, path string) ([]Offset, error) {
	return readIfExists(fsys, path, DecodeOffsets)
}

// WriteOffsets replaces an offset checkpoint.
func WriteOffsets(fsys vfs.FS, path string, offsets []Offset) error {
	return vfs.WriteFileAtomic(fsys, path, EncodeOffsets(offsets))
}
