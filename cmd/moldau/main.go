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
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is main without the process: it returns the exit code. 0 is a clean end,
// 1 a failure that one line on standard error names, 2 a wrong command line.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := rootCommand()
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "moldau:", err)
		if _, ok := err.(*usageError); ok {
			return 2
		}
		return 1
	}
	return 0
}
