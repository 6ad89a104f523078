package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type consumeFlags struct {
	from       string
	partitions []int32
	group      string
	max        int64
	follow     bool
	format     string
	committed  bool
}

func consumeCommand(a *app) *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print the records of a topic",
		Long: `Print the records of a topic, up to where it ends now, or with --follow for ever.

The output format may hold
  %v value   %k key   %h headers as key=value,...   %t topic   %p partition
  %o offset  %d timestamp in milliseconds   %T the same in RFC 3339   %% a percent sign
  \n \t \\   and any other text as it is.`,
		Args: exactly("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.consume(cmd, args[0], f) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.from, "from", "o", "", "where to begin: `beginning`, end, an offset, -N for N before the end, or a time (RFC 3339); "+
		"default: the beginning, or where the group is")
	flags.Int32SliceVarP(&f.partitions, "partition", "p", nil, "the `partitions` to read; default: all")
	flags.StringVarP(&f.group, "group", "g", "", "read as a member of this `group`, and commit")
	flags.Int64VarP(&f.max, "max-messages", "n", 0, "stop after so `many` records")
	flags.BoolVarP(&f.follow, "follow", "F", false, "wait for more records at the end")
	flags.StringVar(&f.format, "output", `%v\n`, "what to print of a record, a `format`")
	flags.BoolVar(&f.committed, "read-committed", false, "pass over records of open and aborted transactions")
	return c
}

func (a *app) consume(cmd *cobra.Command, topic string, f consumeFlags) error {
	layout, err := parseLayout(f.format)
	if err != nil {
		return err
	}
	if f.group != "" && (len(f.partitions) > 0) {
		return usage("--group and --partition do not go together: a group shares the partitions out")
	}
	// Markers of transactions are not printed, but may be all that is before the end.
	opts := []kgo.Opt{kgo.FetchMaxWait(500 * time.Millisecond), kgo.KeepControlRecords()}
	if f.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	r := newReader(topic, layout, f, cmd.OutOrStdout())
	defer r.out.Flush() //nolint:errcheck // The write before it failed too.
	if f.group != "" {
		reset, err := groupStart(f.from)
		if err != nil {
			return err
		}
		opts = append(opts, kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(reset), kgo.DisableAutoCommit())
		opts = append(opts, r.membership()...)
	}
	if f.group == "" || !f.follow {
		starts, ends, err := a.bounds(cmd, topic, f)
		if err != nil {
			return err
		}
		if !f.follow {
			r.bound(starts, ends, f.group == "")
			if len(ends) == 0 {
				return nil
			}
		}
		if f.group == "" {
			opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsetsAt(starts)}))
		}
	}
	cl, err := a.client(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	err = r.read(cmd.Context(), cl, a.timeout)
	if f.group != "" && len(r.last) > 0 {
		// What was printed is committed, also when the user stopped it or the rest
		// did not come.
		err = errors.Join(err, cl.CommitRecords(context.WithoutCancel(cmd.Context()), slices.Collect(maps.Values(r.last))...))
	}
	return a.explain(err)
}

// groupStart is where a group begins that has committed nothing.
func groupStart(from string) (kgo.Offset, error) {
	switch from {
	case "", "beginning":
		return kgo.NewOffset().AtStart(), nil
	case "end":
		return kgo.NewOffset().AtEnd(), nil
	}
	return kgo.Offset{}, usage("--from %s: a group begins at the beginning or at the end; "+
		"`moldau groups reset-offsets` moves it elsewhere", from)
}

// offsetsAt are offsets as the client takes them.
func offsetsAt(starts map[int32]int64) map[int32]kgo.Offset {
	out := map[int32]kgo.Offset{}
	for p, at := range starts {
		out[p] = kgo.NewOffset().At(at)
	}
	return out
}

// bounds finds where each partition is to be read from and, of those that hold
// something from there on, where it ends now.
func (a *app) bounds(cmd *cobra.Command, topic string, f consumeFlags) (starts, ends map[int32]int64, err error) {
	starts, ends = map[int32]int64{}, map[int32]int64{}
	if f.group != "" {
		f.from = "beginning" // Where the group is, it knows itself.
	}
	err = a.ask(cmd, func(ctx context.Context, adm admin) error {
		first, err := adm.ListStartOffsets(ctx, topic)
		if err != nil {
			return err
		}
		last, err := adm.endOffsets(ctx, topic, f.committed)
		if err != nil {
			return err
		}
		if first.Error() != nil {
			return missing("topic", topic, first.Error())
		}
		at, err := startOffsets(ctx, adm, topic, f.from, first, last)
		if err != nil {
			return err
		}
		want := map[int32]bool{}
		for _, p := range f.partitions {
			if _, ok := at[p]; !ok {
				return &NotThereError{fmt.Sprintf("topic %s has no partition %d", topic, p)}
			}
			want[p] = true
		}
		for p, offset := range at {
			if len(want) > 0 && !want[p] {
				continue
			}
			starts[p] = offset
			if end, _ := last.Lookup(topic, p); end.Offset > offset {
				ends[p] = end.Offset
			}
		}
		return nil
	})
	return starts, ends, err
}

// endOffsets are where partitions end; for who reads only what is committed, where
// the first open transaction begins.
func (adm admin) endOffsets(ctx context.Context, topic string, committed bool) (kadm.ListedOffsets, error) {
	if committed {
		return adm.ListCommittedOffsets(ctx, topic)
	}
	return adm.ListEndOffsets(ctx, topic)
}

// startOffsets reads --from.
func startOffsets(ctx context.Context, adm admin, topic, from string, first, last kadm.ListedOffsets) (map[int32]int64, error) {
	out := map[int32]int64{}
	number, numErr := strconv.ParseInt(from, 10, 64)
	when, timeErr := time.Parse(time.RFC3339, from)
	var byTime kadm.ListedOffsets
	if numErr != nil && timeErr == nil {
		var err error
		if byTime, err = adm.ListOffsetsAfterMilli(ctx, when.UnixMilli(), topic); err != nil {
			return nil, err
		}
	}
	var bad error
	first.Each(func(lo kadm.ListedOffset) {
		hi, _ := last.Lookup(topic, lo.Partition)
		switch {
		case from == "" || from == "beginning":
			out[lo.Partition] = lo.Offset
		case from == "end":
			out[lo.Partition] = hi.Offset
		case numErr == nil && number < 0:
			out[lo.Partition] = max(lo.Offset, hi.Offset+number)
		case numErr == nil:
			out[lo.Partition] = min(max(lo.Offset, number), hi.Offset)
		case timeErr == nil:
			at, _ := byTime.Lookup(topic, lo.Partition)
			out[lo.Partition] = at.Offset
		default:
			bad = usage("--from %s: use beginning, end, an offset, -N, or a time as 2006-01-02T15:04:05Z", from)
		}
	})
	return out, bad
}

// piece prints a part of a record.
type piece func(io.Writer, *kgo.Record) error

// parseLayout reads an output format.
func parseLayout(format string) ([]piece, error) {
	var out []piece
	var plain strings.Builder
	flush := func() {
		if s := plain.String(); s != "" {
			out = append(out, func(w io.Writer, _ *kgo.Record) error { _, err := io.WriteString(w, s); return err })
			plain.Reset()
		}
	}
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c != '%' && c != '\\' {
			plain.WriteByte(c)
			continue
		}
		i++
		if i == len(format) {
			return nil, usage("--output %q ends in %q", format, c)
		}
		if c == '\\' {
			special, ok := map[byte]byte{'n': '\n', 't': '\t', '\\': '\\', '0': 0}[format[i]]
			if !ok {
				return nil, usage(`--output %q: \%c is not known`, format, format[i])
			}
			plain.WriteByte(special)
			continue
		}
		if format[i] == '%' {
			plain.WriteByte('%')
			continue
		}
		field, ok := fields[format[i]]
		if !ok {
			return nil, usage("--output %q: %%%c is not known; see --help", format, format[i])
		}
		flush()
		out = append(out, field)
	}
	flush()
	return out, nil
}

// fields are the letters of an output format.
var fields = map[byte]piece{
	'v': func(w io.Writer, r *kgo.Record) error { _, err := w.Write(r.Value); return err },
	'k': func(w io.Writer, r *kgo.Record) error { _, err := w.Write(r.Key); return err },
	't': func(w io.Writer, r *kgo.Record) error { _, err := io.WriteString(w, r.Topic); return err },
	'p': func(w io.Writer, r *kgo.Record) error { _, err := fmt.Fprint(w, r.Partition); return err },
	'o': func(w io.Writer, r *kgo.Record) error { _, err := fmt.Fprint(w, r.Offset); return err },
	'd': func(w io.Writer, r *kgo.Record) error { _, err := fmt.Fprint(w, r.Timestamp.UnixMilli()); return err },
	'T': func(w io.Writer, r *kgo.Record) error {
		_, err := io.WriteString(w, r.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
		return err
	},
	'h': func(w io.Writer, r *kgo.Record) error {
		for i, h := range r.Headers {
			comma := ","
			if i == 0 {
				comma = ""
			}
			if _, err := fmt.Fprintf(w, "%s%s=%s", comma, h.Key, h.Value); err != nil {
				return err
			}
		}
		return nil
	},
}
