package kafkatools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var producerOptions = []option{
	{name: "topic", arity: argument, help: "Required: the topic to write to."},
	bootstrapServer,
	{name: "sync", help: "Wait for each record before the next."},
	{name: "compression-codec", arity: optional, help: "none, gzip, snappy, lz4 or zstd; gzip if none is named."},
	{name: "batch-size", arity: argument, kind: integer, help: "Bytes of a batch at most (batch.size)."},
	{name: "message-send-max-retries", arity: argument, kind: integer, help: "Without effect (retries)."},
	{name: "retry-backoff-ms", arity: argument, kind: long, help: "Without effect (retry.backoff.ms)."},
	{name: "timeout", arity: argument, kind: long, help: "Without effect (linger.ms): records do not wait."},
	{name: "request-required-acks", arity: argument, help: "Whose acknowledgement to wait for: all, -1, 0 or 1."},
	{name: "request-timeout-ms", arity: argument, kind: integer, help: "Without effect (request.timeout.ms)."},
	{name: "metadata-expiry-ms", arity: argument, kind: long, help: "Without effect (metadata.max.age.ms)."},
	{name: "max-block-ms", arity: argument, kind: long, help: "How long to wait for a broker and the topic."},
	{name: "max-memory-bytes", arity: argument, kind: long, help: "Without effect (buffer.memory)."},
	{name: "max-partition-memory-bytes", arity: argument, kind: integer, help: "An older name of --batch-size."},
	{name: "line-reader", arity: argument, help: "The reader; only Kafka's LineMessageReader."},
	{name: "socket-buffer-size", arity: argument, kind: integer, help: "Without effect (send.buffer.bytes)."},
	{name: "property", arity: argument, help: "An older name of --reader-property."},
	{name: "reader-property", arity: argument, help: "parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, " +
		"headers.key.separator, ignore.error or null.marker, key=value; may be repeated."},
	{name: "reader-config", arity: argument, help: "A properties file with the same."},
	{name: "producer-property", arity: argument, help: "An older name of --command-property."},
	{name: "command-property", arity: argument, help: "A producer's setting, key=value; may be repeated."},
	{name: "producer.config", arity: argument, help: "An older name of --command-config."},
	{name: "command-config", arity: argument, help: "A properties file for the producer."},
}

// renamed is an option that was given a new name: both work, not together.
type renamed struct{ old, now, warning string }

// consoleProducer is kafka-console-producer: each line of standard input is a
// record.
func consoleProducer(ctx context.Context, e *Env, args []string) error {
	o, err := producerArgs(e, args)
	if err != nil {
		return err
	}
	settings, reader, err := producerSettings(o)
	var opts []kgo.Opt
	if err == nil {
		opts, err = producerClient(settings)
	}
	if err == nil {
		err = settings.unsupported()
	}
	if err != nil {
		return e.javaTrace(err)
	}
	seeds, err := e.seeds(ctx, o.str("bootstrap-server"))
	if err != nil {
		return e.javaTrace(notCreated(noProducer))
	}
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(seeds...))...)
	if err != nil {
		return e.javaTrace(err)
	}
	defer cl.Close()
	p := &lineProducer{e: e, cl: cl, topic: o.str("topic"), sync: o.has("sync"), block: settings.millis("max.block.ms", time.Minute)}
	err = p.run(ctx, reader)
	// What was read before an error goes out nevertheless, as from Kafka's producer
	// when the process ends.
	_ = cl.Flush(ctx)
	if err != nil {
		return e.javaTrace(err)
	}
	return nil
}

// javaTrace prints an exception as Java does that ends a program.
func (e *Env) javaTrace(err error) error {
	if _, ok := errors.AsType[*exit](err); ok {
		return err
	}
	f := thrown(err)
	if strings.HasPrefix(f.class, "joptsimple.") {
		fmt.Fprintln(e.Err, f.message)
	} else {
		fmt.Fprintln(e.Err, f.String())
	}
	return &exit{1}
}

func producerArgs(e *Env, args []string) (*options, error) {
	o, err := parseOptions(producerOptions, args)
	if err != nil {
		return nil, e.usage(producerOptions, "%s", err)
	}
	if err := e.helpOrVersion(o, args, "This tool helps to read data from standard input and publish it to Kafka."); err != nil {
		return nil, err
	}
	if err := e.require(o, "topic"); err != nil {
		return nil, err
	}
	names := []renamed{
		{"producer.config", "command-config", "Warning: --producer.config is deprecated and will be removed in a future version. Use --command-config instead."},
		{"producer-property", "command-property", "Warning: --producer-property is deprecated and will be removed in a future version. Use --command-property instead."},
		{"property", "reader-property", "Warning: --property is deprecated and will be removed in a future version. Use --reader-property instead."},
	}
	for _, r := range names {
		if o.has(r.old) && o.has(r.now) {
			return nil, e.usage(producerOptions, "Options --%s and --%s cannot be specified together.", r.now, r.old)
		}
	}
	for _, r := range []renamed{names[1], names[0], names[2]} {
		o.rename(e, r)
	}
	if o.has("max-partition-memory-bytes") {
		fmt.Fprintln(e.Out, "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. Use --batch-size instead.")
	}
	if reader := o.str("line-reader"); reader != "" && reader != "org.apache.kafka.tools.LineMessageReader" {
		return nil, terse(e, "--line-reader %s is not supported by moldau's tools: only Kafka's LineMessageReader, which is the default", reader)
	}
	return o, e.validServers(o)
}

// rename gives the arguments of an old name to the new one, with a warning.
func (o *options) rename(e *Env, r renamed) {
	if !o.has(r.old) {
		return
	}
	fmt.Fprintln(e.Out, r.warning)
	o.args[r.now] = o.args[r.old]
	o.given = append(o.given, r.now)
}

// validServers looks at --bootstrap-server before anything else does.
func (e *Env) validServers(o *options) error {
	servers := o.str("bootstrap-server")
	if strings.TrimSpace(servers) == "" {
		return e.usage(o.known[len(defaultOptions):], "Error while validating the bootstrap address\n")
	}
	for server := range strings.SplitSeq(strings.TrimRight(servers, ","), ",") {
		if !serverPattern.MatchString(server) {
			return e.usage(o.known[len(defaultOptions):], "Please provide valid host:port like host1:9091,host2:9092\n")
		}
	}
	return nil
}

// producerSettings are the producer's, as options and files say, and the reader's.
func producerSettings(o *options) (properties, *lineReader, error) {
	if err := o.check("reader-config"); err != nil {
		return nil, nil, err
	}
	file, err := loadProperties(o.str("reader-config"))
	if err != nil {
		return nil, nil, err
	}
	reader, err := newLineReader(file.with(o.all("reader-property")))
	if err != nil {
		return nil, nil, err
	}
	settings, err := loadProperties(o.str("command-config"))
	if err != nil {
		return nil, nil, err
	}
	settings = settings.with(o.all("command-property"))
	settings["compression.type"] = "none"
	if o.has("compression-codec") {
		settings["compression.type"] = o.str("compression-codec")
		if settings["compression.type"] == "" {
			settings["compression.type"] = "gzip"
		}
	}
	for _, m := range [][3]string{ // Setting, option, default.
		{"linger.ms", "timeout", "1000"},
		{"acks", "request-required-acks", "-1"},
		{"request.timeout.ms", "request-timeout-ms", "1500"},
		{"retries", "message-send-max-retries", "3"},
		{"retry.backoff.ms", "retry-backoff-ms", "100"},
		{"send.buffer.bytes", "socket-buffer-size", "102400"},
		{"buffer.memory", "max-memory-bytes", "33554432"},
		{"batch.size", "batch-size", "16384"},
		{"batch.size", "max-partition-memory-bytes", "16384"},
		{"metadata.max.age.ms", "metadata-expiry-ms", "300000"},
		{"max.block.ms", "max-block-ms", "60000"},
	} {
		if err := o.check(m[1]); err != nil {
			return nil, nil, err
		}
		if _, ok := settings[m[0]]; o.has(m[1]) {
			settings[m[0]] = o.str(m[1])
		} else if !ok {
			settings[m[0]] = m[2]
		}
	}
	return settings, reader, nil
}

// producerClient makes a client's options of the settings.
func producerClient(s properties) ([]kgo.Opt, error) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	invalid := func(name, words string) error {
		return &failure{
			"org.apache.kafka.common.config.ConfigException",
			fmt.Sprintf("Invalid value %s for configuration %s: String must be one of: %s", s[name], name, words),
		}
	}
	codec, ok := codecs[s["compression.type"]]
	if !ok {
		return nil, invalid("compression.type", "none, gzip, snappy, lz4, zstd")
	}
	id := s["client.id"]
	if id == "" {
		id = "console-producer"
	}
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec), kgo.AllowAutoTopicCreation(), kgo.ClientID(id), kgo.MaxBufferedRecords(100_000),
		// Standard input is read in pieces: what is there goes out at once.
		kgo.ProducerLinger(0), kgo.UnknownTopicRetries(20), kgo.RecordDeliveryTimeout(s.millis("delivery.timeout.ms", 2*time.Minute)),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	}
	switch s["acks"] {
	case "all", "-1":
		if s["enable.idempotence"] == "false" {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, invalid("acks", "all, -1, 0, 1")
	}
	if n, err := strconv.Atoi(s["batch.size"]); err == nil && n > 16384 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(int32(min(n, 1<<20))))
	}
	return opts, nil
}

// lineProducer sends the lines of standard input.
type lineProducer struct {
	e     *Env
	cl    *kgo.Client
	topic string
	sync  bool
	block time.Duration
	mu    sync.Mutex // Held over one log line.
}

const callbackLogger = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"

func (p *lineProducer) run(ctx context.Context, reader *lineReader) error {
	lines := bufio.NewReaderSize(p.e.In, 64<<10)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		record, err := reader.record(string(line), number)
		if err != nil {
			return err
		}
		record.Topic = p.topic
		if err := p.send(ctx, record); err != nil {
			return err
		}
	}
}

// send sends one record. A record that does not get through is logged; the tool's
// exit code does not tell, as Kafka's does not.
func (p *lineProducer) send(ctx context.Context, r *kgo.Record) error {
	// A record that gets no partition in max.block.ms fails; after that the producer
	// goes on trying by itself.
	limited, cancel := context.WithTimeout(ctx, p.block)
	if p.sync {
		defer cancel()
		err := p.cl.ProduceSync(limited, r).FirstErr()
		if err != nil {
			return p.failure(err)
		}
		return nil
	}
	p.cl.Produce(limited, r, func(r *kgo.Record, err error) {
		cancel()
		if err == nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.e.log("ERROR", callbackLogger, fmt.Sprintf("Error when sending message to topic %s with key: %s, value: %s with error:",
			r.Topic, byteCount(r.Key), byteCount(r.Value)))
		fmt.Fprintln(p.e.Err, p.failure(err).String())
	})
	return nil
}

// failure is the exception for a record that did not get through.
func (p *lineProducer) failure(err error) *failure {
	if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kgo.ErrRecordTimeout) {
		return &failure{
			errorsPackage + "TimeoutException",
			fmt.Sprintf("Topic %s not present in metadata after %d ms.", p.topic, p.block.Milliseconds()),
		}
	}
	return thrown(err)
}

func byteCount(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%d bytes", len(b))
}
