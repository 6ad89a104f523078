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
	os.Exit(run(os.Args[1:]))
}

// run is main without the process: it returns the exit code (package cli says
// which there are).
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := rootCommand()
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "moldau:", err)
		return cli.ExitCode(err)
	}
	return 0
}
