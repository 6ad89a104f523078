package kafkatools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var getOffsetsOptions = []option{
	bootstrapServer,
	{name: "topic-partitions", arity: argument, help: "Which partitions, as TOPIC:PARTITION[,...]; the topic a regular expression, the partition N, N-, -N or N-M."},
	{name: "topic", arity: argument, help: "The topic, a regular expression; default: all."},
	{name: "partitions", arity: argument, help: "The partitions by number, by commas; default: all."},
	{name: "time", arity: argument, help: "Which offset: latest (-1), earliest (-2), max-timestamp (-3), earliest-local (-4), latest-tiered (-5), or the first not before a timestamp."},
	adminConfig,
	{name: "exclude-internal-topics", help: "Leave out Kafka's own topics."},
}

// getOffsets is kafka-get-offsets.
func getOffsets(ctx context.Context, e *Env, args []string) error {
	failed := func(err error) error {
		if _, ok := errors.AsType[*exit](err); ok {
			return err
		}
		return terse(e, "Error occurred: %s", thrown(err).message)
	}
	const about = "An interactive shell for getting topic-partition offsets."
	if len(args) == 0 {
		return e.usage(getOffsetsOptions, about)
	}
	o, err := parseOptions(getOffsetsOptions, args)
	if err != nil {
		return failed(err)
	}
	if err := e.helpOrVersion(o, args, about); err != nil {
		return err
	}
	if err := e.require(o, "bootstrap-server"); err != nil {
		return err
	}
	if err := e.validServers(o); err != nil {
		return err
	}
	if err := printOffsets(ctx, e, o); err != nil {
		return failed(err)
	}
	return nil
}

func printOffsets(ctx context.Context, e *Env, o *options) error {
	if o.has("topic-partitions") && (o.has("topic") || o.has("partitions")) {
		return illegalArgument("--topic-partitions cannot be used with --topic or --partitions")
	}
	if err := o.check("time", "topic-partitions", "topic", "partitions", "command-config"); err != nil {
		return err
	}
	at, err := offsetTime(o.str("time"))
	if err != nil {
		return err
	}
	wanted, err := partitionFilter(o)
	if err != nil {
		return err
	}
	settings, err := loadProperties(o.str("command-config"))
	if err != nil {
		return err
	}
	seeds, err := e.seeds(ctx, o.str("bootstrap-server"))
	if err != nil {
		return notCreated(noAdminClient)
	}
	cl, err := e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "GetOffsetShell", call: "listTopics"})
	if err != nil {
		return err
	}
	defer cl.raw.Close()
	topics, err := cl.ListTopicsWithInternal(ctx)
	if err != nil {
		return err
	}
	var partitions []topicPartition
	for _, d := range topics {
		if o.has("exclude-internal-topics") && (d.IsInternal || isInternalTopic(d.Topic)) {
			continue
		}
		for p := range d.Partitions {
			if wanted(d.Topic, p) {
				partitions = append(partitions, topicPartition{Topic: d.Topic, Partition: p})
			}
		}
	}
	if len(partitions) == 0 {
		return illegalArgument("Could not match any topic-partitions with the specified filters")
	}
	slices.SortFunc(partitions, func(a, b topicPartition) int { return strings.Compare(a.String(), b.String()) })
	offsets, err := cl.offsetsAt(ctx, partitions, at)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		switch got, ok := offsets[p]; {
		case !ok:
		case got.err != nil:
			f := thrown(got.err)
			fmt.Fprintf(e.Err, "Skip getting offsets for topic-partition %s due to error: %s\n", p, f)
		case got.offset >= 0:
			fmt.Fprintf(e.Out, "%s:%d:%d\n", p.Topic, p.Partition, got.offset)
		}
	}
	return nil
}

// offsetTimes are the names of ListOffsets's special timestamps.
var offsetTimes = map[string]int64{"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5, "earliest-pending-upload": -6}

// offsetTime reads --time.
func offsetTime(given string) (int64, error) {
	if given == "" {
		return latest, nil
	}
	if at, ok := offsetTimes[given]; ok {
		return at, nil
	}
	at, err := strconv.ParseInt(given, 10, 64)
	if err != nil {
		return 0, illegalArgument("Malformed time argument " + given + ". Please use -1 or latest / -2 or earliest / -3 or max-timestamp / " +
			"-4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, or a specified long format timestamp")
	}
	return at, nil
}

// rulePattern is one of --topic-partitions.
var rulePattern = regexp.MustCompile(`^([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?$`)

// partitionFilter says which partitions are wanted.
func partitionFilter(o *options) (func(topic string, partition int32) bool, error) {
	if !o.has("topic-partitions") {
		return topicAndPartitions(o)
	}
	var rules []func(string, int32) bool
	for rule := range strings.SplitSeq(strings.TrimRight(o.str("topic-partitions"), ","), ",") {
		m := rulePattern.FindStringSubmatch(rule)
		if m == nil {
			return nil, illegalArgument("org.apache.kafka.tools.TerseException: Invalid rule specification: " + rule)
		}
		expr := m[1]
		if expr == "" {
			expr = ".*"
		}
		topic, err := includeList(expr)
		if err != nil {
			return nil, err
		}
		low, high := int64(0), int64(math.MaxInt32)
		number := func(s string, to *int64) {
			if n, err := strconv.ParseInt(s, 10, 32); err == nil {
				*to = n
			}
		}
		if m[2] != "" {
			number(m[2], &low)
			high = low + 1
		} else {
			number(m[3], &low)
			number(m[4], &high)
		}
		rules = append(rules, func(t string, p int32) bool { return topic(t) && int64(p) >= low && int64(p) < high })
	}
	return func(t string, p int32) bool {
		return slices.ContainsFunc(rules, func(rule func(string, int32) bool) bool { return rule(t, p) })
	}, nil
}

func topicAndPartitions(o *options) (func(topic string, partition int32) bool, error) {
	expr := ".*"
	if o.has("topic") {
		expr = o.str("topic")
	}
	topic, err := includeList(expr)
	if err != nil {
		return nil, err
	}
	var numbers []int32
	if list := o.str("partitions"); list != "" {
		for item := range strings.SplitSeq(strings.TrimRight(list, ","), ",") {
			n, err := strconv.ParseInt(item, 10, 32)
			if err != nil {
				return nil, illegalArgument("--partitions expects a comma separated list of numeric partition ids, but received: " + list)
			}
			numbers = append(numbers, int32(n))
		}
	}
	return func(t string, p int32) bool { return topic(t) && (len(numbers) == 0 || slices.Contains(numbers, p)) }, nil
}

// offsetAt is the answer for one partition.
type offsetAt struct {
	offset int64
	err    error
}

// offsetsAt asks for the offset of each partition at a time, or at one of the
// places that have a number below zero.
func (c *cluster) offsetsAt(ctx context.Context, partitions []topicPartition, at int64) (map[topicPartition]offsetAt, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	byTopic := map[string][]int32{}
	for _, p := range partitions {
		byTopic[p.Topic] = append(byTopic[p.Topic], p.Partition)
	}
	for topic, numbers := range byTopic {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = topic
		for _, n := range numbers {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = n, at
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	out := map[topicPartition]offsetAt{}
	for _, shard := range c.raw.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, rt := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, rp := range rt.Partitions {
				out[topicPartition{Topic: rt.Topic, Partition: rp.Partition}] = offsetAt{rp.Offset, kerr.ErrorForCode(rp.ErrorCode)}
			}
		}
	}
	return out, nil
}

// topicPartition names one partition.
type topicPartition struct {
	Topic     string
	Partition int32
}

// compare orders by topic, and by number.
func (p topicPartition) compare(q topicPartition) int {
	return cmp.Or(strings.Compare(p.Topic, q.Topic), cmp.Compare(p.Partition, q.Partition))
}

// String is its name as Kafka writes it.
func (p topicPartition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }
