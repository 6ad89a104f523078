// Command moldau is a Kafka broker in one binary.
//
// `moldau serve` runs it. This package turns flags, a server.properties file and
// signals into a broker.Config and an exit code; everything else is the broker
// package's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/moldau-broker/moldau/cmd/moldau/internal/cli"
)

func main() {
	os.Exit(run(os.Args))
}

// run is main without the process: it returns the exit code (package cli says
// which there are). Under the name of one of Kafka's tools the binary is that tool.
func run(argv []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if name, args, ok := asTool(argv); ok {
		return runTool(ctx, name, args)
	}
	cmd := rootCommand()
	cmd.SetArgs(argv[1:])
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "moldau:", err)
		return cli.ExitCode(err)
	}
	return 0
}
