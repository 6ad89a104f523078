package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// CleanShutdown is the file whose presence says that everything in the data
// directory was durable when the broker stopped.
const CleanShutdown = ".kafka_cleanshutdown"

// shutdownContent is its JSON. Unknown fields are ignored, as in Kafka.
type shutdownContent struct {
	Version     int    `json:"version"`
	BrokerEpoch *int64 `json:"brokerEpoch"`
}

// EncodeCleanShutdown gives the content of the mark, version 0.
func EncodeCleanShutdown(brokerEpoch int64) []byte {
	return fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, brokerEpoch)
}

// DecodeCleanShutdown reads the content of the mark: the epoch under which the
// broker was registered when it stopped (KIP-966). Kafka before 4.0 leaves the
// file empty; that is an *Error too, and the shutdown was clean all the same.
func DecodeCleanShutdown(data []byte) (brokerEpoch int64, err error) {
	var c shutdownContent
	if err := json.Unmarshal(data, &c); err != nil {
		return -1, &Error{Reason: "not the JSON of a clean shutdown: " + err.Error()}
	}
	if c.BrokerEpoch == nil {
		return -1, &Error{Reason: "no brokerEpoch"}
	}
	return *c.BrokerEpoch, nil
}

// TakeCleanShutdown reads the mark in a data directory and removes it, durably, so
// that a crash from now on is not taken for a clean shutdown. The presence of the
// file alone makes the last one clean; the broker epoch is -1 if it is not known.
func TakeCleanShutdown(fsys vfs.FS, dir string) (brokerEpoch int64, clean bool, err error) {
	path := filepath.Join(dir, CleanShutdown)
	brokerEpoch, err = read(fsys, path, DecodeCleanShutdown)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, false, nil
	}
	if _, damaged := errors.AsType[*Error](err); err != nil && !damaged {
		return -1, false, err
	}
	if err := fsys.Remove(path); err != nil {
		return -1, false, err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return -1, false, err
	}
	return brokerEpoch, true, nil
}

// WriteCleanShutdown leaves the mark in a data directory. It must come after
// everything else in it is durable.
func WriteCleanShutdown(fsys vfs.FS, dir string, brokerEpoch int64) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, CleanShutdown), EncodeCleanShutdown(brokerEpoch))
}
