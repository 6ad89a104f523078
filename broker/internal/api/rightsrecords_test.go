package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// rightsOfRecords is what is answered about what is in topics.
var rightsOfRecords = []rightsRow{
	{
		name: "Produce", suffice: []string{"WRITE TOPIC t; WRITE TOPIC u"},
		req:    func() kmsg.Request { return producing2(nil, batch.Plain(0, -1)) },
		served: `{Topics:[{Topic:"t" Partitions:[{BaseOffset:1 LogStartOffset:0}]} {Topic:"u" Partitions:[{BaseOffset:1 LogStartOffset:0}]}]}`,
		without: []lacking{
			{"WRITE TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED BaseOffset:-1}]} {Topic:"u" Partitions:[{BaseOffset:1 LogStartOffset:0}]}]}`},
			{"WRITE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{BaseOffset:1 LogStartOffset:0}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED BaseOffset:-1}]}]}`},
		},
	},
	{
		name: "Produce in a transaction", suffice: []string{"WRITE TOPIC t; WRITE TOPIC u; WRITE TRANSACTIONAL_ID id"},
		req: func() kmsg.Request {
			m := batch.Plain(0, -1)
			m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
			return producing2(kmsg.StringPtr("id"), m)
		},
		served: `{Topics:[{Topic:"t" Partitions:[{BaseOffset:1 LogStartOffset:0}]} {Topic:"u" Partitions:[{BaseOffset:1 LogStartOffset:0}]}]}`,
		without: []lacking{
			{"WRITE TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED BaseOffset:-1}]} {Topic:"u" Partitions:[{BaseOffset:1 LogStartOffset:0}]}]}`},
			{"WRITE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{BaseOffset:1 LogStartOffset:0}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED BaseOffset:-1}]}]}`},
			{"WRITE TRANSACTIONAL_ID id", `{Topics:[{Topic:"t" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED BaseOffset:-1}]} {Topic:"u" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED BaseOffset:-1}]}]}`},
		},
	},
	{
		name: "Fetch", suffice: []string{"READ TOPIC t; READ TOPIC u"},
		req:    func() kmsg.Request { return fetching2(12, -1) },
		served: `{Topics:[{Topic:"t" Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]} {Topic:"u" Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]}]}`,
		without: []lacking{
			{"READ TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED HighWatermark:-1 AbortedTransactions:[] RecordBatches:0 bytes}]} {Topic:"u" Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]}]}`},
			{"READ TOPIC u", `{Topics:[{Topic:"t" Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED HighWatermark:-1 AbortedTransactions:[] RecordBatches:0 bytes}]}]}`},
		},
	},
	{
		name: "Fetch by id", suffice: []string{"READ TOPIC t; READ TOPIC u"},
		req:    func() kmsg.Request { return fetching2(13, -1) },
		served: `{Topics:[{TopicID:id1 Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]} {TopicID:id2 Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]}]}`,
		without: []lacking{
			{"READ TOPIC t", `{Topics:[{TopicID:id1 Partitions:[{TOPIC_AUTHORIZATION_FAILED HighWatermark:-1 AbortedTransactions:[] RecordBatches:0 bytes}]} {TopicID:id2 Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]}]}`},
			{"READ TOPIC u", `{Topics:[{TopicID:id1 Partitions:[{HighWatermark:1 LastStableOffset:1 LogStartOffset:0 RecordBatches:70 bytes}]} {TopicID:id2 Partitions:[{TOPIC_AUTHORIZATION_FAILED HighWatermark:-1 AbortedTransactions:[] RecordBatches:0 bytes}]}]}`},
		},
	},
	{
		name: "Fetch of a follower", suffice: []string{"CLUSTER_ACTION CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := fetching2(13, 2)
			req.Topics[0].TopicID = [16]byte{3, 0xee}
			req.Topics = req.Topics[:1]
			return req
		},
		served:  `{Topics:[{TopicID:id3 Partitions:[{LastStableOffset:0 LogStartOffset:0 RecordBatches:0 bytes}]}]}`,
		without: []lacking{{"CLUSTER_ACTION CLUSTER kafka-cluster", `{Topics:[{TopicID:id3 Partitions:[{TOPIC_AUTHORIZATION_FAILED HighWatermark:-1 AbortedTransactions:[] RecordBatches:0 bytes}]}]}`}},
	},
	{
		name: "ListOffsets", suffice: []string{"DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrListOffsetsRequest()
			req.Version, req.ReplicaID = 7, -1
			for _, name := range []string{"t", "u"} {
				p := kmsg.NewListOffsetsRequestTopicPartition()
				p.Timestamp, p.CurrentLeaderEpoch = -1, -1
				req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: name, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}})
			}
			return req
		},
		served: `{Topics:[{Topic:"t" Partitions:[{Offset:1 LeaderEpoch:5}]} {Topic:"u" Partitions:[{Offset:1 LeaderEpoch:5}]}]}`,
		without: []lacking{
			{"DESCRIBE TOPIC t", `{Topics:[{Topic:"u" Partitions:[{Offset:1 LeaderEpoch:5}]} {Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
			{"DESCRIBE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{Offset:1 LeaderEpoch:5}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "OffsetForLeaderEpoch", suffice: []string{"DESCRIBE TOPIC t; DESCRIBE TOPIC u", "CLUSTER_ACTION CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.Version, req.ReplicaID = 4, -1
			for _, name := range []string{"t", "u"} {
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.LeaderEpoch = 5
				req.Topics = append(req.Topics, kmsg.OffsetForLeaderEpochRequestTopic{Topic: name, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}})
			}
			return req
		},
		served: `{Topics:[{Topic:"t" Partitions:[{LeaderEpoch:5 EndOffset:1}]} {Topic:"u" Partitions:[{LeaderEpoch:5 EndOffset:1}]}]}`,
		without: []lacking{
			{"CLUSTER_ACTION CLUSTER kafka-cluster; DESCRIBE TOPIC t", `{Topics:[{Topic:"u" Partitions:[{LeaderEpoch:5 EndOffset:1}]} {Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
			{"CLUSTER_ACTION CLUSTER kafka-cluster; DESCRIBE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{LeaderEpoch:5 EndOffset:1}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "DeleteRecords", suffice: []string{"DELETE TOPIC t; DELETE TOPIC u; DELETE TOPIC __consumer_offsets"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.Version, req.TimeoutMillis = 2, 1000
			for _, name := range []string{"t", "u", consumerOffsets} {
				req.Topics = append(req.Topics, kmsg.DeleteRecordsRequestTopic{
					Topic: name, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 1}, {Partition: 1, Offset: 1}},
				})
			}
			return req
		},
		served: `{Topics:[{Topic:"t" Partitions:[{LowWatermark:1} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"u" Partitions:[{LowWatermark:1} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{LowWatermark:-1 INVALID_TOPIC_EXCEPTION} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`,
		without: []lacking{
			{"DELETE TOPIC t", `{Topics:[{Topic:"t" Partitions:[{LowWatermark:-1 TOPIC_AUTHORIZATION_FAILED} {Partition:1 LowWatermark:-1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{LowWatermark:1} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{LowWatermark:-1 INVALID_TOPIC_EXCEPTION} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`},
			{"DELETE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{LowWatermark:1} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"u" Partitions:[{LowWatermark:-1 TOPIC_AUTHORIZATION_FAILED} {Partition:1 LowWatermark:-1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"__consumer_offsets" Partitions:[{LowWatermark:-1 INVALID_TOPIC_EXCEPTION} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`},
			{"DELETE TOPIC __consumer_offsets", `{Topics:[{Topic:"t" Partitions:[{LowWatermark:1} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"u" Partitions:[{LowWatermark:1} {Partition:1 LowWatermark:-1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{LowWatermark:-1 TOPIC_AUTHORIZATION_FAILED} {Partition:1 LowWatermark:-1 TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "DescribeProducers", suffice: []string{"READ TOPIC t; READ TOPIC u; READ TOPIC none"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeProducersRequest()
			for _, name := range []string{"t", "u", "none", "no name/"} {
				req.Topics = append(req.Topics, kmsg.DescribeProducersRequestTopic{Topic: name, Partitions: []int32{0}})
			}
			return req
		},
		served: `{Topics:[{Topic:"t" Partitions:[{}]} {Topic:"u" Partitions:[{}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION ErrorMessage:"This server does not host this topic-partition."}]} {Topic:"no name/" Partitions:[{INVALID_TOPIC_EXCEPTION ErrorMessage:"Topic name is invalid: 'no name/' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"}]}]}`,
		without: []lacking{
			{"READ TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."}]} {Topic:"u" Partitions:[{}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION ErrorMessage:"This server does not host this topic-partition."}]} {Topic:"no name/" Partitions:[{INVALID_TOPIC_EXCEPTION ErrorMessage:"Topic name is invalid: 'no name/' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"}]}]}`},
			{"READ TOPIC u; READ TOPIC none", `{Topics:[{Topic:"t" Partitions:[{}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."}]} {Topic:"none" Partitions:[{TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."}]} {Topic:"no name/" Partitions:[{INVALID_TOPIC_EXCEPTION ErrorMessage:"Topic name is invalid: 'no name/' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"}]}]}`},
		},
	},
	{
		name: "DescribeLogDirs", suffice: []string{"DESCRIBE CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Version = 4
			req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "r", Partitions: []int32{0}}}
			return req
		},
		served:  `{Dirs:[{Dir:"/data" Topics:[{Topic:"r" Partitions:[{}]}] TotalBytes:1099511627776 UsableBytes:1099511627550}]}`,
		without: []lacking{{"DESCRIBE CLUSTER kafka-cluster", `{CLUSTER_AUTHORIZATION_FAILED}`}},
	},
}

// producing2 is a request that produces a record to t and one to u.
func producing2(txn *string, m batch.Meta) *kmsg.ProduceRequest {
	req := produceOf(9, -1, "t", [16]byte{}, recordsOf(m, "x"))
	req.TransactionID = txn
	req.Topics = append(req.Topics, produceOf(9, -1, "u", [16]byte{}, recordsOf(m, "x")).Topics...)
	return req
}

// fetching2 is a request that reads t and u.
func fetching2(version int16, replica int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes, req.SessionEpoch = version, replica, 1<<20, -1
	for i, name := range []string{"t", "u"} {
		p := kmsg.NewFetchRequestTopicPartition()
		p.PartitionMaxBytes, p.CurrentLeaderEpoch = 1<<20, -1
		req.Topics = append(req.Topics, kmsg.FetchRequestTopic{Topic: name, TopicID: [16]byte{byte(i + 1), 0xee}, Partitions: []kmsg.FetchRequestTopicPartition{p}})
	}
	return req
}
