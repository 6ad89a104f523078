package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxLineBytes bounds one line of input: the largest record that a broker could
// take by far.
const maxLineBytes = 128 << 20

type produceFlags struct {
	file        string
	separator   string
	headers     []string
	compression string
	acks        string
	partition   int32
	quiet       bool
}

func produceCommand(a *app) *cobra.Command {
	var f produceFlags
	c := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Send each line of a file, or of standard input, as a record",
		Long: "Send each line of a file, or of standard input, as a record.\n\n" +
			"With --key-separator the part of a line before the first separator is the key.",
		Args: exactly("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.produce(cmd, args[0], f) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.file, "file", "f", "-", "the `file` to read; - is standard input")
	flags.StringVarP(&f.separator, "key-separator", "k", "", "what `text` parts key and value")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header of every record as `key=value` (may be repeated)")
	flags.StringVarP(&f.compression, "compression", "z", "none", "`codec`: none, gzip, snappy, lz4 or zstd")
	flags.StringVar(&f.acks, "acks", "all", "whose acknowledgement to wait for: `all`, 1 or 0")
	flags.Int32VarP(&f.partition, "partition", "p", -1, "the `partition` for every record; -1 chooses by key")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, no summary")
	return c
}

// options are the client's.
func (f produceFlags) options(topic string) ([]kgo.Opt, error) {
	opts := []kgo.Opt{kgo.DefaultProduceTopic(topic), kgo.AllowAutoTopicCreation(), kgo.MaxBufferedRecords(100_000)}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, ok := codecs[f.compression]
	if !ok {
		return nil, usage("--compression %s: use none, gzip, snappy, lz4 or zstd", f.compression)
	}
	opts = append(opts, kgo.ProducerBatchCompression(codec))
	switch f.acks {
	case "all":
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, usage("--acks %s: use all, 1 or 0", f.acks)
	}
	if f.partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return opts, nil
}

func (a *app) produce(cmd *cobra.Command, topic string, f produceFlags) error {
	opts, err := f.options(topic)
	if err != nil {
		return err
	}
	headers, err := pairs("--header", f.headers)
	if err != nil {
		return err
	}
	in, closeIn, err := openInput(cmd, f.file)
	if err != nil {
		return err
	}
	defer closeIn()
	cl, err := a.client(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()

	s := &sender{cl: cl, f: f, began: time.Now()}
	for k, v := range headers {
		s.headers = append(s.headers, kgo.RecordHeader{Key: k, Value: []byte(v)})
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	s.fail = cancel
	defer s.watch(a.timeout)()
	if !f.quiet && isTerminal(cmd.ErrOrStderr()) {
		stop := s.progress(cmd.ErrOrStderr())
		defer stop()
	}
	err = s.send(ctx, in)
	if ferr := cl.Flush(ctx); err == nil {
		err = ferr
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d records sent, %d acknowledged\n", s.sent.Load(), s.acked.Load())
	}
	return a.explain(err)
}

// sender sends lines as records.
type sender struct {
	cl          *kgo.Client
	f           produceFlags
	headers     []kgo.RecordHeader
	fail        context.CancelCauseFunc // Called with the first record's error.
	began       time.Time
	sent, acked atomic.Int64
}

func (s *sender) send(ctx context.Context, in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for ctx.Err() == nil {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r := &kgo.Record{Value: line, Headers: s.headers, Partition: s.f.partition}
		if s.f.separator != "" {
			key, value, ok := strings.Cut(string(line), s.f.separator)
			if !ok {
				return fmt.Errorf("line %d has no separator %q", s.sent.Load()+1, s.f.separator)
			}
			r.Key, r.Value = []byte(key), []byte(value)
		}
		s.sent.Add(1)
		s.cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				s.fail(fmt.Errorf("a record was not acknowledged: %w", err))
				return
			}
			s.acked.Add(1)
		})
	}
	return ctx.Err()
}

// watch fails the sending when records wait and none of them was acknowledged for
// that long, until stop. The client itself would try on for as long as it cannot
// know whether a record has arrived.
func (s *sender) watch(timeout time.Duration) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(max(timeout/10, time.Millisecond))
		defer tick.Stop()
		var acked int64
		progress := time.Now()
		for {
			select {
			case now := <-tick.C:
				if n := s.acked.Load(); n > acked || n == s.sent.Load() {
					acked, progress = n, now
				} else if now.Sub(progress) >= timeout {
					s.fail(context.DeadlineExceeded)
				}
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// readLine reads a line without its end. The last may lack one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > maxLineBytes {
				return nil, fmt.Errorf("a line is longer than %d bytes", maxLineBytes)
			}
			continue
		case err == io.EOF && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return line[:len(line)-1], nil
	}
}

// progress says how far it is, a few times a second, until stop.
func (s *sender) progress(w io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				n := s.acked.Load()
				fmt.Fprintf(w, "\r%d records, %.0f a second ", n, float64(n)/time.Since(s.began).Seconds())
			case <-done:
				fmt.Fprint(w, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

func openInput(cmd *cobra.Command, name string) (io.Reader, func(), error) {
	if name == "-" {
		return cmd.InOrStdin(), func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

// isTerminal reports whether w is a person's screen.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
