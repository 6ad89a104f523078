package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/compat/differential"
)

// fuzzCommand is the command that asks two brokers the same.
func fuzzCommand(out io.Writer) *cobra.Command {
	f := differential.Fuzzer{Out: out}
	cmd := &cobra.Command{
		Use:   "fuzz --bootstrap HOST:PORT --against HOST:PORT",
		Short: "Ask a broker and Apache Kafka the same at random, and print where they differ",
		Long: `Ask a broker and Apache Kafka the same at random, and print where they differ.

Small worlds of topics, producers, transactions and groups are drawn from a seed
and played on both brokers, request by request. What a broker draws itself (ids,
times) makes no difference. A world that ends in a difference is shrunk and printed.

Both should be set alike, and not tidy up by the clock: with
group.initial.rebalance.delay.ms=0, offsets.retention.check.interval.ms=86400000,
and as many partitions of __consumer_offsets and __transaction_state.
The exit code is 1 if there was one that is not known.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Here == "" || f.There == "" {
				return errors.New("--bootstrap HOST:PORT, the broker, and --against HOST:PORT, Apache Kafka, are needed")
			}
			tally, err := f.Run(cmd.Context())
			if tally != nil {
				if _, werr := fmt.Fprint(out, "\n", tally); err == nil {
					err = werr
				}
			}
			if err == nil && len(tally.Found) > 0 {
				return errFailed
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.Here, "bootstrap", "", "the HOST:PORT of the broker")
	fs.StringVar(&f.There, "against", "", "the HOST:PORT of Apache Kafka")
	fs.Uint64Var(&f.Seed, "seed", 1, "draws the worlds")
	fs.IntVar(&f.First, "world", 0, "the first world of the seed to play")
	fs.IntVar(&f.Worlds, "worlds", 0, "how many worlds to play; 0 is no bound")
	fs.DurationVar(&f.Duration, "duration", time.Minute, "how long to play; 0 is no bound")
	fs.IntVar(&f.Steps, "steps", 40, "how many requests a world has")
	fs.StringSliceVar(&f.APIs, "api", nil, "only actions about these APIs")
	fs.BoolVar(&f.KeepGoing, "keep-going", false, "go on after a difference")
	return cmd
}
