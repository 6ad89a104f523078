// Package cli is the part of the moldau command that talks to a broker, any
// Kafka broker: topics, records, groups, settings, and what is wrong with a
// connection.
//
// One file per command. Each makes a cobra command, asks the cluster with
// franz-go's kadm, and prints a table or JSON (output.go). Begin with cli.go, then
// topics.go.
//
// Exit codes: 0 done, 1 the cluster or the system said no, 2 the command line is
// wrong, 3 something that was asked for is not there.
//
// Not here: running a broker (package main) and reading its files without one
// (dumplog.go is the exception: it needs no cluster).
package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Exit codes.
const (
	ExitFailed   = 1
	ExitUsage    = 2
	ExitNotThere = 3
)

// UsageError is a wrong command line, as against a command that failed.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// NotThereError says that something that was asked for does not exist.
type NotThereError struct{ What string }

func (e *NotThereError) Error() string { return e.What }

// ExitCode is the exit code that an error means.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[*UsageError](err); ok {
		return ExitUsage
	}
	if _, ok := errors.AsType[*NotThereError](err); ok {
		return ExitNotThere
	}
	return ExitFailed
}

// app is what the commands share: the flags that each of them has.
type app struct {
	bootstrap string
	format    string
	timeout   time.Duration
	dial      func(ctx context.Context, network, addr string) (net.Conn, error) // Default: the client's own.
}

// Commands are the commands that talk to a cluster, and those that read files.
func Commands() []*cobra.Command {
	a := &app{}
	cmds := []*cobra.Command{
		topicsCommand(a), produceCommand(a), consumeCommand(a), groupsCommand(a),
		configsCommand(a), clusterCommand(a), doctorCommand(a),
	}
	for _, c := range cmds {
		flags := c.PersistentFlags()
		flags.StringVarP(&a.bootstrap, "bootstrap", "b", "localhost:9092", "brokers to ask first, as `HOST:PORT[,...]`")
		flags.DurationVar(&a.timeout, "timeout", 30*time.Second, "how long to wait for the cluster")
	}
	return append(cmds, configCommand(a), dumpLogCommand())
}

// withFormat gives a command the flag that chooses between a table and JSON.
func (a *app) withFormat(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&a.format, "format", "table", "`table` or json")
	return c
}

// client connects to the cluster. Nothing is dialled before the first request.
func (a *app) client(opts ...kgo.Opt) (*kgo.Client, error) {
	seeds := strings.Split(a.bootstrap, ",")
	if a.dial != nil {
		opts = append(opts, kgo.Dialer(a.dial))
	}
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.ClientID("moldau-cli"),
		kgo.RetryTimeout(a.timeout), kgo.RequestRetries(3),
	}, opts...)...)
	if err != nil {
		return nil, usage("--bootstrap %s: %w", a.bootstrap, err)
	}
	return cl, nil
}

// admin is a connection to the cluster: kadm's requests, and raw ones.
type admin struct {
	*kadm.Client
	raw *kgo.Client
}

// ask runs f with an admin client and the command's deadline.
func (a *app) ask(cmd *cobra.Command, f func(context.Context, admin) error) error {
	if a.format != "" && a.format != "table" && a.format != "json" {
		return usage("--format %s: use table or json", a.format)
	}
	cl, err := a.client()
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
	defer cancel()
	return a.explain(f(ctx, admin{kadm.NewClient(cl), cl}))
}

// explain adds to an error what a person can do about it.
func (a *app) explain(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %s within %v; `moldau doctor --bootstrap %[1]s` looks for the reason", a.bootstrap, a.timeout)
	case strings.Contains(err.Error(), "unable to dial"):
		return fmt.Errorf("no broker answers at %s: %w; is one running? `moldau serve` starts one", a.bootstrap, err)
	}
	return err
}

// exactly wants n arguments, and says which.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage("%s takes %s; see %[1]s --help", cmd.CommandPath(), strings.Join(names, " "))
		}
		return nil
	}
}

// atLeastOne wants one argument or more.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("%s takes one %s or more; see %[1]s --help", cmd.CommandPath(), name)
		}
		return nil
	}
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("%s has no command %q; see %[1]s --help", cmd.CommandPath(), args[0])
		}
		return nil
	}, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(subs...)
	return c
}
