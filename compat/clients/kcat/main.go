// Program kcat runs the scripts through kcat, which is librdkafka on a command line.
// It has no requests of administration: topics are made by franz-go.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

const wait = 30 * time.Second

var program = flag.String("kcat", "kcat", "the program")

func main() { script.Main(dial) }

func dial(bootstrap string) (script.Client, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RetryTimeout(15*time.Second))
	if err != nil {
		return nil, err
	}
	c := &client{bootstrap, kadm.NewClient(cl)}
	_, err = c.run(nil, "-L", "-t", "none")
	return c, err
}

type client struct {
	bootstrap string
	admin     *kadm.Client
}

func (c *client) Has(feature string) error {
	switch feature {
	case "admin":
		return errAdmin
	case "transactions":
		return script.NotApplicable("kcat makes one transaction of all that it sends, and commits it")
	case "kip848":
		return script.NotApplicable("the librdkafka of kcat speaks the classic protocol alone")
	case "places":
		return script.NotApplicable("kcat does not tell where records went")
	case "timestamps":
		return script.NotApplicable("kcat stamps records itself")
	case "null headers", "binary headers":
		return script.NotApplicable("kcat takes headers from its command line")
	}
	return nil
}

// run runs kcat and returns what it prints.
func (c *client) run(in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, *program, append([]string{"-b", c.bootstrap, "-m", "10"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kcat %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

func (c *client) Producer(o script.Options) (script.Producer, error) {
	args := []string{"-P", "-X", "linger.ms=5", "-X", "message.timeout.ms=20000", "-X", "acks=all"}
	if o.Codec != "" {
		args = append(args, "-z", o.Codec)
	}
	if o.MaxBytes > 0 {
		args = append(args, "-X", fmt.Sprint("message.max.bytes=", o.MaxBytes))
	}
	if o.Idempotent {
		args = append(args, "-X", "enable.idempotence=true")
	} else {
		args = append(args, "-X", "max.in.flight=1") // Without idempotence, a retry must not overtake.
	}
	return &producer{client: c, args: args}, nil
}

// producer runs kcat for each run of records that it can be told of at once.
type producer struct {
	script.NoTransactions

	client *client
	args   []string
}

func (p *producer) Send(topic string, records []script.Record) ([]script.Place, error) {
	// One partition after the other, so that one run can take many.
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b script.Record) int { return a.Partition - b.Partition })
	for len(records) > 0 {
		n := 1
		for n < len(records) && alike(records[0], records[n]) {
			n++
		}
		if err := p.send(topic, records[:n]); err != nil {
			return nil, err
		}
		records = records[n:]
	}
	return nil, nil
}

// text says whether a record can be a line of input.
func text(r script.Record) bool {
	return len(r.Headers) == 0 && len(r.Value) > 0 && len(r.Value) < 1000 && !bytes.ContainsAny(append(slices.Clone(r.Key), r.Value...), "\n\t\x00") && (r.Key == nil || len(r.Key) > 0)
}

// alike says whether two records can go in one run: both are text, whose keys stand
// before them, or both are files with the same key and headers.
func alike(a, b script.Record) bool {
	if a.Partition != b.Partition || (a.Key == nil) != (b.Key == nil) {
		return false
	}
	if text(a) || text(b) {
		return text(a) && text(b)
	}
	same := slices.EqualFunc(a.Headers, b.Headers, func(x, y script.Header) bool { return x.Key == y.Key && bytes.Equal(x.Value, y.Value) })
	return same && a.Key == nil && a.Value != nil && b.Value != nil
}

func (p *producer) send(topic string, records []script.Record) error {
	args := append(slices.Clone(p.args), "-t", topic)
	if records[0].Partition != script.Any {
		args = append(args, "-p", strconv.Itoa(records[0].Partition))
	}
	for _, h := range records[0].Headers {
		args = append(args, "-H", h.Key+"="+string(h.Value))
	}
	var in bytes.Buffer
	switch r := records[0]; {
	case text(r):
		if r.Key != nil {
			args = append(args, "-K", `\t`)
		}
		for _, r := range records {
			if r.Key != nil {
				fmt.Fprintf(&in, "%s\t", r.Key)
			}
			fmt.Fprintf(&in, "%s\n", r.Value)
		}
	case r.Value == nil || len(r.Value) == 0 || r.Key != nil:
		// One record, with a delimiter that is in none. -Z makes what is empty null.
		if r.Value == nil || r.Key == nil {
			args = append(args, "-Z")
		}
		args = append(args, "-K", "<key>", "-D", "<end>")
		fmt.Fprintf(&in, "%s<key>%s<end>", r.Key, r.Value)
	default:
		dir, err := os.MkdirTemp("", "kcat")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		for i, r := range records {
			name := filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(name, r.Value, 0o600); err != nil {
				return err
			}
			args = append(args, name)
		}
	}
	_, err := p.client.run(&in, args...)
	return err
}

func (p *producer) Close() error { return nil }

func (c *client) Committed(group, topic string, partition int) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	all, err := c.admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, err
	}
	at, _ := all.Lookup(topic, int32(partition))
	return at.At, at.Err
}

func (c *client) query(topic string, partition int, ms int64) (int64, error) {
	out, err := c.run(nil, "-Q", "-t", fmt.Sprintf("%s:%d:%d", topic, partition, ms))
	if err != nil {
		return 0, err
	}
	_, offset, _ := strings.Cut(string(out), "offset ")
	return strconv.ParseInt(strings.TrimSpace(offset), 10, 64)
}

func (c *client) Offsets(topic string, partition int) (begin, end int64, err error) {
	if begin, err = c.query(topic, partition, -2); err != nil {
		return 0, 0, err
	}
	end, err = c.query(topic, partition, -1)
	return begin, end, err
}

func (c *client) OffsetForTime(topic string, partition int, ms int64) (int64, error) {
	return c.query(topic, partition, ms)
}

func (c *client) CreateTopic(topic string, partitions int, config map[string]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	entries := map[string]*string{}
	for k, v := range config {
		entries[k] = &v
	}
	answer, err := c.admin.CreateTopic(ctx, int32(partitions), 1, entries, topic)
	if err == nil {
		err = answer.Err
	}
	return err
}

var errAdmin = script.NotApplicable("kcat has no requests of administration")

func (c *client) Topics() ([]string, error)                { return nil, errAdmin }
func (c *client) Partitions(string) (int, error)           { return 0, errAdmin }
func (c *client) Config(string, string) (string, error)    { return "", errAdmin }
func (c *client) AlterConfig(string, string, string) error { return errAdmin }
func (c *client) AddPartitions(string, int) error          { return errAdmin }
func (c *client) DeleteRecords(string, int, int64) error   { return errAdmin }
func (c *client) Groups() ([]string, error)                { return nil, errAdmin }
func (c *client) DeleteGroup(string) error                 { return errAdmin }
func (c *client) DeleteTopic(string) error                 { return errAdmin }

func (c *client) ErrorName(err error) string {
	if strings.Contains(err.Error(), "Message size too large") {
		return "MESSAGE_TOO_LARGE"
	}
	return err.Error()
}

func (c *client) Fenced(error) bool { return false }
