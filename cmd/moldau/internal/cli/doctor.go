package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// dialTimeout is how long one endpoint may take to accept.
const dialTimeout = 3 * time.Second

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find out why clients cannot connect",
		Long: "Ask a broker which addresses it tells clients, dial each of them from here,\n" +
			"and say what is wrong and the line that mends it.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd) },
	}
}

// errUnwell says that something is wrong; what it is was printed.
var errUnwell = errors.New("clients that connect here will not reach every broker")

func (a *app) doctor(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	dialer := &net.Dialer{Timeout: dialTimeout}
	reached := false
	for _, seed := range strings.Split(a.bootstrap, ",") {
		c, err := dialer.DialContext(cmd.Context(), "tcp", seed)
		if err != nil {
			fmt.Fprintf(out, "bootstrap %s: %v\n  %s\n", seed, err, dialAdvice(err, seed))
			continue
		}
		fmt.Fprintf(out, "bootstrap %s: connected to %s\n", seed, c.RemoteAddr())
		reached = true
		_ = c.Close()
	}
	if !reached {
		return errors.New("no bootstrap address can be reached")
	}
	unwell := false
	err := a.ask(cmd, func(ctx context.Context, adm admin) error {
		m, err := adm.BrokerMetadata(ctx)
		if err != nil {
			fmt.Fprintf(out, "metadata: %v\n  something answers the connection, but not Kafka's protocol in plain text: "+
				"is the listener TLS or SASL, or another program's?\n", err)
			return err
		}
		fmt.Fprintf(out, "cluster %s answers with %d broker(s)\n", m.Cluster, len(m.Brokers))
		for _, b := range m.Brokers {
			if !a.examine(ctx, out, dialer, b.NodeID, b.Host, b.Port) {
				unwell = true
			}
		}
		return nil
	})
	if err == nil && unwell {
		return errUnwell
	}
	return err
}

// examine dials one advertised address.
func (a *app) examine(ctx context.Context, out io.Writer, dialer *net.Dialer, id int32, host string, port int32) bool {
	addr := net.JoinHostPort(host, strconv.Itoa(int(port)))
	c, err := dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		fmt.Fprintf(out, "  broker %d advertises %s: reached at %s\n", id, addr, c.RemoteAddr())
		_ = c.Close()
		return true
	}
	fmt.Fprintf(out, "  broker %d advertises %s: %v\n", id, addr, err)
	seedHost, seedPort, _ := net.SplitHostPort(strings.Split(a.bootstrap, ",")[0])
	fmt.Fprintf(out, "    clients are sent there after the first answer; tell the broker an address that they reach:\n"+
		"    advertised.listeners=PLAINTEXT://%s:%s      (in server.properties)\n"+
		"    --set advertised.listeners=PLAINTEXT://%[1]s:%[2]s      (moldau serve)\n"+
		"    KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://%[1]s:%[2]s      (in the environment of Apache Kafka's container image)\n", seedHost, seedPort)
	return false
}

// dialAdvice says what usually is the matter.
func dialAdvice(err error, addr string) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "the name is not known here: use one that this machine can look up"
	case strings.Contains(err.Error(), "refused"):
		return "nothing listens there: is the broker running, and the port published? `moldau serve --listen " + addr + "` starts one"
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "timeout"):
		return "no answer at all: a firewall, or a network that this machine is not in"
	}
	return "check the address"
}
