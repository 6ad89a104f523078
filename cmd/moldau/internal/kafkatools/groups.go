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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

var groupOptions = []option{
	bootstrapServer,
	{name: "group", arity: argument, help: "The group; may be repeated."},
	{name: "topic", arity: argument, help: "TOPIC or TOPIC:PARTITION[,...]; may be repeated."},
	{name: "all-topics", help: "With --reset-offsets: all that the group has committed."},
	{name: "list", help: "List groups."},
	{name: "describe", help: "Show groups and how far they lag."},
	{name: "all-groups", help: "All groups."},
	{name: "delete", help: "Delete groups that have no members."},
	{name: "timeout", arity: argument, kind: long, help: "How long a request may take, in ms."},
	adminConfig,
	{name: "reset-offsets", help: "Move a group that has no members."},
	{name: "delete-offsets", help: "Delete what a group has committed for topics."},
	{name: "dry-run", help: "With --reset-offsets: only show, which is the default."},
	{name: "execute", help: "With --reset-offsets: do it."},
	{name: "export", help: "With --reset-offsets: print it as CSV."},
	{name: "to-offset", arity: argument, kind: long, help: "Move to this offset."},
	{name: "from-file", arity: argument, help: "Move to the offsets of a CSV file: TOPIC,PARTITION,OFFSET, with several groups GROUP in front."},
	{name: "to-datetime", arity: argument, help: "Move to a time, YYYY-MM-DDThh:mm:ss.sss."},
	{name: "by-duration", arity: argument, help: "Move to so long ago, PnDTnHnMnS."},
	{name: "to-earliest", help: "Move to the beginning."},
	{name: "to-latest", help: "Move to the end."},
	{name: "to-current", help: "Stay where it is."},
	{name: "shift-by", arity: argument, kind: long, help: "Move by so many offsets."},
	{name: "members", help: "With --describe: the members."},
	{name: "verbose", help: "With --describe: more columns."},
	{name: "offsets", help: "With --describe: the offsets, which is the default."},
	{name: "state", arity: optional, help: "With --describe or --list: the state; with --list STATE[,...]: only such."},
	{name: "type", arity: optional, help: "With --list: the type; TYPE[,...]: only such."},
	{name: "validate-regex", arity: argument, help: "Look whether a regular expression is one."},
}

var groupActions = []string{"list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex"}

var resetScenarios = []string{
	"to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "shift-by", "from-file",
}

// groupTool is one call of kafka-consumer-groups.
type groupTool struct {
	e  *Env
	o  *options
	cl *cluster
}

// consumerGroups is kafka-consumer-groups. What fails while it works does not
// change its exit code, as it does not Kafka's.
func consumerGroups(ctx context.Context, e *Env, args []string) error {
	o, err := parseOptions(groupOptions, args)
	if err != nil {
		return e.javaException(err)
	}
	t := &groupTool{e: e, o: o}
	if err := t.rules(args); err != nil {
		return e.javaException(err)
	}
	if o.has("validate-regex") {
		t.validateRegex()
		return nil
	}
	err = t.run(ctx)
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	f := thrown(err)
	if f.class == "java.lang.IllegalArgumentException" {
		return e.usage(groupOptions, "%s", f.message)
	}
	message, trace := f.message, f.String()
	if _, ok := errors.AsType[*brokerError](err); ok {
		message, trace = f.String(), "java.util.concurrent.ExecutionException: "+f.String()
	}
	fmt.Fprintf(e.Out, "\nError: Executing consumer group command failed due to %s\n", message)
	fmt.Fprintln(e.Err, trace)
	return nil
}

func (t *groupTool) validateRegex() {
	expr := t.o.str("validate-regex")
	if _, err := regexp.Compile(expr); err != nil {
		fmt.Fprintf(t.e.Out, "The regular expression `%s` is invalid: %v.\n", expr, err)
		return
	}
	fmt.Fprintf(t.e.Out, "The regular expression `%s` is valid.\n", expr)
}

// rules are in the order in which Kafka's tool looks.
func (t *groupTool) rules(args []string) error {
	e, o := t.e, t.o
	var unavailable []string
	for _, r := range []struct {
		name string
		with []string // One of these has to be there, too.
	}{
		{"members", []string{"describe"}},
		{"offsets", []string{"describe"}},
		{"state", []string{"describe", "list"}},
		{"verbose", []string{"describe"}},
		{"type", []string{"list"}},
	} {
		if o.has(r.name) && o.countOf(r.with...) == 0 {
			unavailable = append(unavailable, r.name)
		}
	}
	if len(unavailable) > 0 && !o.has("help") && !o.has("version") {
		return optionError("UnavailableOptionException", "Option(s) [%s] are unavailable given other options on the command line",
			strings.Join(unavailable, ", "))
	}
	if err := e.helpOrVersion(o, args, "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset consumer group offsets."); err != nil {
		return err
	}
	if !o.has("validate-regex") {
		if err := e.require(o, "bootstrap-server"); err != nil {
			return err
		}
	}
	grouped := o.has("group") || o.has("all-groups")
	switch {
	case o.has("describe") && !grouped:
		return e.usage(groupOptions, "Option [describe] takes one of these options: [group], [all-groups]")
	case o.has("describe") && o.countOf("members", "offsets", "state") > 1:
		return e.usage(groupOptions, "Option [describe] takes at most one of these options: [members], [offsets], [state]")
	case o.has("describe") && o.str("state") != "":
		return e.usage(groupOptions, "Option [describe] does not take a value for [state]")
	case o.has("delete") && !grouped:
		return e.usage(groupOptions, "Option [delete] takes one of these options: [group], [all-groups]")
	case o.has("delete") && o.has("topic"):
		return e.usage(groupOptions, "The consumer does not support topic-specific offset deletion from a consumer group.")
	case o.has("delete-offsets") && (!o.has("group") || !o.has("topic")):
		return e.usage(groupOptions, "Option [delete-offsets] takes the following options: [group], [topic]")
	}
	if err := t.resetRules(); err != nil {
		return err
	}
	if o.countOf(groupActions...) != 1 {
		return e.usage(groupOptions, "Command must include exactly one action: --%s", strings.Join(groupActions, ", --"))
	}
	return nil
}

func (t *groupTool) resetRules() error {
	e, o := t.e, t.o
	if o.has("reset-offsets") {
		if o.has("dry-run") && o.has("execute") {
			return e.usage(groupOptions, "Option [reset-offsets] only accepts one of [execute] and [dry-run]")
		}
		if !o.has("dry-run") && !o.has("execute") {
			fmt.Fprintln(e.Err, "WARN: No action will be performed as the --execute option is missing. "+
				"In version 5.0, this command will require either --dry-run or --execute to be specified. "+
				"You should add the --dry-run option explicitly if you are scripting this command and want to keep the current default behavior without prompting.")
		}
		if !o.has("group") && !o.has("all-groups") {
			return e.usage(groupOptions, "Option [reset-offsets] takes one of these options: [group], [all-groups]")
		}
		for _, s := range resetScenarios {
			if err := e.exclude(o, s, slices.DeleteFunc(slices.Clone(resetScenarios), func(other string) bool { return other == s })...); err != nil {
				return err
			}
		}
	}
	for _, r := range [][]string{{"group", "all-groups"}, {"group", "list"}, {"topic", "list", "describe"}} {
		if err := e.exclude(o, r[0], r[1:]...); err != nil {
			return err
		}
	}
	return nil
}

func (t *groupTool) run(ctx context.Context) error {
	o := t.o
	if err := o.check("bootstrap-server", "command-config", "timeout", "to-offset", "shift-by", "to-datetime", "by-duration", "from-file", "state", "type"); err != nil {
		return err
	}
	settings, err := loadProperties(o.str("command-config"))
	if err != nil {
		return err
	}
	if o.has("timeout") || settings["default.api.timeout.ms"] == "" {
		settings["default.api.timeout.ms"] = strconv.FormatInt(o.num("timeout", 30000), 10)
	}
	seeds, err := t.e.seeds(ctx, o.str("bootstrap-server"))
	if err != nil {
		return notCreated(noAdminClient)
	}
	types, states, err := t.filters()
	if err != nil {
		return err
	}
	t.cl, err = t.e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "adminclient-1", call: "listGroups"})
	if err != nil {
		if o.has("list") || o.has("all-groups") {
			return kafkaException("java.util.concurrent.ExecutionException: org.apache.kafka.common.KafkaException: Failed to find brokers to send ListGroups")
		}
		return fromBroker(err)
	}
	defer t.cl.raw.Close()
	switch {
	case o.has("list"):
		return t.list(ctx, types, states)
	case o.has("describe"):
		return t.describe(ctx)
	case o.has("delete"):
		return t.delete(ctx)
	case o.has("delete-offsets"):
		return t.deleteOffsets(ctx)
	}
	return t.reset(ctx)
}

// filters reads the values of --state and --type.
func (t *groupTool) filters() (types, states []string, err error) {
	for item := range strings.SplitSeq(t.o.str("state"), ",") {
		item = strings.TrimSpace(item)
		if t.o.str("state") == "" {
			break
		}
		i := slices.IndexFunc(groupStates, func(s string) bool { return strings.EqualFold(s, item) })
		if i < 0 {
			return nil, nil, illegalArgument(fmt.Sprintf("Invalid state list '%s'. Valid states are: %s", t.o.str("state"), strings.Join(groupStates, ", ")))
		}
		states = append(states, groupStates[i])
	}
	for item := range strings.SplitSeq(t.o.str("type"), ",") {
		item = strings.TrimSpace(item)
		if t.o.str("type") == "" {
			break
		}
		i := slices.IndexFunc(groupTypes, func(s string) bool { return strings.EqualFold(s, item) })
		if i < 0 {
			return nil, nil, illegalArgument(fmt.Sprintf("Invalid types list '%s'. Valid types are: %s", strings.ToLower(t.o.str("type")), strings.Join(groupTypes, ", ")))
		}
		types = append(types, groupTypes[i])
	}
	return types, states, nil
}

var (
	groupStates = []string{"PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling"}
	groupTypes  = []string{"Classic", "Consumer"}
)

// listed are the consumer groups: those whose members are consumers, or that were
// never more than offsets.
func (t *groupTool) listed(ctx context.Context, types, states []string) ([]kadm.ListedGroup, error) {
	all, err := t.cl.ListGroupsByType(ctx, types, states...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all.Sorted(), func(g kadm.ListedGroup) bool {
		return g.ProtocolType != "consumer" && g.ProtocolType != "" || g.GroupType != "" && !slices.Contains(groupTypes, capital(g.GroupType))
	}), nil
}

// capital is a group's type as Kafka's tools write it.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
}

func (t *groupTool) list(ctx context.Context, types, states []string) error {
	groups, err := t.listed(ctx, types, states)
	if err != nil {
		return err
	}
	width := 15
	for _, g := range groups {
		width = max(width, len(g.Group))
	}
	line := func(group, kind, state string) {
		if !t.o.has("type") && !t.o.has("state") {
			if kind != "TYPE" {
				fmt.Fprintln(t.e.Out, group)
			}
			return
		}
		fmt.Fprintf(t.e.Out, "%-*s", width+10, group)
		if t.o.has("type") {
			fmt.Fprintf(t.e.Out, " %-20s", kind)
		}
		if t.o.has("state") {
			fmt.Fprintf(t.e.Out, " %-20s", state)
		}
		fmt.Fprintln(t.e.Out)
	}
	line("GROUP", "TYPE", "STATE")
	for _, g := range groups {
		line(g.Group, capital(g.GroupType), g.State)
	}
	return nil
}

// named are the groups that the options name, or all.
func (t *groupTool) named(ctx context.Context) ([]string, error) {
	if !t.o.has("all-groups") {
		names := slices.Clone(t.o.all("group"))
		slices.Sort(names)
		return slices.Compact(names), nil
	}
	groups, err := t.listed(ctx, nil, nil)
	var names []string
	for _, g := range groups {
		names = append(names, g.Group)
	}
	return names, err
}

// say prints an error as this tool does: on standard output, after an empty line.
func (t *groupTool) say(format string, args ...any) {
	fmt.Fprintf(t.e.Out, "\nError: "+format+"\n", args...)
}

func (t *groupTool) delete(ctx context.Context) error {
	names, err := t.named(ctx)
	if err != nil {
		return err
	}
	var resps kadm.DeleteGroupResponses
	if err := t.whenCoordinated(ctx, func() (err error) {
		if resps, err = t.cl.DeleteGroups(ctx, names...); err == nil && len(names) == 1 {
			err = resps[names[0]].Err
		}
		return err
	}); err != nil && len(resps) == 0 {
		return err
	}
	var done []string
	failed := map[string]error{}
	for _, name := range names {
		if r := resps[name]; r.Err != nil {
			failed[name] = r.Err
		} else {
			done = append(done, "'"+name+"'")
		}
	}
	if len(failed) == 0 {
		fmt.Fprintf(t.e.Out, "Deletion of requested consumer groups (%s) was successful.\n", strings.Join(done, ", "))
		return nil
	}
	t.say("Deletion of some consumer groups failed:")
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(t.e.Out, "* Group '%s' could not be deleted due to: %s\n", name, thrown(failed[name]).String())
	}
	if len(done) > 0 {
		fmt.Fprintf(t.e.Out, "\nThese consumer groups were deleted successfully: %s\n", strings.Join(done, ", "))
	}
	return nil
}

// deleteOffsets deletes what a group has committed.
func (t *groupTool) deleteOffsets(ctx context.Context) error {
	if err := t.o.check("group"); err != nil {
		return err
	}
	group := t.o.str("group")
	outcome := map[topicPartition]error{}
	partitions, err := t.partitionsOf(ctx, t.o.all("topic"), func(topic string, err error) error {
		outcome[topicPartition{topic, -1}] = err
		return nil
	})
	if err != nil {
		return err
	}
	set := kadm.TopicsSet{}
	for _, p := range partitions {
		set.Add(p.Topic, p.Partition)
	}
	var resps kadm.DeleteOffsetsResponses
	top := t.whenCoordinated(ctx, func() (err error) {
		resps, err = t.cl.DeleteOffsets(ctx, group, set)
		return err
	})
	for _, p := range partitions {
		err := top
		if top == nil {
			err, _ = resps.Lookup(p.Topic, p.Partition)
		}
		outcome[p] = err
	}
	return t.printDeleted(group, outcome)
}

// printDeleted tells what became of each partition.
func (t *groupTool) printDeleted(group string, outcome map[topicPartition]error) error {
	var first error
	width := 15
	parts := slices.SortedFunc(maps.Keys(outcome), func(a, b topicPartition) int {
		return strings.Compare(fmt.Sprint(a.Topic, a.Partition), fmt.Sprint(b.Topic, b.Partition))
	})
	for _, p := range parts {
		width = max(width, len(p.Topic))
		if p.Partition >= 0 && first == nil {
			first = outcome[p]
		}
	}
	switch {
	case first == nil:
		fmt.Fprintf(t.e.Out, "Request succeeded for deleting offsets from group %s.\n", group)
	case errors.Is(first, kerr.GroupIDNotFound), errors.Is(first, kerr.InvalidGroupID), errors.Is(first, kerr.NonEmptyGroup), errors.Is(first, kerr.GroupAuthorizationFailed):
		t.say("%s", thrown(first).message)
	case errors.Is(first, kerr.GroupSubscribedToTopic), errors.Is(first, kerr.TopicAuthorizationFailed), errors.Is(first, kerr.UnknownTopicOrPartition):
		t.say("Encountered some partition-level error, see the follow-up details.")
	default:
		t.say("Encountered some unknown error: %v", first)
	}
	row := func(topic, partition, status string) {
		fmt.Fprintf(t.e.Out, "\n%-*s %-10s %-15s", width, topic, partition, status)
	}
	row("TOPIC", "PARTITION", "STATUS")
	for _, p := range parts {
		status, number := "Successful", "-"
		if err := outcome[p]; err != nil {
			status = "Error: " + thrown(err).String()
		}
		if p.Partition >= 0 {
			number = strconv.Itoa(int(p.Partition))
		}
		row(p.Topic, number, status)
	}
	fmt.Fprintln(t.e.Out)
	return nil
}
