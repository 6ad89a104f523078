package kafkatools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const oneController = "a cluster of moldau's has the controllers that it was formatted with"

var quorumCommand = &command{
	prog: "kafka-metadata-quorum", help: "Describes the quorum of the metadata log.",
	params: []param{
		{long: "--command-config", help: "a properties file for the admin client"},
		{long: "--bootstrap-server", required: true, help: "brokers to ask first, HOST:PORT[,...]"},
		{long: "--bootstrap-controller", refused: "use --bootstrap-server"},
	},
	subs: []*command{
		{
			prog: "kafka-metadata-quorum describe", help: "Show who leads and how far the others are.",
			params: []param{
				{long: "--status", flag: true, help: "a summary"},
				{long: "--replication", flag: true, help: "a line for each replica"},
				{long: "--human-readable", flag: true, help: "with --replication: times as how long ago"},
			},
		},
		{prog: "kafka-metadata-quorum add-controller", refused: oneController},
		{prog: "kafka-metadata-quorum remove-controller", refused: oneController},
	},
}

// metadataQuorum is kafka-metadata-quorum.
func metadataQuorum(ctx context.Context, e *Env, args []string) error {
	p, err := quorumCommand.parse(e, args)
	if err == nil {
		err = describeQuorum(ctx, e, p)
	}
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return refused(e, r)
	}
	return e.complain(err)
}

func describeQuorum(ctx context.Context, e *Env, p *parsed) error {
	settings, err := loadProperties(p.str("--command-config"))
	if err != nil {
		return terse(e, "Properties file %s does not exist.", p.str("--command-config"))
	}
	seeds, err := e.seeds(ctx, p.str("--bootstrap-server"))
	if err != nil {
		return notCreated(noAdminClient)
	}
	switch {
	case p.has("--status") && p.has("--replication"):
		return terse(e, "Only one of --status or --replication should be specified with describe sub-command")
	case !p.has("--status") && !p.has("--replication"):
		return terse(e, "One of --status or --replication must be specified with describe sub-command")
	case p.has("--status") && p.has("--human-readable"):
		return terse(e, "The option --human-readable is only supported along with --replication")
	}
	call := "describeMetadataQuorum"
	if p.has("--status") {
		call = "describeCluster"
	}
	cl, err := e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "adminclient-1", call: call})
	if err != nil {
		return &failure{"java.util.concurrent.ExecutionException", thrown(err).String()}
	}
	defer cl.raw.Close()
	meta, err := cl.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	q, nodes, err := cl.quorum(ctx)
	if err != nil {
		return err
	}
	if p.has("--status") {
		printQuorumStatus(e.Out, meta.Cluster, q, nodes)
		return nil
	}
	printReplication(e.Out, q, p.has("--human-readable"))
	return nil
}

// quorum asks for the state of the metadata log, and where its nodes are.
func (c *cluster) quorum(ctx context.Context) (*kmsg.DescribeQuorumResponseTopicPartition, []kmsg.DescribeQuorumResponseNode, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	rt := kmsg.NewDescribeQuorumRequestTopic()
	rt.Topic = "__cluster_metadata"
	rt.Partitions = append(rt.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, rt)
	resp, err := ask[*kmsg.DescribeQuorumResponse](ctx, c, req)
	if err != nil {
		return nil, nil, err
	}
	if err := brokerFailure(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return nil, nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, nil, errors.New("the broker did not describe the one partition of __cluster_metadata")
	}
	p := &resp.Topics[0].Partitions[0]
	return p, resp.Nodes, brokerFailure(p.ErrorCode, p.ErrorMessage)
}

func printQuorumStatus(w io.Writer, clusterID string, q *kmsg.DescribeQuorumResponseTopicPartition, nodes []kmsg.DescribeQuorumResponseNode) {
	leader := replicaOf(q, q.LeaderID)
	slowest := leader
	for _, v := range q.CurrentVoters {
		if v.LogEndOffset < slowest.LogEndOffset {
			slowest = v
		}
	}
	behind := int64(0)
	if slowest.ReplicaID != leader.ReplicaID {
		behind = -1
		if leader.LastCaughtUpTimestamp >= 0 && slowest.LastCaughtUpTimestamp >= 0 {
			behind = leader.LastCaughtUpTimestamp - slowest.LastCaughtUpTimestamp
		}
	}
	for _, line := range [][2]any{
		{"ClusterId", clusterID},
		{"LeaderId", q.LeaderID},
		{"LeaderEpoch", q.LeaderEpoch},
		{"HighWatermark", q.HighWatermark},
		{"MaxFollowerLag", leader.LogEndOffset - slowest.LogEndOffset},
		{"MaxFollowerLagTimeMs", behind},
		{"CurrentVoters", replicaList(q.CurrentVoters, nodes)},
		{"CurrentObservers", replicaList(q.Observers, nodes)},
	} {
		fmt.Fprintf(w, "%-23s %v\n", fmt.Sprint(line[0], ":"), line[1])
	}
}

// replica is the state of one copy of the metadata log.
type replica = kmsg.DescribeQuorumResponseTopicPartitionReplicaState

func replicaOf(q *kmsg.DescribeQuorumResponseTopicPartition, id int32) replica {
	for _, v := range q.CurrentVoters {
		if v.ReplicaID == id {
			return v
		}
	}
	return replica{ReplicaID: id, LastFetchTimestamp: -1, LastCaughtUpTimestamp: -1}
}

// replicaList is a list of nodes as this tool prints it.
func replicaList(replicas []replica, nodes []kmsg.DescribeQuorumResponseNode) string {
	out := make([]string, len(replicas))
	for i, r := range replicas {
		text := fmt.Sprintf(`{"id": %d`, r.ReplicaID)
		if r.ReplicaDirectoryID != [16]byte{} {
			text += fmt.Sprintf(`, "directoryId": "%s"`, base64ID(r.ReplicaDirectoryID))
		}
		var endpoints []string
		for _, n := range nodes {
			if n.NodeID != r.ReplicaID {
				continue
			}
			for _, l := range n.Listeners {
				endpoints = append(endpoints, fmt.Sprintf(`"%s://%s:%d"`, l.Name, l.Host, l.Port))
			}
		}
		if len(endpoints) > 0 {
			text += `, "endpoints": [` + strings.Join(endpoints, ", ") + "]"
		}
		out[i] = text + "}"
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func printReplication(w io.Writer, q *kmsg.DescribeQuorumResponseTopicPartition, human bool) {
	leader := replicaOf(q, q.LeaderID)
	rows := [][]string{{"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}}
	add := func(r replica, status string) {
		when := func(ms int64) string {
			if ms >= 0 && human {
				return fmt.Sprintf("%d ms ago", time.Since(time.UnixMilli(ms)).Milliseconds())
			}
			return strconv.FormatInt(ms, 10)
		}
		rows = append(rows, []string{
			strconv.Itoa(int(r.ReplicaID)), base64ID(r.ReplicaDirectoryID), strconv.FormatInt(r.LogEndOffset, 10),
			strconv.FormatInt(leader.LogEndOffset-r.LogEndOffset, 10), when(r.LastFetchTimestamp), when(r.LastCaughtUpTimestamp), status,
		})
	}
	add(leader, "Leader")
	for _, v := range q.CurrentVoters {
		if v.ReplicaID != q.LeaderID {
			add(v, "Follower")
		}
	}
	for _, o := range q.Observers {
		add(o, "Observer")
	}
	printTabbed(w, rows)
}

// printTabbed prints a table as Kafka's newer tools do: cells padded to the width of
// their column, a tab after each.
func printTabbed(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(w, "%-*s\t", widths[i], cell)
		}
		fmt.Fprintln(w)
	}
}
