package admin

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// refusedScenarios are about what is refused where there is one broker and no authorizer.
var refusedScenarios = []scenario.Scenario{
	{ID: "admin.unregister.unknown", Says: "Unregistering a broker that is not registered is BROKER_ID_NOT_REGISTERED.", Refs: []string{"KIP-631"}, Run: unregisterUnknown},
	{ID: "admin.move-log-dir.errors", Says: "Moving a replica to a directory that is none is LOG_DIR_NOT_FOUND.", Refs: []string{"KIP-113"}, Run: moveLogDir},
	{ID: "admin.acls.disabled", Says: "Without an authorizer ACLs can neither be made nor deleted: SECURITY_DISABLED for each.", Run: changeACLs},
}

func unregisterUnknown(t *scenario.T) {
	t.Each(kmsg.UnregisterBroker, 0, 0, func(v int16) {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = 4711
		t.Code("unregister", scenario.Ask[*kmsg.UnregisterBrokerResponse](t, v, req).ErrorCode, kerr.BrokerIDNotRegistered)
	})
}

func moveLogDir(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.AlterReplicaLogDirs, 0, 2, func(v int16) {
		move := func(dir, topic string, partition int32) int16 {
			req := kmsg.NewPtrAlterReplicaLogDirsRequest()
			rd := kmsg.NewAlterReplicaLogDirsRequestDir()
			rd.Dir = dir
			rt := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
			rt.Topic, rt.Partitions = topic, []int32{partition}
			rd.Topics = append(rd.Topics, rt)
			req.Dirs = append(req.Dirs, rd)
			resp := scenario.Ask[*kmsg.AlterReplicaLogDirsResponse](t, v, req)
			return scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions).ErrorCode
		}
		t.Code("no such directory", move("/no/such/directory", topic, 0), kerr.LogDirNotFound)
		var dir string
		for _, d := range scenario.Ask[*kmsg.DescribeLogDirsResponse](t, t.Newest(kmsg.DescribeLogDirs, 2), kmsg.NewPtrDescribeLogDirsRequest()).Dirs {
			dir = d.Dir
		}
		t.OK("where it is", move(dir, topic, 0))
		t.Code("unknown topic", move(dir, t.Name("missing"), 0), kerr.UnknownTopicOrPartition)
	})
}

func changeACLs(t *scenario.T) {
	t.Each(kmsg.CreateACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrCreateACLsRequest()
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = kmsg.ACLResourceTypeTopic, "t", kmsg.ACLResourcePatternTypeLiteral
		c.Principal, c.Host, c.Operation, c.PermissionType = "User:a", "*", kmsg.ACLOperationRead, kmsg.ACLPermissionTypeAllow
		req.Creations = append(req.Creations, c)
		t.Code("create", scenario.One(t, "results", scenario.Ask[*kmsg.CreateACLsResponse](t, v, req).Results).ErrorCode, kerr.SecurityDisabled)
	})
	t.Each(kmsg.DeleteACLs, 0, 3, func(v int16) {
		req := kmsg.NewPtrDeleteACLsRequest()
		f := kmsg.NewDeleteACLsRequestFilter()
		f.ResourceType, f.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		f.Operation, f.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		req.Filters = append(req.Filters, f)
		t.Code("delete", scenario.One(t, "results", scenario.Ask[*kmsg.DeleteACLsResponse](t, v, req).Results).ErrorCode, kerr.SecurityDisabled)
	})
}
