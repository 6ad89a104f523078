package kafkatools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/config"
)

// topicActions are the options of which kafka-topics wants exactly one.
var topicActions = []string{"alter", "create", "describe", "list", "delete"}

// topicReports are the options that narrow what --describe shows.
var topicReports = []string{
	"under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions",
}

var topicOptions = []option{
	bootstrapServer,
	adminConfig,
	{name: "list", help: "List topics."},
	{name: "create", help: "Create a topic."},
	{name: "delete", help: "Delete topics."},
	{name: "alter", help: "Give topics more partitions."},
	{name: "describe", help: "Show topics and their partitions."},
	{name: "topic", arity: argument, help: "The topic; a regular expression except with --create."},
	{name: "topic-id", arity: argument, help: "The id of the topic to describe."},
	{name: "config", arity: argument, help: "With --create: a setting, name=value; may be repeated."},
	{name: "delete-config", arity: argument, help: "Without effect, as in Kafka since 4.0."},
	{name: "partitions", arity: argument, kind: integer, help: "How many partitions there shall be."},
	{name: "replication-factor", arity: argument, kind: integer, help: "How many replicas of each partition."},
	{name: "replica-assignment", arity: argument, help: "Which brokers, BROKER[:BROKER]... for each partition, by commas."},
	{name: "under-replicated-partitions", help: "With --describe: only those with a replica out of sync."},
	{name: "unavailable-partitions", help: "With --describe: only those without a leader."},
	{name: "under-min-isr-partitions", help: "With --describe: only those below min.insync.replicas."},
	{name: "at-min-isr-partitions", help: "With --describe: only those at min.insync.replicas."},
	{name: "topics-with-overrides", help: "With --describe: only topics with settings of their own."},
	{name: "if-exists", help: "Do nothing if the topic is not there."},
	{name: "if-not-exists", help: "Do nothing if the topic is there."},
	{name: "exclude-internal", help: "Leave out Kafka's own topics."},
	{name: "partition-size-limit-per-response", arity: argument, kind: integer, help: "How many partitions to ask for at a time."},
}

const topicLogger = "org.apache.kafka.tools.TopicCommand"

// topics is kafka-topics.
func topics(ctx context.Context, e *Env, args []string) error {
	o, err := topicArgs(e, args)
	if err == nil {
		err = o.check("command-config", "bootstrap-server")
	}
	var settings properties
	if err == nil {
		settings, err = loadProperties(o.str("command-config"))
	}
	if _, ok := errors.AsType[*exit](err); ok {
		return err
	}
	if err != nil {
		return e.complain(err)
	}
	seeds, err := e.seeds(ctx, o.str("bootstrap-server"))
	if err != nil {
		return e.complain(notCreated(noAdminClient))
	}
	t := &topicTool{e: e, o: o, connection: connection{seeds: seeds, settings: settings, clientID: "adminclient-1"}}
	if err := t.run(ctx); err != nil {
		f := thrown(err)
		fmt.Fprintf(e.Out, "Error while executing topic command : %s\n", f.message)
		e.log("ERROR", topicLogger, f.stack())
		return &exit{1}
	}
	return nil
}

// complain prints what went wrong before a tool did anything.
func (e *Env) complain(err error) error {
	fmt.Fprintln(e.Err, thrown(err).message)
	return &exit{1}
}

// topicArgs reads the command line and holds it against the rules of which options
// go together.
func topicArgs(e *Env, args []string) (*options, error) {
	if len(args) == 0 {
		return nil, e.usage(topicOptions, "Create, delete, describe, or change a topic.")
	}
	o, err := parseOptions(topicOptions, args)
	if err != nil {
		return nil, err
	}
	if err := e.helpOrVersion(o, args, "This tool helps to create, delete, describe, or change a topic."); err != nil {
		return nil, err
	}
	if o.countOf(topicActions...) != 1 {
		return nil, e.usage(topicOptions, "Command must include exactly one action: --list, --describe, --create, --alter or --delete")
	}
	if o.has("delete-config") {
		fmt.Fprintln(e.Err, "delete-config option is no longer supported and deprecated since version 4.0. "+
			"The config will be fully removed in future releases.")
	}
	return o, topicRules(e, o)
}

// topicRules are in the order in which Kafka's tool looks, since the first that is
// broken is told.
func topicRules(e *Env, o *options) error {
	if !o.has("bootstrap-server") {
		return illegalArgument("--bootstrap-server must be specified")
	}
	if o.has("describe") && o.has("if-exists") {
		if !o.has("topic") && !o.has("topic-id") {
			return e.usage(topicOptions, "--topic or --topic-id is required to describe a topic")
		}
		if o.has("topic") && o.has("topic-id") {
			fmt.Fprintln(e.Out, "Only topic id will be used when both --topic and --topic-id are specified and topicId is not Uuid.ZERO_UUID")
		}
	}
	if !o.has("list") && !o.has("describe") {
		if err := e.require(o, "topic"); err != nil {
			return err
		}
	}
	if o.has("alter") {
		if o.has("config") {
			return e.usage(topicOptions, "Option combination \"[[bootstrap-server], [config]]\" can't be used with option \"[alter]\""+
				" (To alter topic configurations, the kafka-configs tool can be used.)")
		}
		if err := e.require(o, "partitions"); err != nil {
			return err
		}
	}
	without := func(actions ...string) []string {
		return slices.DeleteFunc(slices.Clone(topicActions), func(a string) bool { return slices.Contains(actions, a) })
	}
	type exclusion struct {
		option string
		others []string
	}
	rules := []exclusion{
		{"config", without("alter", "create")},
		{"partitions", without("alter", "create")},
		{"replication-factor", without("create")},
		{"replica-assignment", without("alter", "create")},
	}
	if o.has("create") {
		rules = append(rules, exclusion{"replica-assignment", []string{"partitions", "replication-factor"}})
	}
	for _, report := range topicReports {
		rules = append(rules, exclusion{report, append(without("describe"), "topics-with-overrides")})
	}
	rules = append(rules,
		exclusion{"topics-with-overrides", append(without("describe"), topicReports...)},
		exclusion{"if-exists", without("alter", "delete", "describe")},
		exclusion{"if-not-exists", without("create")},
		exclusion{"exclude-internal", without("list", "describe")},
	)
	for _, r := range rules {
		if err := e.exclude(o, r.option, r.others...); err != nil {
			return err
		}
	}
	return nil
}

// topicTool is one call of kafka-topics.
type topicTool struct {
	e          *Env
	o          *options
	connection connection
	cl         *cluster
}

func (t *topicTool) run(ctx context.Context) error {
	action := map[string]func(context.Context) error{
		"create": t.create, "alter": t.alter, "list": t.list, "describe": t.describe, "delete": t.delete,
	}
	for _, a := range topicActions {
		if t.o.has(a) {
			err := action[a](ctx)
			if t.cl != nil {
				t.cl.raw.Close()
			}
			return err
		}
	}
	return nil
}

// connect connects for a call.
func (t *topicTool) connect(ctx context.Context, call string) (err error) {
	t.connection.call = call
	t.cl, err = t.e.connect(ctx, t.connection)
	return err
}

// newTopic reads what --create and --alter say of the topic.
func (t *topicTool) newTopic() (*kmsg.CreateTopicsRequestTopic, error) {
	if err := t.o.check("topic", "partitions", "replication-factor", "replica-assignment"); err != nil {
		return nil, err
	}
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = t.o.str("topic")
	topic.NumPartitions = int32(t.o.num("partitions", -1))
	factor := t.o.num("replication-factor", -1)
	var err error
	if topic.ReplicaAssignment, err = replicaAssignment(t.o.str("replica-assignment")); err != nil {
		return nil, err
	}
	if topic.Configs, err = topicConfigs(t.o.all("config")); err != nil {
		return nil, err
	}
	if t.o.has("create") {
		if hasCollisionChars(topic.Topic) {
			fmt.Fprintln(t.e.Out, "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "+
				"To avoid issues it is best to use either, but not both.")
		}
		if t.o.has("replication-factor") && (factor < 1 || factor > math.MaxInt16) {
			return nil, illegalArgument("The replication factor must be between 1 and 32767 inclusive")
		}
		if t.o.has("partitions") && topic.NumPartitions < 1 {
			return nil, illegalArgument("The partitions must be greater than 0")
		}
	}
	topic.ReplicationFactor = int16(factor)
	return &topic, nil
}

func hasCollisionChars(topic string) bool { return strings.ContainsAny(topic, "._") }

// replicaAssignment reads 1:2,2:3: the brokers of each partition.
func replicaAssignment(list string) ([]kmsg.CreateTopicsRequestTopicReplicaAssignment, error) {
	if list == "" {
		return nil, nil
	}
	var out []kmsg.CreateTopicsRequestTopicReplicaAssignment
	for i, partition := range strings.Split(strings.TrimRight(list, ","), ",") {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition = int32(i)
		var twice []string
		for broker := range strings.SplitSeq(strings.TrimRight(partition, ":"), ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(broker), 10, 32)
			if err != nil {
				return nil, &failure{"java.lang.NumberFormatException", fmt.Sprintf("For input string: %q", strings.TrimSpace(broker))}
			}
			if slices.Contains(a.Replicas, int32(id)) && !slices.Contains(twice, strconv.Itoa(int(id))) {
				twice = append(twice, strconv.Itoa(int(id)))
			}
			a.Replicas = append(a.Replicas, int32(id))
		}
		if len(twice) > 0 {
			return nil, &failure{
				"org.apache.kafka.tools.AdminCommandFailedException",
				"Partition replica lists may not contain duplicate entries: " + strings.Join(twice, ","),
			}
		}
		out = append(out, a)
		if len(a.Replicas) != len(out[0].Replicas) {
			return nil, &failure{
				"org.apache.kafka.server.common.AdminOperationException",
				fmt.Sprintf("Partition %d has different replication factor: %s", i, javaList(a.Replicas)),
			}
		}
	}
	return out, nil
}

// javaList prints numbers as Java prints a list.
func javaList[T any](items []T) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = fmt.Sprint(item)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// topicConfigs reads name=value settings and checks them as the broker would:
// Kafka's tool does so before it asks.
func topicConfigs(pairs []string) ([]kmsg.CreateTopicsRequestTopicConfig, error) {
	set := map[string]string{}
	for _, pair := range pairs {
		parts := strings.Split(strings.TrimRight(pair, "="), "=")
		if len(parts) != 2 {
			return nil, illegalArgument("requirement failed: Invalid topic config: all configs to be added must be in the format \"key=val\".")
		}
		set[strings.TrimSpace(parts[0])] = strings.TrimSpace(parts[1])
	}
	if _, err := config.CheckTopic(set, config.Layers{}.TopicValues()); err != nil {
		return nil, settingFailure(err)
	}
	var out []kmsg.CreateTopicsRequestTopicConfig
	for _, name := range slices.Sorted(maps.Keys(set)) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, kmsg.StringPtr(set[name])
		out = append(out, c)
	}
	return out, nil
}

// settingFailure is the exception for a setting that cannot be.
func settingFailure(err error) error {
	if _, ok := errors.AsType[*config.UnknownError](err); ok {
		return &failure{errorsPackage + "InvalidConfigurationException", err.Error()}
	}
	return &failure{"org.apache.kafka.common.config.ConfigException", err.Error()}
}

func (t *topicTool) create(ctx context.Context) error {
	topic, err := t.newTopic()
	if err != nil {
		return err
	}
	if topic.Topic == "" {
		return &failure{errorsPackage + "InvalidTopicException", "The given topic name '' cannot be represented in a request."}
	}
	if err := t.connect(ctx, "createTopics"); err != nil {
		return err
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(t.cl.timeout.Milliseconds())
	req.Topics = append(req.Topics, *topic)
	resp, err := ask[*kmsg.CreateTopicsResponse](ctx, t.cl, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Topics {
		err := brokerFailure(r.ErrorCode, r.ErrorMessage)
		if err == nil {
			fmt.Fprintf(t.e.Out, "Created topic %s.\n", r.Topic)
			continue
		}
		if thrown(err).class != errorsPackage+"TopicExistsException" || !t.o.has("if-not-exists") {
			return err
		}
	}
	return nil
}

// names are the topics that --topic matches, sorted.
func (t *topicTool) names(ctx context.Context) ([]string, error) {
	if err := t.o.check("topic"); err != nil {
		return nil, err
	}
	if err := t.connect(ctx, "listTopics"); err != nil {
		return nil, err
	}
	all, err := t.cl.ListTopicsWithInternal(ctx)
	if err != nil {
		return nil, err
	}
	matches := func(string) bool { return true }
	if t.o.has("topic") {
		if matches, err = includeList(t.o.str("topic")); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, d := range all.Sorted() {
		internal := d.IsInternal || isInternalTopic(d.Topic)
		if matches(d.Topic) && !(internal && t.o.has("exclude-internal")) {
			names = append(names, d.Topic)
		}
	}
	return names, nil
}

// existing is names, and an error if --topic names none that is there.
func (t *topicTool) existing(ctx context.Context) ([]string, error) {
	names, err := t.names(ctx)
	if err == nil && len(names) == 0 && t.o.str("topic") != "" && !t.o.has("if-exists") {
		err = illegalArgument(fmt.Sprintf("Topic '%s' does not exist as expected", t.o.str("topic")))
	}
	return names, err
}

func (t *topicTool) list(ctx context.Context) error {
	names, err := t.names(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(t.e.Out, strings.Join(names, "\n"))
	return nil
}

func (t *topicTool) delete(ctx context.Context) error {
	names, err := t.existing(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(t.cl.timeout.Milliseconds())
	req.TopicNames = names
	for _, name := range names {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := ask[*kmsg.DeleteTopicsResponse](ctx, t.cl, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Topics {
		if err := brokerFailure(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

func (t *topicTool) alter(ctx context.Context) error {
	topic, err := t.newTopic()
	if err != nil {
		return err
	}
	names, err := t.existing(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	there, err := t.cl.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(t.cl.timeout.Milliseconds())
	for _, name := range names {
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = name, topic.NumPartitions
		for i, a := range topic.ReplicaAssignment {
			if i >= len(there[name].Partitions) {
				ra := kmsg.NewCreatePartitionsRequestTopicAssignment()
				ra.Replicas = a.Replicas
				rt.Assignment = append(rt.Assignment, ra)
			}
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, err := ask[*kmsg.CreatePartitionsResponse](ctx, t.cl, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Topics {
		if err := brokerFailure(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}
