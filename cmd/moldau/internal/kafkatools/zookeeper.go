package kafkatools

import (
	"cmp"
	"context"
	"fmt"
	"net"
)

const noZooKeeper = "moldau keeps its metadata itself: no ZooKeeper was started or stopped, and none is needed"

// zooKeeperStart is zookeeper-server-start, for scripts from before Kafka 4: they
// start a ZooKeeper beside the broker, and some harnesses wait for its port. The port
// is there, and that is all: a connection to it is closed.
func zooKeeperStart(ctx context.Context, e *Env, args []string) error {
	if len(args) > 0 && args[0] == "-daemon" {
		return startDaemon("zookeeper-server-start", "zookeeper.out", args[1:])
	}
	if len(args) == 0 {
		fmt.Fprintln(e.Out, "USAGE: zookeeper-server-start [-daemon] zookeeper.properties")
		return &exit{1}
	}
	settings, err := loadProperties(args[0])
	if err != nil {
		return terse(e, "zookeeper-server-start: %v", err)
	}
	addr := net.JoinHostPort(settings["clientPortAddress"], cmp.Or(settings["clientPort"], "2181"))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return terse(e, "zookeeper-server-start: clientPort of %s: %v", args[0], err)
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	fmt.Fprintln(e.Out, noZooKeeper)
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return terse(e, "zookeeper-server-start: %v", err)
		}
		_ = c.Close()
	}
}

// zooKeeperStop is zookeeper-server-stop: all is well.
func zooKeeperStop(_ context.Context, e *Env, _ []string) error {
	_, err := fmt.Fprintln(e.Out, noZooKeeper)
	return err
}
