package kafkatools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var consumerOptions = []option{
	{name: "topic", arity: argument, help: "The topic to read."},
	{name: "include", arity: argument, help: "A regular expression for the topics to read."},
	{name: "partition", arity: argument, kind: integer, help: "The partition to read, from its end unless --offset says otherwise."},
	{name: "offset", arity: argument, help: "Where to begin in the partition: earliest, latest or a number."},
	{name: "consumer-property", arity: argument, help: "An older name of --command-property."},
	{name: "command-property", arity: argument, help: "A consumer's setting, key=value; may be repeated."},
	{name: "consumer.config", arity: argument, help: "An older name of --command-config."},
	{name: "command-config", arity: argument, help: "A properties file for the consumer."},
	{name: "formatter", arity: argument, help: "Kafka's DefaultMessageFormatter, LoggingMessageFormatter or NoOpMessageFormatter."},
	{name: "property", arity: argument, help: "An older name of --formatter-property."},
	{name: "formatter-property", arity: argument, help: "print.timestamp, print.key, print.offset, print.epoch, print.partition, print.headers, print.value, " +
		"key.separator, line.separator, headers.separator, null.literal or a deserializer, key=value; may be repeated."},
	{name: "formatter-config", arity: argument, help: "A properties file with the same."},
	{name: "from-beginning", help: "Begin with the first record where the group has no place yet."},
	{name: "max-messages", arity: argument, kind: integer, help: "End after so many records."},
	{name: "timeout-ms", arity: argument, kind: long, help: "End when nothing came for so long."},
	{name: "skip-message-on-error", help: "Go on when a record cannot be printed."},
	bootstrapServer,
	{name: "key-deserializer", arity: argument, help: "The class that reads keys."},
	{name: "value-deserializer", arity: argument, help: "The class that reads values."},
	{name: "enable-systest-events", help: "Say shutdown_complete at the end."},
	{name: "isolation-level", arity: argument, help: "read_committed or read_uncommitted, the default."},
	{name: "group", arity: argument, help: "The consumer group to be a member of."},
}

const consumerLogger = "org.apache.kafka.tools.consumer.ConsoleConsumer"

// consoleConsumer is kafka-console-consumer: it prints records.
func consoleConsumer(ctx context.Context, e *Env, args []string) error {
	o, err := consumerArgs(e, args)
	if err != nil {
		return e.javaException(err)
	}
	c := &recordPrinter{e: e, o: o, out: bufio.NewWriterSize(e.Out, 64<<10)}
	if err := c.configure(); err != nil {
		return e.javaException(err)
	}
	opts, err := c.client()
	if err == nil {
		err = c.settings.unsupported()
	}
	if err == nil {
		err = c.run(ctx, opts)
	}
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	e.log("ERROR", consumerLogger, "Unknown error when running consumer: ")
	fmt.Fprintln(e.Err, thrown(err).String())
	return &exit{1}
}

// javaException prints an exception that nothing catches.
func (e *Env) javaException(err error) error {
	if _, ok := errors.AsType[*exit](err); ok {
		return err
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return refused(e, r)
	}
	fmt.Fprintln(e.Err, `Exception in thread "main"`, thrown(err).String())
	return &exit{1}
}

func consumerArgs(e *Env, args []string) (*options, error) {
	o, err := parseOptions(consumerOptions, args)
	if err != nil {
		return nil, e.usage(consumerOptions, "%s", err)
	}
	if err := e.helpOrVersion(o, args, "This tool helps to read data from Kafka topics and outputs it to standard output."); err != nil {
		return nil, err
	}
	if o.has("topic") == o.has("include") {
		return nil, e.usage(consumerOptions, "Exactly one of the following arguments is required: [topic], [include]")
	}
	if err := o.check("partition"); err != nil {
		return nil, err
	}
	switch {
	case o.has("partition") && !o.has("topic"):
		return nil, e.usage(consumerOptions, "The topic is required when partition is specified.")
	case o.has("partition") && o.has("from-beginning") && o.has("offset"):
		return nil, e.usage(consumerOptions, "Options from-beginning and offset cannot be specified together.")
	case !o.has("partition") && o.has("offset"):
		return nil, e.usage(consumerOptions, "The partition is required when offset is specified.")
	}
	if err := e.require(o, "bootstrap-server"); err != nil {
		return nil, err
	}
	names := []renamed{
		{"consumer-property", "command-property", "Option --consumer-property is deprecated and will be removed in a future version. Use --command-property instead."},
		{"consumer.config", "command-config", "Option --consumer.config is deprecated and will be removed in a future version. Use --command-config instead."},
	}
	for _, r := range names {
		if o.has(r.old) && o.has(r.now) {
			return nil, e.usage(consumerOptions, "Options --%s and --%s cannot be specified together.", r.old, r.now)
		}
	}
	for _, r := range names {
		o.rename(e, r)
	}
	return o, o.check("command-config", "bootstrap-server", "group", "offset", "timeout-ms", "max-messages", "formatter", "isolation-level",
		"topic", "include", "key-deserializer", "value-deserializer", "formatter-config")
}

// recordPrinter is one call of kafka-console-consumer.
type recordPrinter struct {
	e        *Env
	o        *options
	out      *bufio.Writer
	settings properties
	group    string // Empty without one that was named.
	offset   int64  // Where to begin in --partition: as in ListOffsets.
	timeout  time.Duration
	max      int64 // -1: no end.
	format   formatter
	count    int64
}

// Offsets that stand for places, as in ListOffsets.
const (
	latest   = -1
	earliest = -2
)

// configure reads what the options say beyond their own rules.
func (c *recordPrinter) configure() error {
	file, err := loadProperties(c.o.str("command-config"))
	if err != nil {
		return err
	}
	own := properties{}.with(c.o.all("command-property"))
	c.settings = file.with(c.o.all("command-property"))
	var groups []string
	for _, g := range []struct {
		name string
		ok   bool
	}{{c.o.str("group"), c.o.has("group")}, {file["group.id"], file["group.id"] != ""}, {own["group.id"], own["group.id"] != ""}} {
		if g.ok && (len(groups) == 0 || groups[0] != g.name) {
			groups = append(groups, g.name)
		}
	}
	if len(groups) > 1 {
		return c.e.usage(consumerOptions, "The group ids provided in different places (directly using '--group', via '--consumer-property', "+
			"or via '--consumer.config') do not match. Detected group ids: '%s'", strings.Join(groups, "', '"))
	}
	if len(groups) == 1 {
		if c.group = groups[0]; c.o.has("partition") {
			return c.e.usage(consumerOptions, "Options group and partition cannot be specified together.")
		}
	}
	if reset, ok := c.settings["auto.offset.reset"]; ok && c.o.has("from-beginning") && reset != "earliest" {
		return terse(c.e, "Can't simultaneously specify --from-beginning and 'auto.offset.reset=%s', please remove one option", reset)
	} else if !ok {
		c.settings["auto.offset.reset"] = "latest"
		if c.o.has("from-beginning") {
			c.settings["auto.offset.reset"] = "earliest"
		}
	}
	if _, ok := c.settings["isolation.level"]; c.o.has("isolation-level") {
		c.settings["isolation.level"] = c.o.str("isolation-level")
	} else if !ok {
		c.settings["isolation.level"] = "read_uncommitted"
	}
	if err := c.readOffset(); err != nil {
		return err
	}
	c.timeout = time.Duration(math.MaxInt64)
	if ms := c.o.num("timeout-ms", -1); ms >= 0 && ms < math.MaxInt64/int64(time.Millisecond) {
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	c.max = c.o.num("max-messages", -1)
	c.format, err = newFormatter(c.e, c.o)
	return err
}

func (c *recordPrinter) readOffset() error {
	c.offset = latest
	if c.o.has("from-beginning") {
		c.offset = earliest
	}
	if !c.o.has("offset") {
		return nil
	}
	given := c.o.str("offset")
	switch strings.ToLower(given) {
	case "earliest":
		c.offset = earliest
	case "latest":
		c.offset = latest
	default:
		n, err := strconv.ParseInt(given, 10, 64)
		if err != nil || n < 0 {
			return c.e.usage(consumerOptions, "The provided offset value '%s' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long.", given)
		}
		c.offset = n
	}
	return nil
}

// client makes a client's options of the settings.
func (c *recordPrinter) client() ([]kgo.Opt, error) {
	s := c.settings
	invalid := func(name, words string) error {
		return &failure{
			"org.apache.kafka.common.config.ConfigException",
			fmt.Sprintf("Invalid value %s for configuration %s: %s", s[name], name, words),
		}
	}
	id := s["client.id"]
	if id == "" {
		id = "console-consumer"
	}
	opts := []kgo.Opt{kgo.ClientID(id), kgo.AllowAutoTopicCreation(), kgo.FetchMaxWait(500 * time.Millisecond)}
	switch s["isolation.level"] {
	case "read_committed":
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	case "read_uncommitted":
	default:
		return nil, invalid("isolation.level", "String must be one of: read_committed, read_uncommitted")
	}
	reset := kgo.NewOffset().AtEnd()
	switch s["auto.offset.reset"] {
	case "earliest":
		reset = kgo.NewOffset().AtStart()
	case "latest":
	case "none":
		reset = kgo.NoResetOffset()
		if c.group != "" {
			reset = kgo.NewOffset().AtCommitted()
		}
	default:
		return nil, invalid("auto.offset.reset", "Invalid value `"+s["auto.offset.reset"]+"` for configuration auto.offset.reset. "+
			"The value must be either 'earliest', 'latest', 'none' or of the format 'by_duration:<PnDTnHnMn.nS.>'.")
	}
	if p := s["group.protocol"]; p != "" && !strings.EqualFold(p, "classic") {
		return nil, &failure{
			"org.apache.kafka.common.config.ConfigException",
			"group.protocol=" + p + " is not supported by moldau's tools: use classic, the default",
		}
	}
	opts = append(opts, kgo.ConsumeResetOffset(reset))
	switch {
	case c.o.has("partition"):
		at := kgo.NewOffset().At(c.offset)
		if c.offset == earliest {
			at = kgo.NewOffset().AtStart()
		} else if c.offset == latest {
			at = kgo.NewOffset().AtEnd()
		}
		return append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
			c.o.str("topic"): {int32(c.o.num("partition", 0)): at},
		})), nil
	case c.o.has("topic"):
		opts = append(opts, kgo.ConsumeTopics(c.o.str("topic")))
	default:
		expr := "^(?:" + c.o.str("include") + ")$"
		if _, err := regexp.Compile(expr); err != nil {
			return nil, &failure{"java.util.regex.PatternSyntaxException", err.Error()}
		}
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics(expr))
	}
	if c.group == "" {
		// Kafka's tool joins a group of a random name and commits nothing. To be in no
		// group reads the same records.
		return opts, nil
	}
	opts = append(opts, kgo.ConsumerGroup(c.group), kgo.Balancers(kgo.RangeBalancer(), kgo.CooperativeStickyBalancer()))
	if strings.EqualFold(s["enable.auto.commit"], "false") {
		return append(opts, kgo.DisableAutoCommit()), nil
	}
	return append(opts, kgo.AutoCommitMarks(), kgo.AutoCommitInterval(s.millis("auto.commit.interval.ms", 5*time.Second))), nil
}

// run prints records until one of the ends that were asked for.
func (c *recordPrinter) run(ctx context.Context, opts []kgo.Opt) error {
	seeds, err := c.e.seeds(ctx, c.o.str("bootstrap-server"))
	if err != nil {
		return notCreated(noConsumer)
	}
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(seeds...))...)
	if err != nil {
		return err
	}
	err = c.print(ctx, cl)
	if c.group != "" && !strings.EqualFold(c.settings["enable.auto.commit"], "false") {
		_ = cl.CommitMarkedOffsets(context.WithoutCancel(ctx)) // A group that was lost has nothing to commit.
	}
	cl.Close()
	fmt.Fprintf(c.e.Err, "Processed a total of %d messages\n", c.count)
	if c.o.has("enable-systest-events") {
		fmt.Fprintln(c.e.Out, "shutdown_complete")
	}
	if ctx.Err() != nil && err == nil {
		return &exit{130} // As after an interrupt.
	}
	return err
}

func (c *recordPrinter) print(ctx context.Context, cl *kgo.Client) error {
	last := time.Now()
	for c.max < 0 || c.count < c.max {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if c.timeout != math.MaxInt64 {
			wait, cancel = context.WithDeadline(ctx, last.Add(c.timeout))
		}
		fetches := cl.PollFetches(wait)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		for _, r := range fetches.Records() {
			if c.max >= 0 && c.count >= c.max {
				break
			}
			c.count++
			if err := c.format.write(c.out, r); err != nil {
				if !c.o.has("skip-message-on-error") {
					return errors.Join(err, c.out.Flush())
				}
				c.e.log("ERROR", consumerLogger, "Error processing message, skipping this message: ")
				fmt.Fprintln(c.e.Err, thrown(err).String())
			}
			cl.MarkCommitRecords(r)
			last = time.Now()
		}
		if err := c.out.Flush(); err != nil {
			fmt.Fprintln(c.e.Err, "Unable to write to standard out, closing consumer.")
			return nil
		}
		ending := fetchFailure(fetches)
		if ending == nil && fetches.NumRecords() == 0 && time.Since(last) >= c.timeout {
			ending = &failure{class: errorsPackage + "TimeoutException"}
		}
		if ending != nil {
			c.e.log("ERROR", consumerLogger, "Error processing message, terminating consumer process: ")
			fmt.Fprintln(c.e.Err, ending.String())
			return nil // The exit code does not tell, as Kafka's does not.
		}
	}
	return nil
}

// fetchFailure is the first error that reading on does not mend, nil if there is none:
// an offset out of range, say, with auto.offset.reset=none.
func fetchFailure(fetches kgo.Fetches) *failure {
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, context.DeadlineExceeded) || kerr.IsRetriable(e.Err) {
			continue // Nothing came in time, or the client tries again.
		}
		f := thrown(e.Err)
		place := e.Topic
		if e.Partition >= 0 {
			place = topicPartition{e.Topic, e.Partition}.String()
		}
		if strings.Contains(f.message, "no prior committed offset") { // The client's own error has no name.
			return &failure{
				"org.apache.kafka.clients.consumer.NoOffsetForPartitionException",
				"Undefined offset with no reset policy for partitions: [" + place + "]",
			}
		}
		return &failure{f.class, place + ": " + f.message}
	}
	return nil
}
