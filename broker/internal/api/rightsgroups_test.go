package api

import "github.com/twmb/franz-go/pkg/kmsg"

// rightsOfGroups is what is answered about groups.
var rightsOfGroups = []rightsRow{
	{
		name: "FindCoordinator", suffice: []string{"DESCRIBE GROUP g; DESCRIBE GROUP h"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorKeys = 4, []string{"g", "h"}
			return req
		},
		served:  `{Coordinators:[{Key:"g" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""} {Key:"h" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""}]}`,
		without: []lacking{{"DESCRIBE GROUP g", `{Coordinators:[{Key:"g" NodeID:-1 Port:-1 GROUP_AUTHORIZATION_FAILED ErrorMessage:""} {Key:"h" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""}]}`}, {"DESCRIBE GROUP h", `{Coordinators:[{Key:"g" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""} {Key:"h" NodeID:-1 Port:-1 GROUP_AUTHORIZATION_FAILED ErrorMessage:""}]}`}},
	},
	{
		name: "FindCoordinator version 3", suffice: []string{"DESCRIBE GROUP g"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorKey = 3, "g"
			return req
		},
		served:  `{ErrorMessage:"NONE" NodeID:1 Host:"host1" Port:9092}`,
		without: []lacking{{"DESCRIBE GROUP g", `{GROUP_AUTHORIZATION_FAILED ErrorMessage:"Group authorization failed." NodeID:-1 Port:-1}`}},
	},
	{
		name: "FindCoordinator of transactions", suffice: []string{"DESCRIBE TRANSACTIONAL_ID a; DESCRIBE TRANSACTIONAL_ID b"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorType, req.CoordinatorKeys = 6, coordinatorOfTransactions, []string{"a", "b"}
			return req
		},
		served:  `{Coordinators:[{Key:"a" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""} {Key:"b" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""}]}`,
		without: []lacking{{"DESCRIBE TRANSACTIONAL_ID a", `{Coordinators:[{Key:"a" NodeID:-1 Port:-1 TRANSACTIONAL_ID_AUTHORIZATION_FAILED ErrorMessage:""} {Key:"b" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""}]}`}, {"DESCRIBE TRANSACTIONAL_ID b", `{Coordinators:[{Key:"a" NodeID:1 Host:"host1" Port:9092 ErrorMessage:""} {Key:"b" NodeID:-1 Port:-1 TRANSACTIONAL_ID_AUTHORIZATION_FAILED ErrorMessage:""}]}`}},
	},
	{
		name: "FindCoordinator of transactions version 1", suffice: []string{"DESCRIBE TRANSACTIONAL_ID a"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorType, req.CoordinatorKey = 1, coordinatorOfTransactions, "a"
			return req
		},
		served:  `{ErrorMessage:"NONE" NodeID:1 Host:"host1" Port:9092}`,
		without: []lacking{{"DESCRIBE TRANSACTIONAL_ID a", `{TRANSACTIONAL_ID_AUTHORIZATION_FAILED ErrorMessage:"Transactional Id authorization failed." NodeID:-1 Port:-1}`}},
	},
	{
		name: "JoinGroup", suffice: []string{"READ GROUP g"},
		req: func() kmsg.Request { return joining(9) }, served: `{Generation:1 Protocol:"range" MemberID:"m"}`,
		without: []lacking{{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED}`}},
	},
	{
		name: "JoinGroup version 6", suffice: []string{"READ GROUP g"},
		req: func() kmsg.Request { return joining(6) }, served: `{Generation:1 Protocol:"range" MemberID:"m"}`,
		without: []lacking{{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED Protocol:""}`}},
	},
	{
		name: "SyncGroup", suffice: []string{"READ GROUP g"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Version, req.Group, req.ProtocolType, req.Protocol = 5, "g", kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
			return req
		},
		served: `{MemberAssignment:1 bytes}`, without: []lacking{{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED MemberAssignment:0 bytes}`}},
	},
	{
		name: "SyncGroup version 4", suffice: []string{"READ GROUP g"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Version, req.Group = 4, "g"
			return req
		},
		served: `{MemberAssignment:1 bytes}`, without: []lacking{{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED MemberAssignment:0 bytes}`}},
	},
	{
		name: "SyncGroup without a protocol", // Refused before any right is asked for.
		req: func() kmsg.Request {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Version, req.Group, req.ProtocolType = 5, "g", kmsg.StringPtr("consumer")
			return req
		},
		served: `{INCONSISTENT_GROUP_PROTOCOL MemberAssignment:0 bytes}`,
	},
	{
		name: "SyncGroup without a type",
		req: func() kmsg.Request {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Version, req.Group, req.Protocol = 5, "g", kmsg.StringPtr("range")
			return req
		},
		served: `{INCONSISTENT_GROUP_PROTOCOL MemberAssignment:0 bytes}`,
	},
	{
		name: "Heartbeat", suffice: []string{"READ GROUP g"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Version, req.Group, req.MemberID = 4, "g", "m"
			return req
		},
		served: `{}`, without: []lacking{{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED}`}},
	},
	{
		name: "LeaveGroup", suffice: []string{"READ GROUP g"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Version, req.Group = 5, "g"
			req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
			return req
		},
		served: `{}`, without: []lacking{{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED}`}},
	},
	{
		name: "ListGroups", suffice: []string{"DESCRIBE CLUSTER kafka-cluster", "DESCRIBE GROUP g; DESCRIBE GROUP h"},
		req:    func() kmsg.Request { return kmsg.NewPtrListGroupsRequest() },
		served: `{Groups:[{Group:"g"} {Group:"h"}]}`,
		without: []lacking{
			{"DESCRIBE CLUSTER kafka-cluster; DESCRIBE GROUP g", `{Groups:[{Group:"h"}]}`},
			{"DESCRIBE CLUSTER kafka-cluster; DESCRIBE GROUP h", `{Groups:[{Group:"g"}]}`},
		},
	},
	{
		name: "DescribeGroups", suffice: []string{"DESCRIBE GROUP g; DESCRIBE GROUP h"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Version, req.Groups = 5, []string{"h", "g"}
			return req
		},
		served: `{Groups:[{Group:"h" State:"Stable"} {Group:"g" State:"Stable"}]}`, without: []lacking{{"DESCRIBE GROUP g", `{Groups:[{GROUP_AUTHORIZATION_FAILED Group:"g"} {Group:"h" State:"Stable"}]}`}, {"DESCRIBE GROUP h", `{Groups:[{GROUP_AUTHORIZATION_FAILED Group:"h"} {Group:"g" State:"Stable"}]}`}},
	},
	{
		name: "DeleteGroups", suffice: []string{"DELETE GROUP g; DELETE GROUP h"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Version, req.Groups = 2, []string{"h", "g", "h"}
			return req
		},
		served: `{Groups:[{Group:"h"} {Group:"g"}]}`, without: []lacking{{"DELETE GROUP g", `{Groups:[{Group:"h"} {Group:"g" GROUP_AUTHORIZATION_FAILED}]}`}, {"DELETE GROUP h", `{Groups:[{Group:"g"} {Group:"h" GROUP_AUTHORIZATION_FAILED}]}`}},
	},
	{
		name: "ConsumerGroupHeartbeat", suffice: []string{"READ GROUP g; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			req.Version, req.Group, req.SubscribedTopicNames = 1, "g", []string{"t", "u"}
			return req
		},
		served: `{MemberID:"sees tu"}`,
		without: []lacking{
			{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED}`},
			{"DESCRIBE TOPIC t", `{TOPIC_AUTHORIZATION_FAILED}`},
			{"DESCRIBE TOPIC u", `{TOPIC_AUTHORIZATION_FAILED}`},
		},
	},
	{
		name: "ConsumerGroupHeartbeat with a pattern", suffice: []string{"READ GROUP g; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
			req.Version, req.Group, req.SubscribedTopicRegex = 1, "g", kmsg.StringPtr(".*")
			return req
		},
		served: `{MemberID:"sees tu"}`,
		without: []lacking{
			{"READ GROUP g", `{GROUP_AUTHORIZATION_FAILED}`},
			{"DESCRIBE TOPIC t", `{MemberID:"sees u"}`},
			{"DESCRIBE TOPIC u", `{MemberID:"sees t"}`},
		},
	},
	{
		name: "ConsumerGroupDescribe", suffice: []string{"DESCRIBE GROUP g; DESCRIBE GROUP h; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrConsumerGroupDescribeRequest()
			req.Version, req.Groups = 1, []string{"h", "g"}
			return req
		},
		served: `{Groups:[{Group:"h" State:"Stable" Members:[{SubscribedTopics:["w"] Assignment:{TopicPartitions:[{Topic:"t"}]} TargetAssignment:{TopicPartitions:[{Topic:"u"}]}}]} {Group:"g" State:"Stable" Members:[{SubscribedTopics:["w"] Assignment:{TopicPartitions:[{Topic:"t"}]} TargetAssignment:{TopicPartitions:[{Topic:"u"}]}}]}]}`,
		without: []lacking{
			{"DESCRIBE GROUP g", `{Groups:[{GROUP_AUTHORIZATION_FAILED Group:"g"} {Group:"h" State:"Stable" Members:[{SubscribedTopics:["w"] Assignment:{TopicPartitions:[{Topic:"t"}]} TargetAssignment:{TopicPartitions:[{Topic:"u"}]}}]}]}`},
			{"DESCRIBE GROUP h", `{Groups:[{GROUP_AUTHORIZATION_FAILED Group:"h"} {Group:"g" State:"Stable" Members:[{SubscribedTopics:["w"] Assignment:{TopicPartitions:[{Topic:"t"}]} TargetAssignment:{TopicPartitions:[{Topic:"u"}]}}]}]}`},
			{"DESCRIBE TOPIC t", `{Groups:[{TOPIC_AUTHORIZATION_FAILED ErrorMessage:"The group has described topic(s) that the client is not authorized to describe." Group:"h"} {TOPIC_AUTHORIZATION_FAILED ErrorMessage:"The group has described topic(s) that the client is not authorized to describe." Group:"g"}]}`},
			{"DESCRIBE TOPIC u", `{Groups:[{TOPIC_AUTHORIZATION_FAILED ErrorMessage:"The group has described topic(s) that the client is not authorized to describe." Group:"h"} {TOPIC_AUTHORIZATION_FAILED ErrorMessage:"The group has described topic(s) that the client is not authorized to describe." Group:"g"}]}`},
		},
	},
}

func joining(version int16) kmsg.Request {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = version, "g", "mine", "consumer"
	return req
}

// rightsOfOffsets is what is answered about how far groups have read.
var rightsOfOffsets = []rightsRow{
	{
		name: "OffsetCommit", suffice: []string{"READ GROUP g; READ TOPIC t; READ TOPIC u; READ TOPIC none; READ TOPIC"},
		req: func() kmsg.Request { return committing2(9, "t", "u", "none", "") }, served: `{Topics:[{Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"u" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`,
		without: []lacking{
			{"READ GROUP g", `{Topics:[{Topic:"t" Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]}]}`},
			{"READ TOPIC t", `{Topics:[{Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]}]}`},
			{"READ TOPIC u; READ TOPIC none; READ TOPIC", `{Topics:[{Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {Topic:"u" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"none" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "OffsetCommit by id", suffice: []string{"READ GROUP g; READ TOPIC t; READ TOPIC u"},
		req: func() kmsg.Request { return committing2(10, "t", "u", "none") }, served: `{Topics:[{TopicID:id1 Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {TopicID:id2 Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {TopicID:id77 Partitions:[{UNKNOWN_TOPIC_ID} {Partition:1 UNKNOWN_TOPIC_ID}]}]}`,
		without: []lacking{
			{"READ GROUP g", `{Topics:[{TopicID:id1 Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {TopicID:id2 Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]} {TopicID:id77 Partitions:[{GROUP_AUTHORIZATION_FAILED} {Partition:1 GROUP_AUTHORIZATION_FAILED}]}]}`},
			{"READ TOPIC t", `{Topics:[{TopicID:id1 Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {TopicID:id2 Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {TopicID:id77 Partitions:[{UNKNOWN_TOPIC_ID} {Partition:1 UNKNOWN_TOPIC_ID}]}]}`},
			{"READ TOPIC u", `{Topics:[{TopicID:id1 Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]} {TopicID:id2 Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {TopicID:id77 Partitions:[{UNKNOWN_TOPIC_ID} {Partition:1 UNKNOWN_TOPIC_ID}]}]}`},
		},
	},
	{
		name: "OffsetFetch", suffice: []string{"DESCRIBE GROUP g; DESCRIBE GROUP h; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.Version = 9
			for _, name := range []string{"g", "h"} {
				g := kmsg.NewOffsetFetchRequestGroup()
				g.Group = name
				g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}, {Topic: "u", Partitions: []int32{0}}}
				req.Groups = append(req.Groups, g)
			}
			return req
		},
		served: `{Groups:[{Group:"g" Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:5}]}]} {Group:"h" Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:5}]}]}]}`,
		without: []lacking{
			{"DESCRIBE GROUP g", `{Groups:[{Group:"g" GROUP_AUTHORIZATION_FAILED} {Group:"h" Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:5}]}]}]}`},
			{"DESCRIBE GROUP h", `{Groups:[{Group:"g" Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:5}]}]} {Group:"h" GROUP_AUTHORIZATION_FAILED}]}`},
			{"DESCRIBE TOPIC t", `{Groups:[{Group:"g" Topics:[{Topic:"u" Partitions:[{Offset:5}]} {Topic:"t" Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]}]} {Group:"h" Topics:[{Topic:"u" Partitions:[{Offset:5}]} {Topic:"t" Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]}]}]}`},
			{"DESCRIBE TOPIC u", `{Groups:[{Group:"g" Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]}]} {Group:"h" Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]}]}]}`},
		},
	},
	{
		name: "OffsetFetch by id", suffice: []string{"DESCRIBE GROUP g; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.Version = 10
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group = "g"
			for _, id := range []byte{1, 2, 77} {
				g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{TopicID: [16]byte{id, 0xee}, Partitions: []int32{0}})
			}
			req.Groups = append(req.Groups, g)
			return req
		},
		served: `{Groups:[{Group:"g" Topics:[{TopicID:id1 Partitions:[{Offset:5}]} {TopicID:id2 Partitions:[{Offset:5}]} {TopicID:id77 Partitions:[{Offset:-1 Metadata:"" UNKNOWN_TOPIC_ID}]}]}]}`,
		without: []lacking{
			{"DESCRIBE GROUP g", `{Groups:[{Group:"g" GROUP_AUTHORIZATION_FAILED}]}`},
			{"DESCRIBE TOPIC t", `{Groups:[{Group:"g" Topics:[{TopicID:id2 Partitions:[{Offset:5}]} {TopicID:id1 Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]} {TopicID:id77 Partitions:[{Offset:-1 Metadata:"" UNKNOWN_TOPIC_ID}]}]}]}`},
			{"DESCRIBE TOPIC u", `{Groups:[{Group:"g" Topics:[{TopicID:id1 Partitions:[{Offset:5}]} {TopicID:id2 Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]} {TopicID:id77 Partitions:[{Offset:-1 Metadata:"" UNKNOWN_TOPIC_ID}]}]}]}`},
		},
	},
	{
		name: "OffsetFetch of all topics", suffice: []string{"DESCRIBE GROUP g; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request { return oldFetching(7, nil) }, served: `{Topics:[{Topic:"t" Partitions:[{Offset:5}]} {Topic:"u" Partitions:[{Offset:5}]}]}`,
		without: []lacking{
			{"DESCRIBE GROUP g", `{GROUP_AUTHORIZATION_FAILED}`},
			{"DESCRIBE TOPIC t", `{Topics:[{Topic:"u" Partitions:[{Offset:5}]}]}`},
			{"DESCRIBE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{Offset:5}]}]}`},
		},
	},
	{
		name: "OffsetFetch version 1", suffice: []string{"DESCRIBE GROUP g; DESCRIBE TOPIC t; DESCRIBE TOPIC u"},
		req: func() kmsg.Request {
			return oldFetching(1, []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}, {Topic: "u", Partitions: []int32{0}}})
		},
		served: `{Topics:[{Topic:"t" Partitions:[{Offset:5} {Partition:1 Offset:5}]} {Topic:"u" Partitions:[{Offset:5}]}]}`,
		without: []lacking{
			{"DESCRIBE GROUP g", `{Topics:[{Topic:"t" Partitions:[{Offset:-1 Metadata:"" GROUP_AUTHORIZATION_FAILED} {Partition:1 Offset:-1 Metadata:"" GROUP_AUTHORIZATION_FAILED}]} {Topic:"u" Partitions:[{Offset:-1 Metadata:"" GROUP_AUTHORIZATION_FAILED}]}]}`},
			{"DESCRIBE TOPIC t", `{Topics:[{Topic:"u" Partitions:[{Offset:5}]} {Topic:"t" Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED} {Partition:1 Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]}]}`},
			{"DESCRIBE TOPIC u", `{Topics:[{Topic:"t" Partitions:[{Offset:5} {Partition:1 Offset:5}]} {Topic:"u" Partitions:[{Offset:-1 Metadata:"" TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
	{
		name: "OffsetDelete", suffice: []string{"DELETE GROUP g; READ TOPIC t; READ TOPIC none"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = "g"
			for _, name := range []string{"none", "t"} {
				req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{Topic: name, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 1}}})
			}
			return req
		},
		served: `{Topics:[{Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]}]}`,
		without: []lacking{
			{"DELETE GROUP g", `{GROUP_AUTHORIZATION_FAILED}`},
			{"READ TOPIC none", `{Topics:[{Topic:"none" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]} {Topic:"t" Partitions:[{Partition:1 UNKNOWN_TOPIC_OR_PARTITION} {}]}]}`},
			{"READ TOPIC t", `{Topics:[{Topic:"none" Partitions:[{UNKNOWN_TOPIC_OR_PARTITION} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"t" Partitions:[{TOPIC_AUTHORIZATION_FAILED} {Partition:1 TOPIC_AUTHORIZATION_FAILED}]}]}`},
		},
	},
}

func oldFetching(version int16, topics []kmsg.OffsetFetchRequestTopic) kmsg.Request {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group, req.Topics = version, "g", topics
	return req
}

// committing2 commits offsets of partitions 0 and 1 of topics.
func committing2(version int16, topics ...string) kmsg.Request {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = version, "g", -1
	for i, name := range topics {
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic, rt.TopicID = name, [16]byte{byte(i + 1), 0xee}
		if name == "none" {
			rt.TopicID = [16]byte{77}
		}
		for _, n := range []int32{0, 1} {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition = n
			rt.Partitions = append(rt.Partitions, p)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}
