package api

import "github.com/twmb/franz-go/pkg/kmsg"

// rightsOfTransactions is what is answered about producers and their transactions.
var rightsOfTransactions = []rightsRow{
	{
		name: "InitProducerId", suffice: []string{"IDEMPOTENT_WRITE CLUSTER kafka-cluster", "WRITE TOPIC"},
		req: func() kmsg.Request { return beginning(nil) }, served: `{ProducerID:1000}`,
		without: []lacking{{"IDEMPOTENT_WRITE CLUSTER kafka-cluster; WRITE TOPIC", `{CLUSTER_AUTHORIZATION_FAILED ProducerEpoch:-1}`}},
	},
	{
		name: "InitProducerId of a transactional id", suffice: []string{"WRITE TRANSACTIONAL_ID id"},
		req: func() kmsg.Request { return beginning(kmsg.StringPtr("id")) }, served: `{ProducerID:7 ProducerEpoch:1}`,
		without: []lacking{{"WRITE TRANSACTIONAL_ID id", `{TRANSACTIONAL_ID_AUTHORIZATION_FAILED ProducerEpoch:-1}`}},
	},
	{
		name: "InitProducerId of no transactional id", suffice: []string{"WRITE TRANSACTIONAL_ID"},
		req: func() kmsg.Request { return beginning(kmsg.StringPtr("")) }, served: `{INVALID_REQUEST ProducerEpoch:-1}`,
		without: []lacking{{"WRITE TRANSACTIONAL_ID", `{TRANSACTIONAL_ID_AUTHORIZATION_FAILED ProducerEpoch:-1}`}},
	},
	{
		name: "AddPartitionsToTxn", suffice: []string{"WRITE TRANSACTIONAL_ID id; WRITE TOPIC t; WRITE TOPIC u"},
		req: func() kmsg.Request { return addingPartitions("t", "u") }, served: `{Topics:[{Topic:"t" Partitions:[{}]} {Topic:"u" Partitions:[{}]}]}`,
		without: []lacking{
			{"WRITE TRANSACTIONAL_ID id", `{Topics:[{Topic:"t" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]}]}`},
			{"WRITE TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{OPERATION_NOT_ATTEMPTED}]}]}`},
			{"WRITE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{OPERATION_NOT_ATTEMPTED}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "AddPartitionsToTxn of what is nobody's", suffice: []string{"WRITE TRANSACTIONAL_ID id; WRITE TOPIC t; WRITE TOPIC none"},
		req: func() kmsg.Request { return addingPartitions("t", "none", consumerOffsets) }, served: `{Topics:[{Topic:"t" Partitions:[{OPERATION_NOT_ATTEMPTED}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`,
		without: []lacking{
			{"WRITE TRANSACTIONAL_ID id", `{Topics:[{Topic:"t" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]} {Topic:"__consumer_offsets" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]}]}`},
			{"WRITE TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
			{"WRITE TOPIC none", `{Topics:[{Topic:"t" Partitions:[{OPERATION_NOT_ATTEMPTED}]} {Topic:"none" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]} {Topic:"__consumer_offsets" Partitions:[{TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "AddPartitionsToTxn by a broker", suffice: []string{"CLUSTER_ACTION CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrAddPartitionsToTxnRequest()
			req.Version = 4
			tx := kmsg.NewAddPartitionsToTxnRequestTransaction()
			tx.TransactionalID = "id"
			tx.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "t", Partitions: []int32{0}}, {Topic: consumerOffsets, Partitions: []int32{0}}}
			req.Transactions = append(req.Transactions, tx)
			return req
		},
		served: `{Transactions:[{TransactionalID:"id" Topics:[{Topic:"t" Partitions:[{}]} {Topic:"__consumer_offsets" Partitions:[{}]}]}]}`, without: []lacking{{"CLUSTER_ACTION CLUSTER kafka-cluster", `{CLUSTER_AUTHORIZATION_FAILED}`}},
	},
	{
		name: "AddOffsetsToTxn", suffice: []string{"WRITE TRANSACTIONAL_ID id; READ GROUP g"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrAddOffsetsToTxnRequest()
			req.Version, req.TransactionalID, req.Group = 3, "id", "g"
			return req
		},
		served:  `{}`,
		without: []lacking{{"WRITE TRANSACTIONAL_ID id", `{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}`}, {"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED}`}},
	},
	{
		name: "EndTxn", suffice: []string{"WRITE TRANSACTIONAL_ID id"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrEndTxnRequest()
			req.Version, req.TransactionalID = 5, "id"
			return req
		},
		served: `{ProducerID:7 ProducerEpoch:2}`, without: []lacking{{"WRITE TRANSACTIONAL_ID id", `{TRANSACTIONAL_ID_AUTHORIZATION_FAILED}`}},
	},
	{
		name: "TxnOffsetCommit", suffice: []string{"WRITE TRANSACTIONAL_ID id; READ GROUP g; READ TOPIC t; READ TOPIC u; READ TOPIC none"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrTxnOffsetCommitRequest()
			req.Version, req.TransactionalID, req.Group, req.Generation = 3, "id", "g", -1
			for _, name := range []string{"t", "u", "none"} {
				rt := kmsg.NewTxnOffsetCommitRequestTopic()
				rt.Topic = name
				for _, n := range []int32{0, 1} {
					p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
					p.Partition = n
					rt.Partitions = append(rt.Partitions, p)
				}
				req.Topics = append(req.Topics, rt)
			}
			return req
		},
		served: `{Topics:[{Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"u" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`,
		without: []lacking{
			{"WRITE TRANSACTIONAL_ID id", `{Topics:[{Topic:"t" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED} {Partition:1 TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED} {Partition:1 TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED} {Partition:1 TRANSACTIONAL_ID_AUTHORIZATION_FAILED}]}]}`},
			{"READ GROUP g", `{Topics:[{Topic:"t" Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]}]}`},
			{"READ TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`},
			{"READ TOPIC u; READ TOPIC none", `{Topics:[{Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "DescribeTransactions", suffice: []string{"DESCRIBE TRANSACTIONAL_ID a; DESCRIBE TRANSACTIONAL_ID b; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeTransactionsRequest()
			req.TransactionalIDs = []string{"b", "a"}
			return req
		},
		served: `{TransactionStates:[{TransactionalID:"b" State:"Ongoing" Topics:[{Topic:"t" Partitions:[0]} {Topic:"u" Partitions:[0]}]} {TransactionalID:"a" State:"Ongoing" Topics:[{Topic:"t" Partitions:[0]} {Topic:"u" Partitions:[0]}]}]}`,
		without: []lacking{
			{"DESCRIBE TRANSACTIONAL_ID a", `{TransactionStates:[{TransactionalID:"b" State:"Ongoing" Topics:[{Topic:"t" Partitions:[0]} {Topic:"u" Partitions:[0]}]} {TRANSACTIONAL_ID_AUTHORIZATION_FAILED TransactionalID:"a"}]}`},
			{"DESCRIBE TRANSACTIONAL_ID b", `{TransactionStates:[{TRANSACTIONAL_ID_AUTHORIZATION_FAILED TransactionalID:"b"} {TransactionalID:"a" State:"Ongoing" Topics:[{Topic:"t" Partitions:[0]} {Topic:"u" Partitions:[0]}]}]}`},
			{"DESCRIBE TOPIC t", `{TransactionStates:[{TransactionalID:"b" State:"Ongoing" Topics:[{Topic:"u" Partitions:[0]}]} {TransactionalID:"a" State:"Ongoing" Topics:[{Topic:"u" Partitions:[0]}]}]}`},
			{"DESCRIBE TOPIC u", `{TransactionStates:[{TransactionalID:"b" State:"Ongoing" Topics:[{Topic:"t" Partitions:[0]}]} {TransactionalID:"a" State:"Ongoing" Topics:[{Topic:"t" Partitions:[0]}]}]}`},
		},
	},
	{
		name: "ListTransactions", suffice: []string{"DESCRIBE TRANSACTIONAL_ID a; DESCRIBE TRANSACTIONAL_ID b"},
		req: func() kmsg.Request { return kmsg.NewPtrListTransactionsRequest() }, served: `{TransactionStates:[{TransactionalID:"a"} {TransactionalID:"b"}]}`,
		without: []lacking{{"DESCRIBE TRANSACTIONAL_ID a", `{TransactionStates:[{TransactionalID:"b"}]}`}, {"DESCRIBE TRANSACTIONAL_ID b", `{TransactionStates:[{TransactionalID:"a"}]}`}},
	},
}

func beginning(id *string) kmsg.Request {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 4, id, 1000, -1, -1
	return req
}

func addingPartitions(topics ...string) kmsg.Request {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID = 3, "id"
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: name, Partitions: []int32{0}})
	}
	return req
}
