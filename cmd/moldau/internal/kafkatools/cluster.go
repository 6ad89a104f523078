package kafkatools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var clusterCommand = &command{prog: "kafka-cluster", help: "Tells of a cluster.", subs: []*command{
	{prog: "kafka-cluster cluster-id", help: "Print the id of the cluster.", params: clusterParams()},
	{prog: "kafka-cluster unregister", help: "Take a broker out of the cluster.", params: append(clusterParams(),
		param{long: "--id", short: "-i", required: true, help: "the broker's id"})},
	{prog: "kafka-cluster list-endpoints", help: "Print where the brokers are.", params: append(clusterParams(),
		param{long: "--include-fenced-brokers", flag: true, help: "those too that serve nobody now"})},
}}

// clusterParams are what each subcommand takes.
func clusterParams() []param {
	return []param{
		{long: "--config", help: "the older name of --command-config"},
		{long: "--command-config", short: "-c", help: "a properties file for the admin client"},
		{long: "--bootstrap-server", short: "-b", help: "brokers to ask first, HOST:PORT[,...]"},
		{long: "--bootstrap-controller", short: "-C", refused: "use --bootstrap-server"},
	}
}

// clusterTool is kafka-cluster.
func clusterTool(ctx context.Context, e *Env, args []string) error {
	p, err := clusterCommand.parse(e, args)
	if _, ok := errors.AsType[*exit](err); ok {
		return &exit{1} // Help too, which of the other tools of the newer kind ends with 0.
	}
	if err != nil {
		return refused(e, err)
	}
	err = runClusterTool(ctx, e, p)
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	return e.complain(err)
}

func runClusterTool(ctx context.Context, e *Env, p *parsed) error {
	sub := clusterCommand.sub(p.command)
	if !p.has("--bootstrap-server") {
		return sub.wrong(e, "one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required")
	}
	var id int64
	if p.command == "unregister" {
		var err error
		if id, err = strconv.ParseInt(p.str("--id"), 10, 32); err != nil {
			return sub.wrong(e, "argument --id/-i: could not convert '%s' to Integer (For input string: %[1]q)", p.str("--id"))
		}
	}
	settings, err := clusterSettings(e, p)
	if err != nil {
		return err
	}
	seeds, err := e.seeds(ctx, p.str("--bootstrap-server"))
	if err != nil {
		return notCreated(noAdminClient)
	}
	call := "listNodes"
	if p.command == "unregister" {
		call = "unregisterBroker"
	}
	cl, err := e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "adminclient-1", call: call})
	if err != nil {
		return executed(err)
	}
	defer cl.raw.Close()
	switch p.command {
	case "cluster-id":
		err = printClusterID(ctx, e.Out, cl)
	case "unregister":
		err = unregister(ctx, e, cl, int32(id))
	case "list-endpoints":
		err = listEndpoints(ctx, e.Out, cl, p.has("--include-fenced-brokers"))
	}
	if err != nil {
		return executed(err)
	}
	return nil
}

// executed is an error of a call as this tool prints it: with the name of the
// exception, because Java's carries it within another.
func executed(err error) error {
	return &failure{"java.util.concurrent.ExecutionException", thrown(err).String()}
}

// clusterSettings reads the file of either name.
func clusterSettings(e *Env, p *parsed) (properties, error) {
	file := p.str("--command-config")
	if p.has("--config") {
		if file != "" {
			return nil, errors.New("--config and --command-config cannot be specified together.") //nolint:staticcheck,revive // Kafka's words.
		}
		fmt.Fprintln(e.Out, "Option --config has been deprecated and will be removed in a future version. Use --command-config instead.")
		file = p.str("--config")
	}
	return loadProperties(file)
}

func printClusterID(ctx context.Context, w io.Writer, cl *cluster) error {
	meta, err := cl.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	if meta.Cluster == "" {
		fmt.Fprintln(w, "No cluster ID found. The Kafka version is probably too old.")
		return nil
	}
	fmt.Fprintln(w, "Cluster ID:", meta.Cluster)
	return nil
}

// unregister asks for the end of a registration, which a cluster of one node does not
// serve.
func unregister(ctx context.Context, e *Env, cl *cluster, id int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	resp, err := ask[*kmsg.UnregisterBrokerResponse](ctx, cl, req)
	if notServed(err) {
		fmt.Fprintln(e.Out, "The target cluster does not support the broker unregistration API.")
		return nil
	}
	if err == nil {
		err = brokerFailure(resp.ErrorCode, resp.ErrorMessage)
	}
	if err != nil {
		e.log("ERROR", "org.apache.kafka.clients.admin.KafkaAdminClient",
			fmt.Sprintf("[AdminClient clientId=adminclient-1] Unregister broker request for broker ID %d failed: %s", id, thrown(err).message))
		return err
	}
	fmt.Fprintf(e.Out, "Broker %d is no longer registered.\n", id)
	return nil
}

func listEndpoints(ctx context.Context, w io.Writer, cl *cluster, fenced bool) error {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType, req.IncludeFencedBrokers = 1, fenced
	resp, err := ask[*kmsg.DescribeClusterResponse](ctx, cl, req)
	if err != nil {
		return err
	}
	if err := brokerFailure(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return err
	}
	slices.SortFunc(resp.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return int(a.NodeID - b.NodeID) })
	host, rack := 0, 0
	for _, b := range resp.Brokers {
		host = max(host, len(b.Host))
		if b.Rack != nil {
			rack = max(rack, len(*b.Rack))
		}
	}
	if rack == 0 {
		rack = 10
	}
	line := func(id, at, port, where, state, kind any) {
		fmt.Fprintf(w, "%-10v %-*v %-10v %-*v %-10v %-15v\n", id, host, at, port, rack, where, state, kind)
	}
	line("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")
	for _, b := range resp.Brokers {
		where, state := "null", "unfenced"
		if b.Rack != nil {
			where = *b.Rack
		}
		if b.IsFenced {
			state = "fenced"
		}
		line(b.NodeID, b.Host, b.Port, where, state, "broker")
	}
	return nil
}
