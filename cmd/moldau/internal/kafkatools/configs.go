package kafkatools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const noQuotas = "this release has no quotas and no SCRAM credentials"

var configOptions = []option{
	bootstrapServer,
	{name: "bootstrap-controller", arity: argument, refused: "use --bootstrap-server"},
	adminConfig,
	{name: "alter", help: "Change settings."},
	{name: "describe", help: "Show settings."},
	{name: "all", help: "With --describe: also those that are not set."},
	{name: "entity-type", arity: argument, help: "topics, brokers, broker-loggers, groups or client-metrics."},
	{name: "entity-name", arity: argument, help: "Whose settings: a topic, the id of a broker, and so on."},
	{name: "entity-default", help: "With --entity-type brokers: those of all brokers."},
	{name: "add-config", arity: argument, help: "Settings, key=value[,...]; a value with commas in square brackets."},
	{name: "add-config-file", arity: argument, help: "A properties file with settings."},
	{name: "delete-config", arity: argument, commas: true, help: "Settings to take back, by commas."},
	{name: "force", help: "Without effect."},
	{name: "topic", arity: argument, help: "--entity-type topics --entity-name."},
	{name: "client", arity: argument, refused: noQuotas},
	{name: "client-defaults", refused: noQuotas},
	{name: "user", arity: argument, refused: noQuotas},
	{name: "user-defaults", refused: noQuotas},
	{name: "broker", arity: argument, help: "--entity-type brokers --entity-name."},
	{name: "broker-defaults", help: "--entity-type brokers --entity-default."},
	{name: "broker-logger", arity: argument, help: "--entity-type broker-loggers --entity-name."},
	{name: "ip", arity: argument, refused: noQuotas},
	{name: "ip-defaults", refused: noQuotas},
	{name: "group", arity: argument, help: "--entity-type groups --entity-name."},
	{name: "client-metrics", arity: argument, help: "--entity-type client-metrics --entity-name."},
}

// entityKinds are the kinds of things that have settings: Kafka's words for them,
// the options that name one, and where a setting that was made for one comes from.
var entityKinds = map[string]struct {
	flag     string
	resource kmsg.ConfigResourceType
	source   kmsg.ConfigSource
}{
	"topics":         {"topic", kmsg.ConfigResourceTypeTopic, kmsg.ConfigSourceDynamicTopicConfig},
	"brokers":        {"broker", kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicBrokerConfig},
	"broker-loggers": {"broker-logger", kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigSourceDynamicBrokerLoggerConfig},
	"client-metrics": {"client-metrics", kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigSourceClientMetricsConfig},
	"groups":         {"group", kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigSourceGroupConfig},
}

// entityTypes are the words of --entity-type, in the order in which Kafka's tool
// lists them.
var entityTypes = []string{"topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers"}

// configTool is one call of kafka-configs.
type configTool struct {
	e     *Env
	o     *options
	types []string
	names []string // Empty for a default.
	cl    *cluster
}

// configs is kafka-configs.
func configs(ctx context.Context, e *Env, args []string) error {
	t := &configTool{e: e}
	err := t.run(ctx, args)
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return refused(e, r)
	}
	f := thrown(err)
	switch f.class {
	case "java.lang.IllegalArgumentException", errorsPackage + "InvalidConfigurationException", errorsPackage + "UnsupportedVersionException",
		errorsPackage + "InvalidTopicException":
		if _, local := errors.AsType[*brokerError](err); !local {
			return e.complain(err)
		}
	}
	if strings.HasPrefix(f.class, "joptsimple.") {
		return e.complain(err)
	}
	fmt.Fprintf(e.Err, "Error while executing config command with args '%s'\n", strings.Join(args, " "))
	if _, ok := errors.AsType[*brokerError](err); ok {
		fmt.Fprintln(e.Err, "java.util.concurrent.ExecutionException: "+f.String())
	} else {
		fmt.Fprintln(e.Err, f.String())
	}
	return &exit{1}
}

// brokerError is what a broker answered, which Kafka's tools find inside of an
// ExecutionException.
type brokerError struct{ error }

func (b *brokerError) Unwrap() error { return b.error }

func fromBroker(err error) error {
	if err == nil {
		return nil
	}
	return &brokerError{err}
}

func (t *configTool) run(ctx context.Context, args []string) error {
	var err error
	if t.o, err = parseOptions(configOptions, args); err != nil {
		return err
	}
	if err := t.e.helpOrVersion(t.o, args, "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, client-metrics or group"); err != nil {
		return err
	}
	if err := t.rules(); err != nil {
		return err
	}
	settings, err := loadProperties(t.o.str("command-config"))
	if err != nil {
		return err
	}
	if t.o.has("alter") && len(t.types) != len(t.names) {
		return illegalArgument("An entity name must be specified for every entity type")
	}
	seeds, err := t.e.seeds(ctx, t.o.str("bootstrap-server"))
	if err != nil {
		return notCreated(noAdminClient)
	}
	var changes []kmsg.IncrementalAlterConfigsRequestResourceConfig
	if t.o.has("alter") {
		if changes, err = t.changes(); err != nil {
			return err
		}
	}
	call := map[string]string{"topics": "listTopics", "brokers": "listNodes", "broker-loggers": "listNodes"}[t.types[0]]
	if t.o.has("alter") {
		call = "incrementalAlterConfigs"
	} else if t.o.has("all") && len(t.names) > 0 || call == "" {
		call = "describeConfigs"
	}
	t.cl, err = t.e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "adminclient-1", call: call})
	if err != nil {
		return fromBroker(err)
	}
	defer t.cl.raw.Close()
	if t.o.has("alter") {
		return t.alter(ctx, changes)
	}
	return t.describe(ctx)
}

// rules are in the order in which Kafka's tool looks.
func (t *configTool) rules() error {
	o := t.o
	if o.has("alter") == o.has("describe") {
		return t.e.usage(configOptions, "Command must include exactly one action: --describe, --alter")
	}
	if err := t.e.exclude(o, "describe", "alter", "add-config", "delete-config"); err != nil {
		return err
	}
	t.readEntities()
	seen := map[string]bool{}
	for _, kind := range t.types {
		if seen[kind] {
			return illegalArgument("Duplicate entity type(s) specified: " + kind)
		}
		seen[kind] = true
	}
	if !o.has("bootstrap-server") {
		return illegalArgument("Either --bootstrap-server or --bootstrap-controller must be specified.")
	}
	for _, kind := range t.types {
		if !slices.Contains(entityTypes, kind) {
			return illegalArgument(fmt.Sprintf("Invalid entity type %s, the entity type must be one of %s with a "+
				"--bootstrap-server or --bootstrap-controller argument", kind, strings.Join(entityTypes, ", ")))
		}
		if _, ok := entityKinds[kind]; !ok {
			return &refusal{"entity-type " + kind, noQuotas}
		}
	}
	switch {
	case len(t.types) == 0:
		return illegalArgument("At least one entity type must be specified")
	case len(t.types) > 1:
		return illegalArgument("Only 'users' and 'clients' entity types may be specified together")
	case (o.has("entity-name") || o.has("entity-type") || o.has("entity-default")) && t.flagged():
		return illegalArgument("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
	}
	if err := o.check("bootstrap-server", "command-config", "add-config", "add-config-file"); err != nil {
		return err
	}
	return t.entityRules()
}

func (t *configTool) entityRules() error {
	o, kind := t.o, t.types[0]
	named := slices.ContainsFunc(t.names, func(n string) bool { return n != "" })
	if named && strings.HasPrefix(kind, "broker") {
		for _, name := range t.names {
			if _, err := strconv.ParseInt(name, 10, 32); err != nil && name != "" {
				return illegalArgument(fmt.Sprintf("The entity name for %s must be a valid integer broker id, but it is: %s", kind, name))
			}
		}
	}
	if o.has("describe") {
		switch {
		case kind != "brokers" && o.has("entity-default"):
			return illegalArgument("--entity-default must not be specified with --describe of " + kind)
		case kind == "broker-loggers" && !named:
			return illegalArgument("An entity name must be specified with --describe of " + kind)
		}
		return nil
	}
	switch {
	case kind == "brokers" && len(t.names) == 0:
		return illegalArgument("An entity-name or default entity must be specified with --alter of users, clients, brokers or ips")
	case kind != "brokers" && !named:
		return illegalArgument("An entity name must be specified with --alter of " + kind)
	case o.has("add-config") && o.has("add-config-file"):
		return illegalArgument("Only one of --add-config or --add-config-file must be specified")
	case !o.has("add-config") && !o.has("add-config-file") && !o.has("delete-config"):
		return illegalArgument("At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter")
	}
	return nil
}

// readEntities reads whose settings are meant, by either way of saying so.
func (t *configTool) readEntities() {
	t.types = slices.Clone(t.o.all("entity-type"))
	names := t.o.all("entity-name")
	for _, given := range t.o.given {
		switch {
		case given == "entity-name" && len(names) > 0:
			t.names, names = append(t.names, names[0]), names[1:]
		case given == "entity-default":
			t.names = append(t.names, "")
		}
	}
	for _, kind := range entityTypes {
		if k, ok := entityKinds[kind]; ok && t.o.has(k.flag) {
			t.types, t.names = append(t.types, kind), append(t.names, t.o.str(k.flag))
		}
	}
	if t.o.has("broker-defaults") {
		t.types, t.names = append(t.types, "brokers"), append(t.names, "")
	}
}

// flagged says whether one of the options that name an entity by themselves was
// given.
func (t *configTool) flagged() bool {
	for _, k := range entityKinds {
		if t.o.has(k.flag) {
			return true
		}
	}
	return t.o.has("broker-defaults")
}

var configKey = regexp.MustCompile(`^[$a-zA-Z0-9._-]*$`)

// changes reads --add-config, --add-config-file and --delete-config.
func (t *configTool) changes() ([]kmsg.IncrementalAlterConfigsRequestResourceConfig, error) {
	set, err := loadProperties(t.o.str("add-config-file"))
	if err != nil {
		return nil, err
	}
	if t.o.has("add-config") {
		for _, pair := range splitOutside(t.o.str("add-config"), ',') {
			parts := splitOutside(pair, '=')
			if len(parts) != 2 {
				return nil, illegalArgument(`requirement failed: Invalid entity config: all configs to be added must be in the format "key=val" or  "key=[val1,val2]" ` +
					`to group values which contain commas.`)
			}
			set[strings.TrimSpace(parts[0])] = strings.TrimSpace(strings.NewReplacer("[", "", "]", "").Replace(parts[1]))
		}
	}
	var out []kmsg.IncrementalAlterConfigsRequestResourceConfig
	for _, name := range t.o.all("delete-config") {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = strings.TrimSpace(name), kmsg.IncrementalAlterConfigOpDelete
		c.Value = kmsg.StringPtr("")
		out = append(out, c)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !configKey.MatchString(name) {
			return nil, illegalArgument("Invalid character found for config key: " + name)
		}
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = name, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(set[name])
		out = append(out, c)
	}
	return out, nil
}

// splitOutside splits at a character outside of square brackets. Empty pieces at
// the end are left out when splitting a list.
func splitOutside(s string, at byte) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '[':
			depth++
		case s[i] == ']':
			depth = max(depth-1, 0)
		case s[i] == at && depth == 0:
			out, from = append(out, s[from:i]), i+1
		}
	}
	out = append(out, s[from:])
	for at == ',' && len(out) > 1 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func (t *configTool) alter(ctx context.Context, changes []kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	kind, name := t.types[0], t.names[0]
	if err := t.deletable(ctx, kind, name); err != nil {
		return err
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.Configs = entityKinds[kind].resource, name, changes
	req.Resources = append(req.Resources, r)
	resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, t.cl, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := brokerFailure(r.ErrorCode, r.ErrorMessage); err != nil {
			return fromBroker(err)
		}
	}
	if name == "" {
		fmt.Fprintf(t.e.Out, "Completed updating default config for %s in the cluster.\n", kind)
	} else {
		fmt.Fprintf(t.e.Out, "Completed updating config for %s %s.\n", strings.TrimSuffix(kind, "s"), name)
	}
	return nil
}

// deletable wants that what shall be deleted was set.
func (t *configTool) deletable(ctx context.Context, kind, name string) error {
	resp, err := t.ask(ctx, kind, name)
	if err != nil {
		return err
	}
	var invalid []string
	for _, key := range t.o.all("delete-config") {
		key = strings.TrimSpace(key)
		if !slices.ContainsFunc(resp.Configs, func(c kmsg.DescribeConfigsResponseResourceConfig) bool {
			return c.Name == key && c.Source == sourceOf(kind, name)
		}) {
			invalid = append(invalid, key)
		}
	}
	if len(invalid) > 0 {
		return &failure{errorsPackage + "InvalidConfigurationException", "Invalid config(s): " + strings.Join(invalid, ",")}
	}
	return nil
}

// sourceOf is where a setting comes from that was made for an entity.
func sourceOf(kind, name string) kmsg.ConfigSource {
	if kind == "brokers" && name == "" {
		return kmsg.ConfigSourceDynamicDefaultBrokerConfig
	}
	return entityKinds[kind].source
}
