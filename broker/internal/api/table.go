package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// routes lists every API that the broker serves, the versions of each and the
// right that it takes. The ApiVersions answer is made from it, so what is
// advertised is what is served.
//
// The highest version is that of Kafka 4.2, not kmsg's, which is ahead; the
// lowest is as low as costs nothing, below Kafka 4's where kmsg still decodes
// what older clients send.
var routes = table(map[kmsg.Key]route{
	kmsg.ApiVersions: on(0, 4, nothing, apiVersions).everywhere().beforeLogin(),

	kmsg.Produce: raw(3, 13, need{kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTopic}, produce).advertise(0),
	kmsg.Fetch:   raw(4, 18, need{kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic}, fetch),

	kmsg.ListOffsets:          on(1, 11, describeTopic, listOffsets),
	kmsg.OffsetForLeaderEpoch: on(0, 4, describeTopic, offsetForLeaderEpoch),
	kmsg.DeleteRecords:        on(0, 2, need{kmsg.ACLOperationDelete, kmsg.ACLResourceTypeTopic}, deleteRecords),
	kmsg.DescribeProducers:    on(0, 0, need{kmsg.ACLOperationRead, kmsg.ACLResourceTypeTopic}, describeProducers),
	kmsg.DescribeLogDirs:      on(0, 4, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster}, describeLogDirs),
	kmsg.InitProducerID:       on(0, 5, need{kmsg.ACLOperationIdempotentWrite, kmsg.ACLResourceTypeCluster}, initProducerID),

	kmsg.Metadata:                on(0, 13, describeTopic, metadata),
	kmsg.DescribeCluster:         on(0, 2, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster}, describeCluster).everywhere(),
	kmsg.DescribeTopicPartitions: on(0, 0, describeTopic, describeTopicPartitions),
	kmsg.DescribeQuorum:          on(0, 2, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster}, describeQuorum).everywhere(),
	kmsg.UpdateFeatures:          on(0, 2, need{kmsg.ACLOperationAlter, kmsg.ACLResourceTypeCluster}, updateFeatures).everywhere(),
	kmsg.DescribeACLs:            on(0, 3, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster}, describeACLs).everywhere(),

	kmsg.CreateTopics:     on(0, 7, need{kmsg.ACLOperationCreate, kmsg.ACLResourceTypeTopic}, createTopics).everywhere(),
	kmsg.DeleteTopics:     on(0, 6, need{kmsg.ACLOperationDelete, kmsg.ACLResourceTypeTopic}, deleteTopics).everywhere(),
	kmsg.CreatePartitions: on(0, 3, need{kmsg.ACLOperationAlter, kmsg.ACLResourceTypeTopic}, createPartitions).everywhere(),

	kmsg.ElectLeaders:               on(0, 2, need{kmsg.ACLOperationAlter, kmsg.ACLResourceTypeCluster}, electLeaders).everywhere(),
	kmsg.AlterPartitionAssignments:  on(0, 1, need{kmsg.ACLOperationAlter, kmsg.ACLResourceTypeCluster}, alterReassignments).everywhere(),
	kmsg.ListPartitionReassignments: on(0, 0, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeCluster}, listReassignments).everywhere(),

	kmsg.ListConfigResources:     on(0, 1, need{kmsg.ACLOperationDescribeConfigs, kmsg.ACLResourceTypeCluster}, listConfigResources),
	kmsg.DescribeConfigs:         on(0, 4, need{kmsg.ACLOperationDescribeConfigs, kmsg.ACLResourceTypeTopic}, describeConfigs).everywhere(),
	kmsg.AlterConfigs:            on(0, 2, need{kmsg.ACLOperationAlterConfigs, kmsg.ACLResourceTypeTopic}, alterConfigs).everywhere(),
	kmsg.IncrementalAlterConfigs: on(0, 1, need{kmsg.ACLOperationAlterConfigs, kmsg.ACLResourceTypeTopic}, incrementalAlterConfigs).everywhere(),

	kmsg.AddPartitionsToTxn:   on(0, 5, writeTransactionalID, addPartitionsToTxn),
	kmsg.AddOffsetsToTxn:      on(0, 4, writeTransactionalID, addOffsetsToTxn),
	kmsg.EndTxn:               on(0, 5, writeTransactionalID, endTxn),
	kmsg.WriteTxnMarkers:      on(1, 2, need{kmsg.ACLOperationClusterAction, kmsg.ACLResourceTypeCluster}, writeTxnMarkers),
	kmsg.TxnOffsetCommit:      on(0, 5, writeTransactionalID, txnOffsetCommit),
	kmsg.DescribeTransactions: on(0, 0, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTransactionalId}, describeTransactions),
	kmsg.ListTransactions:     on(0, 2, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTransactionalId}, listTransactions),

	kmsg.FindCoordinator: on(0, 6, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup}, findCoordinator),
	kmsg.JoinGroup:       on(0, 9, readGroup, joinGroup),
	kmsg.SyncGroup:       on(0, 5, readGroup, syncGroup),
	kmsg.Heartbeat:       on(0, 4, readGroup, heartbeat),
	kmsg.LeaveGroup:      on(0, 5, readGroup, leaveGroup),
	kmsg.OffsetCommit:    on(0, 10, readGroup, offsetCommit),
	kmsg.OffsetFetch:     on(0, 10, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup}, offsetFetch),
	kmsg.OffsetDelete:    on(0, 0, need{kmsg.ACLOperationDelete, kmsg.ACLResourceTypeGroup}, offsetDelete),
	kmsg.ListGroups:      on(0, 5, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup}, listGroups),
	kmsg.DescribeGroups:  on(0, 6, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup}, describeGroups),
	kmsg.DeleteGroups:    on(0, 2, need{kmsg.ACLOperationDelete, kmsg.ACLResourceTypeGroup}, deleteGroups),

	kmsg.ConsumerGroupHeartbeat: on(0, 1, readGroup, consumerGroupHeartbeat),
	kmsg.ConsumerGroupDescribe:  on(0, 1, need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeGroup}, consumerGroupDescribe),
})

// need is the right that an API takes: the operation, and the kind of resource
// that it is asked for. An API that takes several names the one without which
// nothing is answered; the handler asks Env.May for each resource by name.
type need struct {
	operation kmsg.ACLOperation
	resource  kmsg.ACLResourceType
}

// nothing says that an API is open to everyone who may connect.
var nothing = need{kmsg.ACLOperationAny, kmsg.ACLResourceTypeAny}

// Needs that several APIs share.
var (
	describeTopic = need{kmsg.ACLOperationDescribe, kmsg.ACLResourceTypeTopic}
	readGroup     = need{kmsg.ACLOperationRead, kmsg.ACLResourceTypeGroup}

	writeTransactionalID = need{kmsg.ACLOperationWrite, kmsg.ACLResourceTypeTransactionalId}
)

// route is how one API is served.
type route struct {
	min, max      int16
	advertisedMin int16 // min, but for Produce.
	need          need
	onController  bool // Served on controller listeners beside all others,
	early         bool // and before the client has authenticated.
	serve         func(context.Context, *Env, *Call) (Answer, error)
}

// on makes the route of one API; the handler's own signature says which.
func on[Q kmsg.Request, R kmsg.Response](min, max int16, n need, h func(context.Context, *Env, *Call, Q) (R, error)) route {
	return raw(min, max, n, func(ctx context.Context, env *Env, call *Call) (Answer, error) {
		req, err := decode(call)
		if err != nil {
			return Answer{}, err
		}
		resp, err := h(ctx, env, call, req.(Q))
		if err != nil {
			return Answer{}, err
		}
		return env.encode(call, call.Version, resp), nil
	})
}

// raw makes the route of an API that reads its own request and makes its own
// answer.
func raw(min, max int16, n need, serve func(context.Context, *Env, *Call) (Answer, error)) route {
	return route{min: min, max: max, advertisedMin: min, need: n, serve: serve}
}

// everywhere serves the API on controller listeners too.
func (r route) everywhere() route {
	r.onController = true
	return r
}

// beforeLogin serves the API to peers that have not authenticated.
func (r route) beforeLogin() route {
	r.early = true
	return r
}

// advertise tells clients of a lower version than is served.
func (r route) advertise(min int16) route {
	r.advertisedMin = min
	return r
}

func (r route) servedOn(c *Conn) bool {
	return !c.Controller || r.onController
}

func (r route) advertised(key int16) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = key, r.advertisedMin, r.max
	return k
}

// table keys the routes as requests carry their keys.
func table(routes map[kmsg.Key]route) map[int16]route {
	t := make(map[int16]route, len(routes))
	for key, r := range routes {
		t[key.Int16()] = r
	}
	return t
}
