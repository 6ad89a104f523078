package cluster

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// logdirsScenarios are about DescribeLogDirs.
var logdirsScenarios = []scenario.Scenario{
	{ID: "cluster.log-dirs", Says: "DescribeLogDirs tells directories, sizes of partitions, and from version 4 those of the disk.", Refs: []string{"KIP-113", "KIP-827"}, Run: describeLogDirs},
	{ID: "cluster.log-dirs.some", Says: "DescribeLogDirs of named partitions tells those and leaves out unknown ones.", Refs: []string{"KIP-113"}, Run: describeLogDirsSome},
	{ID: "cluster.log-dirs.whole-answer", Says: "DescribeLogDirs tells every field of the partitions that were asked for.", Refs: []string{"KIP-113", "KIP-827"}, Run: logDirAnswers},
}

func describeLogDirs(t *scenario.T) {
	topic := t.Topic(2)
	t.Append(topic, scenario.BigBatch(10000))
	t.Each(kmsg.DescribeLogDirs, 0, 4, func(v int16) {
		resp := scenario.Ask[*kmsg.DescribeLogDirsResponse](t, v, kmsg.NewPtrDescribeLogDirsRequest())
		t.OK("describe", resp.ErrorCode)
		sizes := map[int32]int64{}
		for _, dir := range resp.Dirs {
			t.OK("directory", dir.ErrorCode)
			if dir.Dir == "" {
				t.Fatalf("a directory has no name")
			}
			if v >= 4 && (dir.TotalBytes <= 0 || dir.UsableBytes < 0 || dir.UsableBytes > dir.TotalBytes) {
				t.Fatalf("%d of %d bytes are usable", dir.UsableBytes, dir.TotalBytes)
			}
			for _, rt := range dir.Topics {
				for _, p := range rt.Partitions {
					if rt.Topic == topic {
						sizes[p.Partition] = p.Size
						scenario.Equal(t, "lag", p.OffsetLag, 0)
						scenario.Equal(t, "future", p.IsFuture, false)
					}
				}
			}
		}
		scenario.Equal(t, "partitions", len(sizes), 2)
		scenario.Equal(t, "size of 0", sizes[0], int64(len(scenario.BigBatch(10000).Bytes())))
		scenario.Equal(t, "size of 1", sizes[1], 0)
	})
}

func describeLogDirsSome(t *scenario.T) {
	topic := t.Topic(2)
	t.Each(kmsg.DescribeLogDirs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		for name, partitions := range map[string][]int32{topic: {1, 7}, t.Name("missing"): {0}} {
			rt := kmsg.NewDescribeLogDirsRequestTopic()
			rt.Topic, rt.Partitions = name, partitions
			req.Topics = append(req.Topics, rt)
		}
		var got []int32
		for _, dir := range scenario.Ask[*kmsg.DescribeLogDirsResponse](t, v, req).Dirs {
			for _, rt := range dir.Topics {
				scenario.Equal(t, "topic", rt.Topic, topic)
				for _, p := range rt.Partitions {
					got = append(got, p.Partition)
				}
			}
		}
		scenario.EqualLists(t, "partitions", got, []int32{1})
	})
}

func logDirAnswers(t *scenario.T) {
	topic := t.Topic(3)
	size := int64(len(scenario.BigBatch(1000).Bytes()))
	t.Append(topic, scenario.BigBatch(1000))
	t.Each(kmsg.DescribeLogDirs, 0, 4, func(v int16) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0, 1, 3, -1}}}
		got := scenario.Ask[*kmsg.DescribeLogDirsResponse](t, v, req)
		d := scenario.One(t, "directories", got.Dirs)
		for _, rt := range d.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.DescribeLogDirsResponseDirTopicPartition) int { return int(a.Partition - b.Partition) })
		}
		if d.Dir == "" || v >= 4 && (d.UsableBytes <= 0 || d.TotalBytes < d.UsableBytes) {
			t.Fatalf("directory %q, %d of %d bytes", d.Dir, d.UsableBytes, d.TotalBytes)
		}
		scenario.Whole(t, "DescribeLogDirs", got, scenario.FilledPtr(func(r *kmsg.DescribeLogDirsResponse) {
			r.Dirs = []kmsg.DescribeLogDirsResponseDir{scenario.Filled(func(rd *kmsg.DescribeLogDirsResponseDir) {
				rd.Dir, rd.TotalBytes, rd.UsableBytes = d.Dir, d.TotalBytes, d.UsableBytes
				rd.Topics = []kmsg.DescribeLogDirsResponseDirTopic{scenario.Filled(func(rt *kmsg.DescribeLogDirsResponseDirTopic) {
					rt.Topic = topic
					for n, size := range []int64{size, 0} {
						rt.Partitions = append(rt.Partitions, kmsg.DescribeLogDirsResponseDirTopicPartition{Partition: int32(n), Size: size})
					}
				})}
			})}
		}))
	})
}
