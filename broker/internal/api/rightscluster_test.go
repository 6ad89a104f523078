package api

import "github.com/twmb/franz-go/pkg/kmsg"

// rightsOfCluster is what is answered about the cluster and its settings.
var rightsOfCluster = []rightsRow{
	{
		name: "ApiVersions", // Open to all.
		req: func() kmsg.Request {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName = 3, "no name!"
			return req
		},
		served: `{INVALID_REQUEST}`,
	},
	ofCluster("DescribeQuorum", "DESCRIBE", func() kmsg.Request {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Version = 2
		req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
		return req
	}, `{ErrorMessage:"" Topics:[{Topic:"__cluster_metadata" Partitions:[{ErrorMessage:"" LeaderID:1 LeaderEpoch:3 HighWatermark:9}]}]}`, `{CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}`),
	ofCluster("UpdateFeatures", "ALTER", func() kmsg.Request {
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version = 1
		req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: groupFeature, MaxVersionLevel: 1}}
		return req
	}, `{}`, `{CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}`),
	ofCluster("DescribeAcls", "DESCRIBE", func() kmsg.Request {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.Version = 3
		req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		return req
	}, `{SECURITY_DISABLED ErrorMessage:"No Authorizer is configured on the broker"}`, `{CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}`),
	ofCluster("ElectLeaders", "ALTER", func() kmsg.Request { return electing(2) }, `{}`, `{CLUSTER_AUTHORIZATION_FAILED Topics:[{Topic:"t" Partitions:[{Partition:1 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."} {Partition:5 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}]} {Topic:"u" Partitions:[{Partition:6 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}]}]}`),
	ofCluster("ElectLeaders version 0", "ALTER", func() kmsg.Request { return electing(0) }, `{}`, `{Topics:[{Topic:"t" Partitions:[{Partition:1 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."} {Partition:5 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}]} {Topic:"u" Partitions:[{Partition:6 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}]}]}`),
	ofCluster("AlterPartitionReassignments", "ALTER", func() kmsg.Request {
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
			Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 1, Replicas: []int32{1}}},
		}}
		return req
	}, `{}`, `{CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." Topics:[{Topic:"t" Partitions:[{Partition:1 CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed."}]}]}`),
	ofCluster("ListPartitionReassignments", "DESCRIBE", func() kmsg.Request {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "t", Partitions: []int32{1}}}
		return req
	}, `{}`, `{CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." Topics:[{Topic:"t" Partitions:[{Partition:1}]}]}`),
	ofCluster("ListConfigResources", "DESCRIBE_CONFIGS", func() kmsg.Request {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = 1, []int8{int8(kmsg.ConfigResourceTypeTopic), int8(kmsg.ConfigResourceTypeBroker)}
		return req
	}, `{ConfigResources:[{Name:"1" Type:4} {Name:"2" Type:4} {Name:"__consumer_offsets" Type:2} {Name:"r" Type:2} {Name:"t" Type:2} {Name:"u" Type:2}]}`, `{CLUSTER_AUTHORIZATION_FAILED}`),
	ofCluster("WriteTxnMarkers by a broker", "CLUSTER_ACTION", markers, `{Markers:[{ProducerID:7 Topics:[{Topic:"t" Partitions:[{} {Partition:1 UNKNOWN_TOPIC_OR_PARTITION}]} {Topic:"__consumer_offsets" Partitions:[{}]}]} {ProducerID:8 Topics:[{Topic:"u" Partitions:[{}]}]}]}`, `{Markers:[{ProducerID:7 Topics:[{Topic:"t" Partitions:[{CLUSTER_AUTHORIZATION_FAILED} {Partition:1 CLUSTER_AUTHORIZATION_FAILED}]} {Topic:"__consumer_offsets" Partitions:[{CLUSTER_AUTHORIZATION_FAILED}]}]} {ProducerID:8 Topics:[{Topic:"u" Partitions:[{CLUSTER_AUTHORIZATION_FAILED}]}]}]}`, "ALTER"),
	{
		name: "DescribeCluster", // The rights that it takes are in TestAuthorizedOperations.
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version = 2
			return req
		},
		served: `{ClusterID:"cluster" ControllerID:1 Brokers:[{NodeID:1 Host:"host1" Port:9092} {NodeID:2 Host:"host2" Port:9092}]}`,
	},
}

// ofCluster is the row of a request that takes a right to the cluster, or one of some.
func ofCluster(name, op string, req func() kmsg.Request, served, refused string, or ...string) rightsRow {
	row := rightsRow{name: name, req: req, served: served}
	all := ""
	for _, op := range append([]string{op}, or...) {
		right := op + " CLUSTER " + ClusterName
		row.suffice = append(row.suffice, right)
		if all != "" {
			all += "; "
		}
		all += right
	}
	row.without = []lacking{{all, refused}}
	return row
}

func electing(version int16) kmsg.Request {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version = version
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{1, 5}}, {Topic: "u", Partitions: []int32{6}}}
	return req
}

func markers() kmsg.Request {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 1
	req.Markers = []kmsg.WriteTxnMarkersRequestMarker{
		{ProducerID: 7, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{0, 1}}, {Topic: consumerOffsets, Partitions: []int32{0}}}},
		{ProducerID: 8, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "u", Partitions: []int32{0}}}},
	}
	return req
}

// rightsOfConfigs is what is answered about settings.
var rightsOfConfigs = []rightsRow{
	{
		name:    "DescribeConfigs",
		suffice: []string{"DESCRIBE_CONFIGS TOPIC t; DESCRIBE_CONFIGS GROUP g; DESCRIBE_CONFIGS CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Version = 4
			for _, r := range someResources {
				req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name, ConfigNames: []string{"none"}})
			}
			return req
		},
		served: `{Resources:[{ErrorMessage:"" ResourceType:GROUP_CONFIG ResourceName:"g"} {ErrorMessage:"" ResourceType:TOPIC ResourceName:"t"} {ErrorMessage:"" ResourceType:BROKER ResourceName:"1"} {ErrorMessage:"" ResourceType:CLIENT_METRICS ResourceName:"c"} {ErrorMessage:"" ResourceType:BROKER_LOGGER ResourceName:"1"} {ErrorMessage:"" ResourceType:BROKER}]}`,
		without: []lacking{
			{"DESCRIBE_CONFIGS TOPIC t", `{Resources:[{ErrorMessage:"" ResourceType:GROUP_CONFIG ResourceName:"g"} {ErrorMessage:"" ResourceType:BROKER ResourceName:"1"} {ErrorMessage:"" ResourceType:CLIENT_METRICS ResourceName:"c"} {ErrorMessage:"" ResourceType:BROKER_LOGGER ResourceName:"1"} {ErrorMessage:"" ResourceType:BROKER} {TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed." ResourceType:TOPIC ResourceName:"t"}]}`},
			{"DESCRIBE_CONFIGS GROUP g", `{Resources:[{ErrorMessage:"" ResourceType:TOPIC ResourceName:"t"} {ErrorMessage:"" ResourceType:BROKER ResourceName:"1"} {ErrorMessage:"" ResourceType:CLIENT_METRICS ResourceName:"c"} {ErrorMessage:"" ResourceType:BROKER_LOGGER ResourceName:"1"} {ErrorMessage:"" ResourceType:BROKER} {GROUP_AUTHORIZATION_FAILED ErrorMessage:"Group authorization failed." ResourceType:GROUP_CONFIG ResourceName:"g"}]}`},
			{"DESCRIBE_CONFIGS CLUSTER kafka-cluster", `{Resources:[{ErrorMessage:"" ResourceType:GROUP_CONFIG ResourceName:"g"} {ErrorMessage:"" ResourceType:TOPIC ResourceName:"t"} {CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." ResourceType:BROKER ResourceName:"1"} {CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." ResourceType:CLIENT_METRICS ResourceName:"c"} {CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." ResourceType:BROKER_LOGGER ResourceName:"1"} {CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." ResourceType:BROKER}]}`},
		},
	},
	{
		name:    "AlterConfigs",
		suffice: []string{"ALTER_CONFIGS TOPIC t; ALTER_CONFIGS GROUP g; ALTER_CONFIGS CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrAlterConfigsRequest()
			req.Version = 2
			for _, r := range alteredResources {
				req.Resources = append(req.Resources, kmsg.AlterConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name})
			}
			return req
		},
		served: `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {ResourceType:GROUP_CONFIG ResourceName:"g"} {ResourceType:TOPIC ResourceName:"t"} {ResourceType:BROKER ResourceName:"1"} {ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 8" ResourceType:BROKER_LOGGER ResourceName:"1"} {ResourceType:BROKER}]}`,
		without: []lacking{
			{"ALTER_CONFIGS TOPIC t", `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {ResourceType:GROUP_CONFIG ResourceName:"g"} {TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed." ResourceType:TOPIC ResourceName:"t"} {ResourceType:BROKER ResourceName:"1"} {ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 8" ResourceType:BROKER_LOGGER ResourceName:"1"} {ResourceType:BROKER}]}`},
			{"ALTER_CONFIGS GROUP g", `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {GROUP_AUTHORIZATION_FAILED ErrorMessage:"Group authorization failed." ResourceType:GROUP_CONFIG ResourceName:"g"} {ResourceType:TOPIC ResourceName:"t"} {ResourceType:BROKER ResourceName:"1"} {ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 8" ResourceType:BROKER_LOGGER ResourceName:"1"} {ResourceType:BROKER}]}`},
			{"ALTER_CONFIGS CLUSTER kafka-cluster", `{Resources:[{CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER ResourceName:"2"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {ResourceType:GROUP_CONFIG ResourceName:"g"} {ResourceType:TOPIC ResourceName:"t"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER ResourceName:"1"} {CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 8" ResourceType:BROKER_LOGGER ResourceName:"1"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER}]}`},
		},
	},
	{
		name:    "IncrementalAlterConfigs",
		suffice: []string{"ALTER_CONFIGS TOPIC t; ALTER_CONFIGS GROUP g; ALTER_CONFIGS CLUSTER kafka-cluster"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.Version = 1
			for _, r := range alteredResources {
				req.Resources = append(req.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name})
			}
			return req
		},
		served: `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {ResourceType:GROUP_CONFIG ResourceName:"g"} {ResourceType:TOPIC ResourceName:"t"} {ResourceType:BROKER ResourceName:"1"} {ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"This broker's loggers have no levels of their own." ResourceType:BROKER_LOGGER ResourceName:"1"} {ResourceType:BROKER}]}`,
		without: []lacking{
			{"ALTER_CONFIGS TOPIC t", `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {ResourceType:GROUP_CONFIG ResourceName:"g"} {TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed." ResourceType:TOPIC ResourceName:"t"} {ResourceType:BROKER ResourceName:"1"} {ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"This broker's loggers have no levels of their own." ResourceType:BROKER_LOGGER ResourceName:"1"} {ResourceType:BROKER}]}`},
			{"ALTER_CONFIGS GROUP g", `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1, but received 2" ResourceType:BROKER ResourceName:"2"} {INVALID_REQUEST ErrorMessage:"Node id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {GROUP_AUTHORIZATION_FAILED ErrorMessage:"Group authorization failed." ResourceType:GROUP_CONFIG ResourceName:"g"} {ResourceType:TOPIC ResourceName:"t"} {ResourceType:BROKER ResourceName:"1"} {ResourceType:CLIENT_METRICS ResourceName:"c"} {INVALID_REQUEST ErrorMessage:"This broker's loggers have no levels of their own." ResourceType:BROKER_LOGGER ResourceName:"1"} {ResourceType:BROKER}]}`},
			{"ALTER_CONFIGS CLUSTER kafka-cluster", `{Resources:[{CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER ResourceName:"2"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER ResourceName:"x"} {INVALID_REQUEST ErrorMessage:"Unknown resource type 3" ResourceType:UNKNOWN ResourceName:"odd"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {INVALID_REQUEST ErrorMessage:"Each resource must appear at most once." ResourceType:TOPIC ResourceName:"twice"} {ResourceType:GROUP_CONFIG ResourceName:"g"} {ResourceType:TOPIC ResourceName:"t"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER ResourceName:"1"} {CLUSTER_AUTHORIZATION_FAILED ErrorMessage:"Cluster authorization failed." ResourceType:CLIENT_METRICS ResourceName:"c"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER_LOGGER ResourceName:"1"} {CLUSTER_AUTHORIZATION_FAILED ResourceType:BROKER}]}`},
		},
	},
	{
		// Without the right nothing is left that the controller could be asked.
		name: "IncrementalAlterConfigs of a topic alone", suffice: []string{"ALTER_CONFIGS TOPIC t"},
		req: func() kmsg.Request {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}
			return req
		},
		served:  `{Resources:[{ResourceType:TOPIC ResourceName:"t"}]}`,
		without: []lacking{{"ALTER_CONFIGS TOPIC t", `{Resources:[{TOPIC_AUTHORIZATION_FAILED ErrorMessage:"Topic authorization failed." ResourceType:TOPIC ResourceName:"t"}]}`}},
	},
}

// someResources are one of each kind that has settings.
var someResources = []configResource{
	{kmsg.ConfigResourceTypeGroupConfig, "g"},
	{kmsg.ConfigResourceTypeTopic, "t"},
	{kmsg.ConfigResourceTypeBroker, "1"},
	{kmsg.ConfigResourceTypeClientMetrics, "c"},
	{kmsg.ConfigResourceTypeBrokerLogger, "1"},
	{kmsg.ConfigResourceTypeBroker, ""},
}

// alteredResources are these, and some that Kafka refuses whatever a client may do: one
// that is named twice, and one of no kind; and brokers that are not this one.
var alteredResources = append([]configResource{
	{kmsg.ConfigResourceTypeBroker, "2"},
	{kmsg.ConfigResourceTypeBroker, "x"},
	{3, "odd"},
	{kmsg.ConfigResourceTypeTopic, "twice"},
	{kmsg.ConfigResourceTypeTopic, "twice"},
}, someResources...)
