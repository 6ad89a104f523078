package kafkatools

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var apiVersionOptions = []option{
	bootstrapServer,
	adminConfig,
}

// clientAPIs are the requests that Kafka 4.2's clients know, from and to: those that
// a broker does not serve are listed as such.
var clientAPIs = [][2]int16{
	{0, 3}, {8, 51}, {55, 55}, {57, 57}, {60, 61}, {64, 66}, {68, 69}, {71, 72}, {74, 81}, {83, 92},
}

const apiVersionsClient = "admin-1"

// apiVersions is kafka-broker-api-versions. Unlike the other tools it does not wait
// for a broker: health checks count on that.
func apiVersions(ctx context.Context, e *Env, args []string) error {
	o, err := parseOptions(apiVersionOptions, args)
	if err != nil {
		return e.complain(err)
	}
	if err := e.helpOrVersion(o, args, "This tool helps to retrieve broker version information."); err != nil {
		return err
	}
	if err := e.require(o, "bootstrap-server"); err != nil {
		return err
	}
	if err := o.check("command-config", "bootstrap-server"); err != nil {
		return e.complain(err)
	}
	settings, err := loadProperties(o.str("command-config"))
	var seeds []string
	if err == nil {
		seeds, err = e.seeds(ctx, o.str("bootstrap-server"))
	}
	if err != nil {
		return e.complain(err)
	}
	cl, err := e.connect(ctx, connection{
		seeds: seeds, settings: settings, clientID: apiVersionsClient, opts: []kgo.Opt{kgo.RequestRetries(0)},
	})
	if err != nil {
		return e.complain(err)
	}
	defer cl.raw.Close()
	brokers, err := cl.ListBrokers(ctx)
	if err != nil {
		return e.noMetadata(seeds)
	}
	slices.SortFunc(brokers, func(a, b kadm.BrokerDetail) int { return cmp.Compare(a.NodeID, b.NodeID) })
	for _, b := range brokers {
		node := nodeText(b.NodeID, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), b.Rack)
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "moldau", kafkaVersion
		resp, err := cl.raw.Broker(int(b.NodeID)).Request(ctx, req)
		if err != nil {
			fmt.Fprintf(e.Out, "%s -> ERROR: %v\n", node, err)
			continue
		}
		fmt.Fprintf(e.Out, "%s -> %s\n", node, apiList(resp.(*kmsg.ApiVersionsResponse)))
	}
	return nil
}

// nodeText is a broker as Java prints it.
func nodeText(id int32, addr string, rack *string) string {
	return fmt.Sprintf("%s (id: %d rack: %s isFenced: false)", addr, id, deref(rack, "null"))
}

// noMetadata is the failure of all that were asked.
func (e *Env) noMetadata(seeds []string) error {
	nodes := make([]string, len(seeds))
	for i, seed := range seeds {
		nodes[i] = nodeText(int32(-1-i), seed, nil)
		e.warnUnavailable("LegacyAdminClient", apiVersionsClient, -1-i, seed)
	}
	fmt.Fprintf(e.Err, "Request METADATA failed on brokers [%s]\n", strings.Join(nodes, ", "))
	return &exit{1}
}

// apiList is what a broker serves, in the order of the keys.
func apiList(resp *kmsg.ApiVersionsResponse) string {
	lines := map[int16]string{}
	for _, r := range clientAPIs {
		for key := r[0]; key <= r[1]; key++ {
			lines[key] = fmt.Sprintf("%s(%d): UNSUPPORTED", apiName(key), key)
		}
	}
	for _, k := range resp.ApiKeys {
		versions := strconv.Itoa(int(k.MinVersion))
		if k.MaxVersion != k.MinVersion {
			versions += " to " + strconv.Itoa(int(k.MaxVersion))
		}
		req := kmsg.RequestForKey(k.ApiKey)
		switch {
		case req == nil:
			lines[k.ApiKey] = fmt.Sprintf("UNKNOWN(%d): %s", k.ApiKey, versions)
		case req.MaxVersion() < k.MinVersion:
			lines[k.ApiKey] = fmt.Sprintf("%s(%d): %s [unusable: node too new]", apiName(k.ApiKey), k.ApiKey, versions)
		default:
			lines[k.ApiKey] = fmt.Sprintf("%s(%d): %s [usable: %d]", apiName(k.ApiKey), k.ApiKey, versions, min(req.MaxVersion(), k.MaxVersion))
		}
	}
	var keys []int16
	for key := range lines {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = lines[key]
	}
	return "(\n\t" + strings.Join(texts, ",\n\t") + "\n)"
}

// apiName is Kafka's name of a request: franz-go writes acronyms in capitals.
func apiName(key int16) string {
	return strings.NewReplacer("ID", "Id", "ACLs", "Acls", "SASL", "Sasl", "SCRAM", "Scram", "PartitionAssignments", "PartitionReassignments").Replace(kmsg.NameForKey(key))
}
