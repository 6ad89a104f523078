package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
)

// describeLogDirs serves DescribeLogDirs (35), versions 0 to 4: how much the
// partitions take on this broker's disk. Version 3 has an error of its own, 4
// tells how large the volume is.
func describeLogDirs(_ context.Context, env *Env, call *Call, req *kmsg.DescribeLogDirsRequest) (*kmsg.DescribeLogDirsResponse, error) {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	if !env.MayCluster(call.Conn, kmsg.ACLOperationDescribe) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil
	}
	dir := env.Replicas.LogDir()
	d := kmsg.NewDescribeLogDirsResponseDir()
	d.Dir, d.TotalBytes, d.UsableBytes = dir.Path, dir.TotalBytes, dir.UsableBytes
	if dir.Err != nil {
		d.ErrorCode = kerr.KafkaStorageError.Code
	} else {
		d.Topics = env.logDirTopics(req)
	}
	resp.Dirs = append(resp.Dirs, d)
	return resp, nil
}

// logDirTopics are the asked partitions that are on this broker, by topic.
func (e *Env) logDirTopics(req *kmsg.DescribeLogDirsRequest) (topics []kmsg.DescribeLogDirsResponseDirTopic) {
	for _, p := range e.askedReplicas(req) {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic() {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = p.Topic()
			topics = append(topics, t)
		}
		rp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		rp.Partition, rp.Size = p.Number(), p.SizeBytes()
		rp.OffsetLag = max(0, p.HighWatermark()-p.End())
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, rp)
	}
	return topics
}

// askedReplicas are the replicas that a request names, or all when it names
// none, in order.
func (e *Env) askedReplicas(req *kmsg.DescribeLogDirsRequest) []*replica.Partition {
	var found []*replica.Partition
	if req.Topics == nil {
		found = slices.Collect(e.Replicas.Partitions())
	}
	for _, t := range req.Topics {
		for _, n := range t.Partitions {
			if p, err := e.Replicas.Partition(t.Topic, n); err == nil {
				found = append(found, p)
			}
		}
	}
	slices.SortFunc(found, func(a, b *replica.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic(), b.Topic()), cmp.Compare(a.Number(), b.Number()))
	})
	return slices.Compact(found)
}
