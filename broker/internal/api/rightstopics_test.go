package api

import "github.com/twmb/franz-go/pkg/kmsg"

// rightsOfTopics is what is answered about topics.
var rightsOfTopics = []rightsRow{
	{
		name: "Metadata by name", suffice: []string{"DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req:    func() kmsg.Request { return metadataOf(12, "t", "u") },
		served: `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"t" TopicID:id1 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {Topic:"u" TopicID:id2 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`,
		without: []lacking{
			{"DESCRIBE TOPIC t", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"u" TopicID:id2 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {TOPIC_AUTHORIZATION_FAILED Topic:"t"}]}`},
			{"DESCRIBE TOPIC u", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"t" TopicID:id1 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {TOPIC_AUTHORIZATION_FAILED Topic:"u"}]}`},
		},
	},
	{
		name: "Metadata by id", suffice: []string{"DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := metadataOf(12)
			for _, id := range []byte{1, 2} {
				req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: [16]byte{id, 0xee}})
			}
			return req
		},
		served: `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"t" TopicID:id1 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {Topic:"u" TopicID:id2 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`,
		without: []lacking{
			{"DESCRIBE TOPIC t", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"u" TopicID:id2 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {TOPIC_AUTHORIZATION_FAILED TopicID:id1}]}`},
			{"DESCRIBE TOPIC u", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"t" TopicID:id1 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {TOPIC_AUTHORIZATION_FAILED TopicID:id2}]}`},
		},
	},
	{
		name: "Metadata of all", suffice: []string{"DESCRIBE TOPIC t; DESCRIBE TOPIC u; DESCRIBE TOPIC r; DESCRIBE TOPIC __consumer_offsets"},
		req: func() kmsg.Request {
			req := metadataOf(12)
			req.Topics = nil
			return req
		},
		served: `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"__consumer_offsets" TopicID:id4 IsInternal:true Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {Topic:"r" TopicID:id3 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1 2] ISR:[1 2]}]} {Topic:"t" TopicID:id1 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {Topic:"u" TopicID:id2 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`,
		without: []lacking{
			{"DESCRIBE TOPIC t", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"__consumer_offsets" TopicID:id4 IsInternal:true Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]} {Topic:"r" TopicID:id3 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1 2] ISR:[1 2]}]} {Topic:"u" TopicID:id2 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`},
			{"DESCRIBE TOPIC u; DESCRIBE TOPIC r; DESCRIBE TOPIC __consumer_offsets", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"t" TopicID:id1 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`},
		},
	},
	{
		name: "Metadata that creates", suffice: []string{"DESCRIBE TOPIC new; CREATE TOPIC new", "DESCRIBE TOPIC new; CREATE CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := metadataOf(12, "new")
			req.AllowAutoTopicCreation, req.IncludeTopicAuthorizedOperations = true, false
			return req
		},
		served: `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"new" TopicID:id9 Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`,
		without: []lacking{
			{"DESCRIBE TOPIC new", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{TOPIC_AUTHORIZATION_FAILED Topic:"new"}]}`},
			{"CREATE TOPIC new; CREATE CLUSTER kafka-cluster", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{TOPIC_AUTHORIZATION_FAILED Topic:"new"}]}`},
		},
	},
	{
		name: "Metadata that creates an internal topic", suffice: []string{"DESCRIBE TOPIC __transaction_state; CREATE TOPIC __transaction_state", "DESCRIBE TOPIC __transaction_state; CREATE CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := metadataOf(12, transactionState)
			req.AllowAutoTopicCreation = true
			return req
		},
		served: `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{Topic:"__transaction_state" TopicID:id9 IsInternal:true Partitions:[{Leader:1 LeaderEpoch:5 Replicas:[1] ISR:[1]}]}]}`,
		without: []lacking{
			{"DESCRIBE TOPIC __transaction_state", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{TOPIC_AUTHORIZATION_FAILED Topic:"__transaction_state"}]}`},
			{"CREATE TOPIC __transaction_state; CREATE CLUSTER kafka-cluster", `{Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}] ClusterID:"cluster" ControllerID:1 Topics:[{TOPIC_AUTHORIZATION_FAILED Topic:"__transaction_state" IsInternal:true}]}`},
		},
	},
	{
		name: "DescribeTopicPartitions", operations: true, suffice: []string{"DESCRIBE TOPIC t; DESCRIBE TOPIC u; DESCRIBE TOPIC none"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = 1
			req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "u"}, {Topic: "none"}, {Topic: "t"}}
			return req
		},
		served: `{Topics:[{UNKNOWN_TOPIC_OR_PARTITION Topic:"none"} {Topic:"t" TopicID:id1 Partitions:[{LeaderID:1 LeaderEpoch:5 Replicas:[1] ISR:[1] EligibleLeaderReplicas:[] LastKnownELR:[]}]}] NextCursor:{Topic:"u"}}`,
		without: []lacking{
			{"DESCRIBE TOPIC none", `{Topics:[{Topic:"t" TopicID:id1 Partitions:[{LeaderID:1 LeaderEpoch:5 Replicas:[1] ISR:[1] EligibleLeaderReplicas:[] LastKnownELR:[]}]} {TOPIC_AUTHORIZATION_FAILED Topic:"none"}] NextCursor:{Topic:"u"}}`},
			{"DESCRIBE TOPIC t", `{Topics:[{UNKNOWN_TOPIC_OR_PARTITION Topic:"none"} {Topic:"u" TopicID:id2 Partitions:[{LeaderID:1 LeaderEpoch:5 Replicas:[1] ISR:[1] EligibleLeaderReplicas:[] LastKnownELR:[]}]} {TOPIC_AUTHORIZATION_FAILED Topic:"t"}]}`},
			{"DESCRIBE TOPIC u", `{Topics:[{UNKNOWN_TOPIC_OR_PARTITION Topic:"none"} {Topic:"t" TopicID:id1 Partitions:[{LeaderID:1 LeaderEpoch:5 Replicas:[1] ISR:[1] EligibleLeaderReplicas:[] LastKnownELR:[]}]} {TOPIC_AUTHORIZATION_FAILED Topic:"u"}]}`},
		},
	},
	{
		name: "CreateTopics",
		suffice: []string{
			"CREATE CLUSTER kafka-cluster; DESCRIBE_CONFIGS TOPIC a; DESCRIBE_CONFIGS TOPIC b; DESCRIBE_CONFIGS TOPIC twice; DESCRIBE_CONFIGS TOPIC __cluster_metadata",
			"CREATE TOPIC a; CREATE TOPIC b; DESCRIBE_CONFIGS TOPIC a; DESCRIBE_CONFIGS TOPIC b; DESCRIBE_CONFIGS TOPIC twice; DESCRIBE_CONFIGS TOPIC __cluster_metadata",
		},
		req: func() kmsg.Request {
			req := kmsg.NewPtrCreateTopicsRequest()
			req.Version = 7
			for _, name := range []string{"a", "twice", metadataTopic, "b", "twice"} {
				rt := kmsg.NewCreateTopicsRequestTopic()
				rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
				req.Topics = append(req.Topics, rt)
			}
			return req
		},
		served: `{Topics:[{Topic:"a" NumPartitions:1} {Topic:"twice" NumPartitions:1} {Topic:"__cluster_metadata" NumPartitions:1} {Topic:"b" NumPartitions:1} {Topic:"twice" NumPartitions:1}]}`,
		without: []lacking{
			{"CREATE CLUSTER kafka-cluster; CREATE TOPIC a", `{Topics:[{Topic:"twice" NumPartitions:1} {Topic:"__cluster_metadata" NumPartitions:1} {Topic:"b" NumPartitions:1} {Topic:"twice" NumPartitions:1} {Topic:"a" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Authorization failed." Configs:[]}]}`},
			{"CREATE CLUSTER kafka-cluster; CREATE TOPIC b", `{Topics:[{Topic:"a" NumPartitions:1} {Topic:"twice" NumPartitions:1} {Topic:"__cluster_metadata" NumPartitions:1} {Topic:"twice" NumPartitions:1} {Topic:"b" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Authorization failed." Configs:[]}]}`},
			{"DESCRIBE_CONFIGS TOPIC a; DESCRIBE_CONFIGS TOPIC twice; DESCRIBE_CONFIGS TOPIC __cluster_metadata", `{Topics:[{Topic:"a" ConfigErrorCode:29 NumPartitions:1} {Topic:"twice" ConfigErrorCode:29 NumPartitions:1} {Topic:"__cluster_metadata" ConfigErrorCode:29 NumPartitions:1} {Topic:"b" NumPartitions:1} {Topic:"twice" ConfigErrorCode:29 NumPartitions:1}]}`},
			{"DESCRIBE_CONFIGS TOPIC b", `{Topics:[{Topic:"a" NumPartitions:1} {Topic:"twice" NumPartitions:1} {Topic:"__cluster_metadata" NumPartitions:1} {Topic:"b" ConfigErrorCode:29 NumPartitions:1} {Topic:"twice" NumPartitions:1}]}`},
		},
	},
	{
		name:    "DeleteTopics by name",
		suffice: []string{"DELETE CLUSTER kafka-cluster", "DESCRIBE TOPIC t; DELETE TOPIC t; DESCRIBE TOPIC none; DELETE TOPIC none"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Version, req.TopicNames = 5, []string{"t", "twice", "none", "twice"}
			return req
		},
		served: `{Topics:[{Topic:"t"} {Topic:"twice"} {Topic:"none"} {Topic:"twice"}]}`,
		without: []lacking{
			{"DELETE CLUSTER kafka-cluster; DELETE TOPIC t", `{Topics:[{Topic:"t" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"twice"} {Topic:"none"} {Topic:"twice"}]}`},
			{"DELETE CLUSTER kafka-cluster; DESCRIBE TOPIC t", `{Topics:[{Topic:"t" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"twice"} {Topic:"none"} {Topic:"twice"}]}`},
			{"DELETE CLUSTER kafka-cluster; DELETE TOPIC none", `{Topics:[{Topic:"none" UNKNOWN_TOPIC_OR_PARTITION ErrorMessage:"This server does not host this topic-partition."} {Topic:"t"} {Topic:"twice"} {Topic:"twice"}]}`},
			{"DELETE CLUSTER kafka-cluster; DESCRIBE TOPIC none", `{Topics:[{Topic:"none" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"t"} {Topic:"twice"} {Topic:"twice"}]}`},
		},
	},
	{
		name:    "DeleteTopics by name and by id",
		suffice: []string{"DELETE CLUSTER kafka-cluster", "DESCRIBE TOPIC t; DELETE TOPIC t; DELETE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.Version = 6
			u := [16]byte{2, 0xee}
			req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: kmsg.StringPtr("t")}, {TopicID: u}, {}, {Topic: kmsg.StringPtr("u"), TopicID: u}}
			return req
		},
		served: `{Topics:[{Topic:"t"} {TopicID:id2} {} {Topic:"u" TopicID:id2}]}`,
		without: []lacking{
			{"DELETE CLUSTER kafka-cluster; DELETE TOPIC t", `{Topics:[{Topic:"t" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {TopicID:id2} {} {Topic:"u" TopicID:id2}]}`},
			{"DELETE CLUSTER kafka-cluster; DESCRIBE TOPIC t", `{Topics:[{Topic:"t" TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {TopicID:id2} {} {Topic:"u" TopicID:id2}]}`},
			{"DELETE CLUSTER kafka-cluster; DELETE TOPIC u", `{Topics:[{Topic:"u" TopicID:id2 TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"t"} {} {Topic:"u" TopicID:id2}]}`},
			{"DELETE CLUSTER kafka-cluster; DELETE TOPIC u; DESCRIBE TOPIC u", `{Topics:[{TopicID:id2 TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed."} {Topic:"t"} {} {Topic:"u" TopicID:id2}]}`},
		},
	},
	{
		name: "CreatePartitions", suffice: []string{"ALTER TOPIC t; ALTER TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.Version = 3
			for _, name := range []string{"twice", "t", "u", "twice"} {
				req.Topics = append(req.Topics, kmsg.CreatePartitionsRequestTopic{Topic: name, Count: 3})
			}
			return req
		},
		served: `{Topics:[{Topic:"twice"} {Topic:"t"} {Topic:"u"} {Topic:"twice"}]}`,
		without: []lacking{
			{"ALTER TOPIC t", `{Topics:[{Topic:"t" TOPIC_AUTHORIZATION_FAILED} {Topic:"twice"} {Topic:"u"} {Topic:"twice"}]}`},
			{"ALTER TOPIC u", `{Topics:[{Topic:"u" TOPIC_AUTHORIZATION_FAILED} {Topic:"twice"} {Topic:"t"} {Topic:"twice"}]}`},
		},
	},
}

func metadataOf(version int16, topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	return req
}
