package checkpoint

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// PartitionMetadata is the file that ties a partition's directory to its topic.
const PartitionMetadata = "partition.metadata"

// colon is what divides name and value in a partition.metadata.
var colon = regexp.MustCompile(`:\s+`)

// EncodeTopicID gives the content of a partition.metadata.
func EncodeTopicID(id [16]byte) []byte {
	return fmt.Appendf(nil, "version: 0\ntopic_id: %s", FormatID(id))
}

// DecodeTopicID reads the content of a partition.metadata. As in Kafka newer
// versions are read too, which promise to keep the two lines.
func DecodeTopicID(data []byte) (id [16]byte, err error) {
	value := func(n int) (text, v string, err error) {
		all := splitLines(data)
		if n > len(all) {
			return "", "", &Error{Line: n, Reason: "the line is missing"}
		}
		text = all[n-1]
		parts := colon.Split(text, -1)
		if len(parts) != 2 {
			return text, "", &Error{Line: n, Text: text, Reason: "not a name and a value"}
		}
		return text, parts[1], nil
	}
	text, v, err := value(1)
	if err != nil {
		return id, err
	}
	if version, err := strconv.ParseInt(v, 10, 32); err != nil || version < 0 {
		return id, &Error{Line: 1, Text: text, Reason: "the version is not a number from 0 on"}
	}
	text, v, err = value(2)
	if err != nil {
		return id, err
	}
	id, err = ParseID(v)
	if err == nil && id == ([16]byte{}) {
		err = errors.New("no topic has the id of zeros")
	}
	if err != nil {
		return [16]byte{}, &Error{Line: 2, Text: text, Reason: err.Error()}
	}
	return id, nil
}

// ReadTopicID reads a partition.metadata. A missing one is fs.ErrNotExist, wrapped.
func ReadTopicID(fsys vfs.FS, path string) (id [16]byte, err error) {
	return read(fsys, path, DecodeTopicID)
}

// WriteTopicID replaces a partition.metadata.
func WriteTopicID(fsys vfs.FS, path string, id [16]byte) error {
	return vfs.WriteFileAtomic(fsys, path, EncodeTopicID(id))
}
