package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/cmd/moldau/internal/cli"
)

// flags are those that all drivers share.
type flags struct {
	target  Target
	produce ProduceLoad
	acks    string
	format  string
	timeout time.Duration
}

// Command is `moldau bench` with everything below it.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a broker's speed and what it costs",
		Long: "Measure a broker's speed and what it costs.\n\n" +
			"Any broker that speaks Kafka's protocol can be measured. With --pid, the id of\n" +
			"its process on this machine, the report says what CPU and memory the broker\n" +
			"took for it. Without --topic a topic is made and deleted afterwards.",
	}
	cmd.AddCommand(produceCommand(), consumeCommand(), e2eCommand(), floorCommand(), compareCommand())
	return cmd
}

func (f *flags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringSliceVar(&f.target.Bootstrap, "bootstrap", []string{"localhost:9092"}, "the broker's `HOST:PORT`")
	set.IntVar(&f.target.PID, "pid", 0, "the broker's process `id`, to report its CPU and memory (Linux)")
	set.StringVar(&f.target.Topic, "topic", "", "use this `topic`, which must exist (default: make one, delete it afterwards)")
	set.IntVar(&f.target.Partitions, "partitions", 1, "partitions of the topic that is made")
	set.StringToStringVar(&f.target.TopicConfigs, "topic-config", nil, "settings `key=value` of the topic that is made")
	set.StringVar(&f.format, "format", "table", "table or json")
	set.DurationVar(&f.timeout, "timeout", 10*time.Minute, "give up after this time")
}

func (f *flags) addProduce(cmd *cobra.Command) {
	set := cmd.Flags()
	set.IntVar(&f.produce.RecordBytes, "record-size", 1024, "size of each value in `bytes`")
	set.StringVar(&f.produce.Compression, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	set.StringVar(&f.acks, "acks", "all", "0, 1 or all; with all the producer is idempotent")
	set.Int64Var(&f.produce.Count, "count", 0, "how many records (default: as many as --duration gives)")
	set.IntVar(&f.produce.Connections, "connections", 1, "how many clients produce, each over its own connection")
}

// run gives a driver its time, and prints what it found.
func (f *flags) run(cmd *cobra.Command, drive func(ctx context.Context) (Result, error)) error {
	acks := map[string]int{"0": 0, "1": 1, "-1": -1, "all": -1}
	var ok bool
	if f.produce.Acks, ok = acks[f.acks]; !ok {
		return &cli.UsageError{Err: fmt.Errorf("--acks %s: use 0, 1 or all", f.acks)}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	r, err := drive(ctx)
	if err != nil {
		return err
	}
	return r.write(cmd.OutOrStdout(), f.format)
}

func produceCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "produce",
		Short: "Measure producing",
		Long: "Measure producing: records go to all partitions in turn, as fast as the broker\n" +
			"takes them, or one at a time with --one-by-one.\n\n" +
			"The latency is from handing a record to the client until its acknowledgement. At\n" +
			"full speed that is mostly its wait in the client's buffer.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context) (Result, error) { return Produce(ctx, f.target, f.produce) })
		},
	}
	f.add(cmd)
	f.addProduce(cmd)
	cmd.Flags().BoolVar(&f.produce.OneByOne, "one-by-one", false, "each client waits for the answer before it sends the next record")
	cmd.Flags().DurationVar(&f.produce.Duration, "duration", 10*time.Second, "how long, if no --count is given")
	return cmd
}

func consumeCommand() *cobra.Command {
	var f flags
	var consumers int
	cmd := &cobra.Command{
		Use:   "consume",
		Short: "Measure consuming",
		Long: "Measure consuming: each consumer reads all of the topic from its start to the end\n" +
			"it has at the beginning. Without --topic one is filled first, which is not measured;\n" +
			"--count, --record-size, --compression and the like say with what.\n\n" +
			"The latency is of the fetch requests.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context) (Result, error) {
				fill := f.produce
				if fill.Count == 0 {
					fill.Count = max(gib/int64(max(fill.RecordBytes, 1)), 1)
				}
				return Consume(ctx, f.target, ConsumeLoad{Consumers: consumers, Fill: fill})
			})
		},
	}
	f.add(cmd)
	f.addProduce(cmd)
	cmd.Flags().Lookup("count").Usage = "how many records to fill the topic with (default: 1 GiB of them)"
	cmd.Flags().IntVar(&consumers, "consumers", 1, "how many clients read, each all of it")
	return cmd
}

func e2eCommand() *cobra.Command {
	var f flags
	var rate int
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "e2e",
		Short: "Measure the time from producer to consumer",
		Long: "Measure the time from producer to consumer at a steady rate: from handing a record\n" +
			"to the producing client until a consumer has it. The first second is not counted.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, func(ctx context.Context) (Result, error) {
				return EndToEnd(ctx, f.target, EndToEndLoad{
					RecordBytes: f.produce.RecordBytes, RatePerSecond: rate, Duration: duration, Acks: f.produce.Acks,
				})
			})
		},
	}
	f.add(cmd)
	set := cmd.Flags()
	set.IntVar(&f.produce.RecordBytes, "record-size", 1024, "size of each value in `bytes`, at least 8")
	set.StringVar(&f.acks, "acks", "all", "0, 1 or all")
	set.IntVar(&rate, "rate", 1000, "records a second")
	set.DurationVar(&duration, "duration", 10*time.Second, "how long")
	return cmd
}

func floorCommand() *cobra.Command {
	var listen, dir string
	cmd := &cobra.Command{
		Use:    "floor",
		Hidden: true,
		Short:  "Serve the probe that brokers are compared with; it is no broker",
		Long: "Serve the probe that brokers are compared with until SIGTERM or SIGINT: frames, CRC,\n" +
			"write and sendfile, and enough of the protocol for franz-go. It is no broker: it\n" +
			"forgets everything at its end and checks next to nothing.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := os.MkdirTemp(dir, "moldau-floor-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(data) }() // In a temporary directory: left over at worst.
			f, err := NewFloor(listen, data, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			if err != nil {
				return err
			}
			return f.Serve(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9092", "`HOST:PORT` to serve")
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` for its files (default: the system's temporary one)")
	return cmd
}
