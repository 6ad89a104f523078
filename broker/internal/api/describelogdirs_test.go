package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeLogDirs(t *testing.T) {
	n := newNode(t, 1)
	n.topic("b", 1, 2)
	n.topic("a", 2, 1)
	n.fill("b", 1, "x")
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Version = version
		resp := ask(t, n.Env, req).(*kmsg.DescribeLogDirsResponse)
		if len(resp.Dirs) != 1 || resp.Dirs[0].Dir != "/data" || len(resp.Dirs[0].Topics) != 2 {
			t.Fatalf("version %d: %+v", version, resp)
		}
		a, b := resp.Dirs[0].Topics[0], resp.Dirs[0].Topics[1]
		if a.Topic != "a" || b.Topic != "b" || len(b.Partitions) != 2 || b.Partitions[0].Size != 0 || b.Partitions[1].Size != int64(len(records("x"))) {
			t.Errorf("version %d: %+v %+v", version, a, b)
		}
	}
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = 4
	req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "b", Partitions: []int32{1, 7, 1}}, {Topic: "nope", Partitions: []int32{0}}}
	if dirs := ask(t, n.Env, req).(*kmsg.DescribeLogDirsResponse).Dirs; len(dirs[0].Topics) != 1 || len(dirs[0].Topics[0].Partitions) != 1 {
		t.Errorf("asked for one: %+v", dirs)
	}
	n.Authorize = func(*Conn, kmsg.ACLOperation, kmsg.ACLResourceType, string) bool { return false }
	if resp := ask(t, n.Env, req).(*kmsg.DescribeLogDirsResponse); resp.ErrorCode != kerr.ClusterAuthorizationFailed.Code || len(resp.Dirs) != 0 {
		t.Errorf("without the right: %+v", resp)
	}
}
