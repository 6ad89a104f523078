package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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
	opts := []kgo.Opt{kgo.FetchMaxWait(500 * time.Millisecond)}
	if f.committed {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	r := &reader{layout: layout, max: f.max, last: map[int32]*kgo.Record{}, out: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)}
	defer r.out.Flush() //nolint:errcheck // The write before it failed too.
	if f.group != "" {
		reset, err := groupStart(f.from)
		if err != nil {
			return err
		}
		opts = append(opts, kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(reset), kgo.DisableAutoCommit(),
			kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { r.assigned.Store(true) }))
	}
	r.assigned.Store(f.group == "")
	if f.group == "" || !f.follow {
		starts, ends, err := a.bounds(cmd, topic, f)
		if err != nil {
			return err
		}
		if !f.follow {
			r.until = ends
			if r.done() {
				return nil
			}
		}
		if f.group == "" {
			opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}))
		}
	}
	cl, err := a.client(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	err = r.read(cmd.Context(), cl)
	if f.group != "" && err == nil {
		// What was printed is committed, also when the user stopped it.
		err = cl.CommitRecords(context.WithoutCancel(cmd.Context()), slices.Collect(maps.Values(r.last))...)
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

// bounds finds where each partition is to be read from and where it ends now.
func (a *app) bounds(cmd *cobra.Command, topic string, f consumeFlags) (starts map[int32]kgo.Offset, ends map[int32]int64, err error) {
	starts, ends = map[int32]kgo.Offset{}, map[int32]int64{}
	err = a.ask(cmd, func(ctx context.Context, adm admin) error {
		first, err := adm.ListStartOffsets(ctx, topic)
		if err != nil {
			return err
		}
		last, err := adm.ListEndOffsets(ctx, topic)
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
			starts[p] = kgo.NewOffset().At(offset)
			if end, _ := last.Lookup(topic, p); end.Offset > offset {
				ends[p] = end.Offset
			}
		}
		return nil
	})
	return starts, ends, err
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

// reader prints records.
type reader struct {
	layout []piece
	out    *bufio.Writer
	max    int64
	seen   int64
	last   map[int32]*kgo.Record // Printed last, by partition.
	until  map[int32]int64       // Offsets to read up to; nil for ever.
	// assigned is set when there are partitions to read: a group gives them out
	// only after a while.
	assigned atomic.Bool
}

// done reports whether all that was asked for is printed.
func (r *reader) done() bool {
	return r.max > 0 && r.seen >= r.max || r.until != nil && len(r.until) == 0
}

func (r *reader) read(ctx context.Context, cl *kgo.Client) error {
	for !r.done() {
		// Positions move over records that are not given out (markers, gaps), so
		// the end is looked for also when nothing comes.
		ready := r.assigned.Load()
		poll, cancel := context.WithTimeout(ctx, time.Second)
		fs := cl.PollFetches(poll)
		cancel()
		if ctx.Err() != nil {
			return nil // Interrupted: what was read is printed.
		}
		if err := fs.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		var err error
		fs.EachRecord(func(rec *kgo.Record) {
			if err == nil && !r.done() {
				err = r.print(rec)
			}
		})
		if err == nil {
			err = r.out.Flush()
		}
		if err != nil {
			return err
		}
		fs.EachPartition(func(p kgo.FetchTopicPartition) {
			if end, ok := r.until[p.Partition]; ok && len(p.Records) > 0 && p.Records[len(p.Records)-1].Offset >= end-1 {
				delete(r.until, p.Partition)
			}
		})
		if fs.NumRecords() == 0 && r.until != nil && ready {
			// At the end there may be only what is never given out.
			return nil
		}
	}
	return nil
}

func (r *reader) print(rec *kgo.Record) error {
	if end, ok := r.until[rec.Partition]; r.until != nil && (!ok || rec.Offset >= end) {
		return nil
	}
	r.seen++
	r.last[rec.Partition] = rec
	for _, p := range r.layout {
		if err := p(r.out, rec); err != nil {
			return err
		}
	}
	return nil
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
