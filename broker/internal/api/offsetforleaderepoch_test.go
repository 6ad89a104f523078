package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOffsetForLeaderEpoch is case F15.
func TestOffsetForLeaderEpoch(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	n.fill("t", 0, "a", "b")
	for version := int16(1); version <= 4; version++ { // Version 0 does not tell the epoch.
		for name, tc := range map[string]struct {
			current, epoch int32
			code           int16
			wantEpoch      int32
			wantEnd        int64
		}{
			"the current one":      {-1, 5, 0, 5, 2},
			"one before all":       {-1, 3, 0, 3, 0},
			"one that is not":      {-1, 9, 0, -1, -1},
			"asked for a newer":    {6, 5, kerr.UnknownLeaderEpoch.Code, -1, -1},
			"asked for one before": {4, 5, kerr.FencedLeaderEpoch.Code, -1, -1},
		} {
			if tc.current >= 0 && version < 2 {
				continue
			}
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.Version = version
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			p.CurrentLeaderEpoch, p.LeaderEpoch = tc.current, tc.epoch
			req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
			got := ask(t, n.Env, req).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
			if got.ErrorCode != tc.code || got.LeaderEpoch != tc.wantEpoch || got.EndOffset != tc.wantEnd {
				t.Errorf("version %d, %s: %+v", version, name, got)
			}
		}
	}
}
