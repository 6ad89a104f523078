package logstore

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Suffixes of the directories of partitions that are not simply live. Between the
// partition's name and the suffix stands a random id, because a topic of the same
// name may come again before the directory has gone.
const (
	deleteSuffix = "-delete"
	straySuffix  = "-stray"
	futureSuffix = "-future"
)

// maxNameBytes is how long a file name may be.
const maxNameBytes = 255

// dirName returns the name of a partition's directory.
func dirName(topic string, partition int32) string {
	return topic + "-" + strconv.Itoa(int(partition))
}

// leavingName returns a name under which a directory waits to be removed. A long
// topic is cut, so it cannot be read back.
func leavingName(topic string, partition int32, suffix string) string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // Never fails.
	tail := fmt.Sprintf("-%d.%s%s", partition, hex.EncodeToString(id[:]), suffix)
	return topic[:min(len(topic), maxNameBytes-len(tail))] + tail
}

// dirKind is what a directory's name says it is.
type dirKind int

const (
	liveDir dirKind = iota
	deletedDir
	strayDir
	futureDir
)

// parseDirName splits the name of a partition's directory. reason is not empty when
// it is not one.
func parseDirName(name string) (topic string, partition int32, kind dirKind, reason string) {
	for suffix, k := range map[string]dirKind{deleteSuffix: deletedDir, straySuffix: strayDir, futureSuffix: futureDir} {
		if rest, ok := strings.CutSuffix(name, suffix); ok {
			dot := strings.LastIndexByte(rest, '.')
			if dot < 0 {
				break // A topic may well be called "x-delete"; then a number must follow.
			}
			name, kind = rest[:dot], k
			break
		}
	}
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return "", 0, kind, "no dash"
	}
	if dash == 0 {
		return "", 0, kind, "no topic"
	}
	n, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil || n < 0 {
		return "", 0, kind, fmt.Sprintf("%q is not a partition number", name[dash+1:])
	}
	return name[:dash], int32(n), kind, ""
}
