package kafkatools

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/config"
)

// Kafka's defaults for clients.
const (
	apiTimeout       = 60 * time.Second // default.api.timeout.ms
	reconnectBackoff = 50 * time.Millisecond
	reconnectAtMost  = time.Second
)

// properties are a client's settings by Kafka's names.
type properties map[string]string

// loadProperties reads a file of settings; an empty name is none.
func loadProperties(file string) (properties, error) {
	if file == "" {
		return properties{}, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return config.ParseProperties(file, content)
}

// with lays key=value pairs over the settings. A key without a value is empty.
func (p properties) with(pairs []string) properties {
	out := maps.Clone(p)
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		out[key] = value
	}
	return out
}

// millis is a setting that is a number of milliseconds.
func (p properties) millis(name string, without time.Duration) time.Duration {
	n, err := strconv.ParseInt(strings.TrimSpace(p[name]), 10, 64)
	if err != nil {
		return without
	}
	return time.Duration(n) * time.Millisecond
}

// unsupported is an error if the settings ask for a connection that cannot be
// made: in plain text to a broker that wants more would only hang.
func (p properties) unsupported() error {
	protocol := strings.ToUpper(strings.TrimSpace(p["security.protocol"]))
	if protocol == "" || protocol == "PLAINTEXT" {
		return nil
	}
	return fmt.Errorf("security.protocol=%s is not supported by moldau's tools: use PLAINTEXT, or Kafka's own tools", protocol)
}

// cluster is a connection to a cluster.
type cluster struct {
	*kadm.Client
	raw     *kgo.Client
	timeout time.Duration
}

// connection says how to connect.
type connection struct {
	seeds    []string // As Env.seeds reads them.
	settings properties
	clientID string
	// call is the first call, which is named when no broker answers it.
	call string
	opts []kgo.Opt
}

// connect connects, and waits for a broker as long as Kafka's admin client does:
// a minute unless default.api.timeout.ms says otherwise.
func (e *Env) connect(ctx context.Context, c connection) (*cluster, error) {
	if err := c.settings.unsupported(); err != nil {
		return nil, err
	}
	timeout := c.settings.millis("default.api.timeout.ms", apiTimeout)
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(c.seeds...), kgo.ClientID(c.clientID), kgo.RetryTimeout(timeout),
		kgo.DialTimeout(c.settings.millis("socket.connection.setup.timeout.ms", 10*time.Second)),
	}, c.opts...)
	raw, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	cl := &cluster{Client: kadm.NewClient(raw), raw: raw, timeout: timeout}
	if c.call == "" {
		return cl, nil
	}
	if err := e.await(ctx, cl, c); err != nil {
		raw.Close()
		return nil, err
	}
	return cl, nil
}

// await returns when a broker answers.
func (e *Env) await(ctx context.Context, cl *cluster, c connection) error {
	ctx, cancel := context.WithTimeout(ctx, cl.timeout)
	defer cancel()
	for backoff := reconnectBackoff; ; backoff = min(2*backoff, reconnectAtMost) {
		err := cl.raw.Ping(ctx)
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*net.OpError](err); ok {
			e.warnUnavailable("AdminClient", c.clientID, -1, c.seeds[0])
		}
		select {
		case <-ctx.Done():
			return &failure{errorsPackage + "TimeoutException", "Timed out waiting for a node assignment. Call: " + c.call}
		case <-time.After(backoff):
		}
	}
}

// warnUnavailable logs, as Kafka's client does, that nobody listens at a server of
// bootstrap.servers: the first of them is node -1, the next -2.
func (e *Env) warnUnavailable(client, clientID string, node int, addr string) {
	e.log("WARN", "org.apache.kafka.clients.NetworkClient", fmt.Sprintf("[%s clientId=%s] Connection to node %d (%s) "+
		"could not be established. Node may not be available.", client, clientID, node, nodeAddress(addr)))
}

// nodeAddress is an address as Java prints it, with what it resolves to.
func nodeAddress(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if net.ParseIP(host) != nil {
		return "/" + addr
	}
	ips, err := net.LookupHost(host)
	if err != nil || len(ips) == 0 {
		return addr
	}
	return host + "/" + net.JoinHostPort(ips[0], port)
}

// serverPattern is one of bootstrap.servers, which may have a protocol in front.
var serverPattern = regexp.MustCompile(`^(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)`)

// seeds reads bootstrap.servers, once for each call of a tool: a host that does not
// resolve is warned about. Without any that does there is no client.
func (e *Env) seeds(ctx context.Context, servers string) ([]string, error) {
	var seeds []string
	for server := range strings.SplitSeq(servers, ",") {
		server = strings.TrimSpace(server)
		if server == "" {
			continue
		}
		m := serverPattern.FindStringSubmatch(server)
		if m == nil {
			return nil, badServers("Invalid url in bootstrap.servers: " + server)
		}
		if _, err := net.DefaultResolver.LookupHost(ctx, m[1]); err != nil {
			e.log("WARN", "org.apache.kafka.clients.ClientUtils",
				fmt.Sprintf("Couldn't resolve server %s from bootstrap.servers as DNS resolution failed for %s", server, m[1]))
			continue
		}
		seeds = append(seeds, net.JoinHostPort(m[1], m[2]))
	}
	if len(seeds) == 0 {
		return nil, badServers("No resolvable bootstrap urls given in bootstrap.servers")
	}
	return seeds, nil
}

func badServers(message string) error {
	return &failure{"org.apache.kafka.common.config.ConfigException", message}
}

// notCreated says of an error with the settings of a client which client there is
// not: Kafka's tools print that and leave the reason to the stack trace.
func notCreated(client string) error {
	return &failure{"org.apache.kafka.common.KafkaException", client}
}

// What notCreated says of the three kinds of clients.
const (
	noAdminClient = "Failed to create new KafkaAdminClient"
	noProducer    = "Failed to construct kafka producer"
	noConsumer    = "Failed to construct kafka consumer"
)

// ask sends one request to any broker, or the one that it is for, and returns the
// answer.
func ask[R kmsg.Response](ctx context.Context, cl *cluster, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, cl.timeout)
	defer cancel()
	var zero R
	resp, err := cl.raw.Request(ctx, req)
	if err != nil {
		return zero, err
	}
	return resp.(R), nil
}

// notServed says whether a request failed because the brokers do not know it, or
// not this version.
func notServed(err error) bool {
	// The client's own errors have no names.
	return err != nil && (strings.Contains(err.Error(), "request key is unknown") || strings.Contains(err.Error(), "broker is too old"))
}

// base64ID is an id as Kafka writes it.
func base64ID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// parseID reads an id as Kafka writes it. The errors are Java's.
func parseID(s string) (id [16]byte, err error) {
	if len(s) > 24 {
		return id, illegalArgument(fmt.Sprintf("Input string with prefix `%s` is too long to be decoded as a base64 UUID", s[:24]))
	}
	digits := strings.TrimRight(s, "=")
	b, err := base64.RawURLEncoding.DecodeString(digits)
	if at, ok := errors.AsType[base64.CorruptInputError](err); ok && int(at) < len(digits) && len(digits)%4 != 1 {
		return id, illegalArgument(fmt.Sprintf("Illegal base64 character %x", digits[at]))
	}
	if len(digits)%4 == 1 {
		return id, illegalArgument("Last unit does not have enough valid bits")
	}
	if len(b) != len(id) {
		return id, illegalArgument(fmt.Sprintf("Input string `%s` decoded as %d bytes, which is not equal to the expected 16 bytes "+
			"of a base64-encoded UUID", s, len(b)))
	}
	return [16]byte(b), nil
}
