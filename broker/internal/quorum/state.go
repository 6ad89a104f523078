package quorum

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// stateFile is Kafka's name for the file that holds term and vote.
const stateFile = "quorum-state"

// maxStateVersion is the newest data_version this release reads: 1, with the
// directory id of the vote (kraft.version 1).
const maxStateVersion = 1

// hardState is what must survive a crash beside the log. CommitOffset is not
// Kafka's; its JSON reader passes over fields that it does not know.
type hardState struct {
	LeaderID       int32 // -1 unknown.
	LeaderEpoch    int32
	VotedID        int32 // -1 nobody.
	VotedDirectory [16]byte
	// CommitOffset is a lower bound of the commit: without it a node restarted
	// after a change of voters would ask the old ones.
	CommitOffset int64
}

// stateJSON is the file's form.
type stateJSON struct {
	LeaderID         int32  `json:"leaderId"`
	LeaderEpoch      int32  `json:"leaderEpoch"`
	VotedID          int32  `json:"votedId"`
	VotedDirectoryID string `json:"votedDirectoryId,omitempty"`
	CommitOffset     int64  `json:"commitOffset,omitempty"`
	DataVersion      *int16 `json:"data_version"`
}

// encode writes the file.
func (s hardState) encode() []byte {
	out, err := json.Marshal(stateJSON{
		LeaderID: s.LeaderID, LeaderEpoch: s.LeaderEpoch, VotedID: s.VotedID,
		VotedDirectoryID: base64.RawURLEncoding.EncodeToString(s.VotedDirectory[:]),
		CommitOffset:     s.CommitOffset, DataVersion: new(int16(maxStateVersion)),
	})
	if err != nil {
		panic(fmt.Sprintf("BUG: quorum state %+v has no JSON: %v", s, err))
	}
	return out
}

// decodeState reads the file. Version 0, of kraft.version 0, has no directory id.
func decodeState(in []byte) (hardState, error) {
	j := stateJSON{LeaderID: -1, VotedID: -1}
	if err := json.Unmarshal(in, &j); err != nil {
		return hardState{}, err
	}
	if j.DataVersion == nil {
		return hardState{}, errors.New("data_version is missing")
	}
	if *j.DataVersion < 0 || *j.DataVersion > maxStateVersion {
		return hardState{}, fmt.Errorf("data_version is %d, this release reads up to %d: a newer release wrote it",
			*j.DataVersion, maxStateVersion)
	}
	if j.LeaderEpoch < 0 || j.CommitOffset < 0 {
		return hardState{}, fmt.Errorf("leaderEpoch %d or commitOffset %d is negative", j.LeaderEpoch, j.CommitOffset)
	}
	s := hardState{LeaderID: j.LeaderID, LeaderEpoch: j.LeaderEpoch, VotedID: j.VotedID, CommitOffset: j.CommitOffset}
	if j.VotedDirectoryID != "" {
		id, err := base64.RawURLEncoding.DecodeString(j.VotedDirectoryID)
		if err != nil || len(id) != len(s.VotedDirectory) {
			return hardState{}, fmt.Errorf("votedDirectoryId %q is not a directory id", j.VotedDirectoryID)
		}
		copy(s.VotedDirectory[:], id)
	}
	return s, nil
}

// readState reads dir's file; none is the state of a node that never voted.
func readState(fsys vfs.FS, dir string) (hardState, error) {
	path := filepath.Join(dir, stateFile)
	in, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return hardState{LeaderID: -1, VotedID: -1}, nil
	}
	if err != nil {
		return hardState{}, err
	}
	s, err := decodeState(in)
	if err != nil {
		return hardState{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return s, nil
}

func (s hardState) write(fsys vfs.FS, dir string) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, stateFile), s.encode())
}
