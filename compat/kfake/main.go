// Command kfake runs franz-go's fake broker as a process, so that it can be
// measured beside a real one. It is a module of its own: nothing else of this
// tree needs kfake.
//
//	kfake PORT
//
// It serves one broker on 127.0.0.1:PORT until SIGTERM or SIGINT. Records are
// held in memory.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("the one argument is the port, not %q", args)
	}
	port, err := strconv.ParseUint(args[0], 10, 16)
	if err != nil {
		return fmt.Errorf("the port: %w", err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(int(port)))
	if err != nil {
		return err
	}
	defer cluster.Close()
	<-stop
	return nil
}
