// Package kafkatools is Kafka's command-line tools in Go: the moldau binary
// called kafka-topics does what Kafka's kafka-topics does, with its flags, its
// output lines and its exit codes, in milliseconds instead of a JVM's second.
//
// One file per tool. Each reads its flags as Kafka's does (options.go behaves as
// joptsimple, subcommands.go as argparse4j), asks the cluster with franz-go
// (connect.go), and prints. Where Kafka's tool prints a Java stack trace, this one
// prints its first line (failure.go). Begin with topics.go.
//
// That the output is the same is not claimed here but compared: the module
// integration runs both tools against the same brokers. docs/kafka-tools.md lists
// what is left out.
//
// Not here: moldau's own commands for the same ends (package cli).
package kafkatools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Env is what a tool has of the world.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Serve runs a broker until ctx ends, on a server.properties and settings that
	// win over it.
	Serve func(ctx context.Context, configFile string, overrides map[string]string) error
}

// tool is one of Kafka's tools: it prints what its namesake prints, and returns
// nil or an error that Run turns into the exit code.
type tool func(ctx context.Context, e *Env, args []string) error

// tools are all of them, by the name that Kafka's distribution gives them.
var tools = map[string]tool{
	"cub":                       cub,
	"kafka-broker-api-versions": apiVersions,
	"kafka-cluster":             clusterTool,
	"kafka-configs":             configs,
	"kafka-console-consumer":    consoleConsumer,
	"kafka-console-producer":    consoleProducer,
	"kafka-consumer-groups":     consumerGroups,
	"kafka-delete-records":      deleteRecords,
	"kafka-metadata-quorum":     metadataQuorum,
	"kafka-get-offsets":         getOffsets,
	"kafka-server-start":        serverStart,
	"kafka-server-stop":         serverStop,
	"kafka-storage":             storage,
	"kafka-topics":              topics,
	"nc":                        netcat,
	"ub":                        ub,
	"zookeeper-server-start":    zooKeeperStart,
	"zookeeper-server-stop":     zooKeeperStop,
}

// Names are the tools that there are, sorted.
func Names() []string { return slices.Sorted(maps.Keys(tools)) }

// Name is the tool that a program of this path or name is, empty if it is none:
// kafka-topics, kafka-topics.sh and /opt/kafka/bin/kafka-topics.sh are the same.
func Name(program string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(program), ".exe"), ".sh")
	if _, ok := tools[name]; ok {
		return name
	}
	return ""
}

// Run runs a tool and returns its exit code.
func Run(ctx context.Context, e *Env, name string, args []string) int {
	run, ok := tools[name]
	if !ok {
		fmt.Fprintf(e.Err, "moldau: there is no tool %q\n", name)
		return 1
	}
	err := run(ctx, e, args)
	if err == nil {
		return 0
	}
	if x, ok := errors.AsType[*exit](err); ok {
		return x.code
	}
	// What no tool expected: the JVM would print it and end with 1.
	fmt.Fprintln(e.Err, `Exception in thread "main"`, thrown(err).String())
	return 1
}

// exit ends a tool that has printed all it had to say.
type exit struct{ code int }

func (x *exit) Error() string { return fmt.Sprintf("exit code %d", x.code) }

// log writes a line as Kafka's tools log: to standard error, in the layout of
// their log4j configuration.
func (e *Env) log(level, class, message string) {
	fmt.Fprintf(e.Err, "[%s] %s %s (%s)\n", time.Now().Format("2006-01-02 15:04:05,000"), level, message, class)
}
