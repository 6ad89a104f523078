package quorum

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestState(t *testing.T) {
	s := hardState{LeaderID: 1, LeaderEpoch: 7, VotedID: 1, VotedDirectory: directory, CommitOffset: 99}
	got, err := decodeState(s.encode())
	if diff := cmp.Diff(s, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for name, tc := range map[string]struct {
		in   string
		want hardState
		bad  bool
	}{
		"Kafka's version 0": {
			in:   `{"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`,
			want: hardState{LeaderID: 1, LeaderEpoch: 3, VotedID: -1},
		},
		"newer":       {in: `{"leaderId":1,"leaderEpoch":3,"votedId":-1,"data_version":2}`, bad: true},
		"no version":  {in: `{"leaderId":1}`, bad: true},
		"not JSON":    {in: `leader`, bad: true},
		"negative":    {in: `{"leaderEpoch":-1,"data_version":1}`, bad: true},
		"bad uuid":    {in: `{"leaderEpoch":1,"votedDirectoryId":"x","data_version":1}`, bad: true},
		"nobody":      {in: `{"leaderId":-1,"leaderEpoch":0,"votedId":-1,"data_version":1}`, want: hardState{LeaderID: -1, VotedID: -1}},
		"empty votes": {in: `{"leaderEpoch":0,"data_version":1}`, want: hardState{LeaderID: -1, VotedID: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeState([]byte(tc.in))
			if (err != nil) != tc.bad {
				t.Fatalf("error %v", err)
			}
			if err == nil && got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// FuzzDecodeState: any bytes give a state that can be written again, or an error.
func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"leaderId":1,"leaderEpoch":3,"votedId":-1,"data_version":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := decodeState(in)
		if err != nil {
			return
		}
		if again, err := decodeState(s.encode()); err != nil || again != s {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}
