package kafkatools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// groupInfo is what is shown of a group, of either protocol.
type groupInfo struct {
	name, state, assignor string
	coordinator           kadm.BrokerDetail
	members               []groupMember
	epoch, targetEpoch    *int32 // Nil with the classic protocol.
}

type groupMember struct {
	id, instance, client, host string
	assigned, target           []topicPartition
	epoch                      *int32
	upgraded                   *bool // Whether it speaks the consumer protocol; nil if that is no question.
}

// describedGroups asks for the groups that the options name, by the consumer
// protocol first and of the rest by the classic one.
func (t *groupTool) describedGroups(ctx context.Context, names []string) (found []groupInfo, err error) {
	err = t.whenCoordinated(ctx, func() error {
		found, err = t.describeOnce(ctx, names)
		return err
	})
	return found, err
}

// whenCoordinated calls f again while the coordinator of a group is not there yet,
// as Kafka's client does: a new cluster makes the topic of the groups when it is
// first asked for one.
func (t *groupTool) whenCoordinated(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, t.cl.timeout)
	defer cancel()
	for {
		err := f()
		if err == nil || !slices.Contains(coordinatorMoves, strings.TrimPrefix(thrown(err).class, errorsPackage)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond): // retry.backoff.ms
		}
	}
}

var coordinatorMoves = []string{"CoordinatorNotAvailableException", "CoordinatorLoadInProgressException", "NotCoordinatorException"}

func (t *groupTool) describeOnce(ctx context.Context, names []string) ([]groupInfo, error) {
	modern, err := t.cl.DescribeConsumerGroups(ctx, names...)
	if err != nil && len(modern) == 0 {
		modern = nil // An older broker.
	}
	var found []groupInfo
	var rest []string
	for _, name := range names {
		if g, ok := modern[name]; ok && g.Err == nil {
			found = append(found, modernGroup(g))
		} else {
			rest = append(rest, name)
		}
	}
	if len(rest) > 0 {
		classic, err := t.cl.DescribeGroups(ctx, rest...)
		if err != nil {
			return nil, err
		}
		for _, name := range rest {
			g := classic[name]
			if known, ok := errors.AsType[*kerr.Error](g.Err); ok {
				return nil, fromBroker(knownFailure(known, &g.ErrMessage))
			}
			if g.Err != nil {
				return nil, g.Err
			}
			found = append(found, classicGroup(g))
		}
	}
	slices.SortFunc(found, func(a, b groupInfo) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func modernGroup(g kadm.DescribedConsumerGroup) groupInfo {
	info := groupInfo{
		name: g.Group, state: g.State, assignor: g.AssignorName, coordinator: g.Coordinator, epoch: &g.Epoch, targetEpoch: &g.AssignmentEpoch,
	}
	for _, m := range g.Members {
		upgraded := m.MemberType == 1
		member := groupMember{
			id: m.MemberID, instance: deref(m.InstanceID, ""), client: m.ClientID, host: m.ClientHost,
			assigned: partitionList(m.Assignment), target: partitionList(m.TargetAssignment), epoch: &m.MemberEpoch,
		}
		if m.MemberType >= 0 {
			member.upgraded = &upgraded
		}
		info.members = append(info.members, member)
	}
	return info
}

func classicGroup(g kadm.DescribedGroup) groupInfo {
	info := groupInfo{name: g.Group, state: g.State, assignor: g.Protocol, coordinator: g.Coordinator}
	for _, m := range g.Members {
		member := groupMember{id: m.MemberID, instance: deref(m.InstanceID, ""), client: m.ClientID, host: m.ClientHost}
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, topic := range a.Topics {
				for _, p := range topic.Partitions {
					member.assigned = append(member.assigned, topicPartition{topic.Topic, p})
				}
			}
		}
		info.members = append(info.members, member)
	}
	return info
}

func partitionList(s kadm.TopicsSet) []topicPartition {
	var out []topicPartition
	for topic, partitions := range s {
		for p := range partitions {
			out = append(out, topicPartition{topic, p})
		}
	}
	return out
}

func (t *groupTool) describe(ctx context.Context) error {
	names, err := t.named(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	groups, err := t.describedGroups(ctx, names)
	if err != nil {
		return err
	}
	for _, g := range groups {
		switch {
		case t.o.has("members"):
			t.printMembers(g)
		case t.o.has("state"):
			t.printState(g)
		default:
			err = t.printOffsets(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// active tells of a group without members or with some on the move, and whether
// there is something to show: rows says how much.
func (t *groupTool) active(g groupInfo, rows int) bool {
	switch g.state {
	case "Dead":
		t.say("Consumer group '%s' does not exist.", g.name)
	case "Empty":
		fmt.Fprintf(t.e.Err, "\nConsumer group '%s' has no active members.\n", g.name)
	case "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling":
		fmt.Fprintf(t.e.Err, "\nWarning: Consumer group '%s' is rebalancing.\n", g.name)
	}
	return g.state != "Dead" && rows > 0
}

func (t *groupTool) printState(g groupInfo) {
	if !t.active(g, 1) {
		return
	}
	coordinator := fmt.Sprintf("%s:%d  (%d)", g.coordinator.Host, g.coordinator.Port, g.coordinator.NodeID)
	row := func(group, coordinator2, strategy, state, epoch, target, members string) {
		fmt.Fprintf(t.e.Out, "\n%-*s %-*s %-20s %-20s ", max(15, len(g.name)), group, max(25, len(coordinator)), coordinator2, strategy, state)
		if t.o.has("verbose") {
			fmt.Fprintf(t.e.Out, "%-15s %-25s ", epoch, target)
		}
		fmt.Fprint(t.e.Out, members)
	}
	row("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS")
	row(g.name, coordinator, cmp.Or(g.assignor, "-"), g.state, orDash(g.epoch), orDash(g.targetEpoch), strconv.Itoa(len(g.members)))
	fmt.Fprintln(t.e.Out)
}

// orDash is a value, or a dash for none.
func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

func (t *groupTool) printMembers(g groupInfo) {
	w := struct{ group, id, instance, host, client, current, target int }{15, 15, 17, 15, 15, 20, 20}
	instances, classic, modern := false, false, false
	if t.active(g, len(g.members)) {
		for _, m := range g.members {
			w.group, w.id, w.instance = max(w.group, len(g.name)), max(w.id, len(m.id)), max(w.instance, len(m.instance))
			w.host, w.client = max(w.host, len(m.host)), max(w.client, len(m.client))
			w.current, w.target = max(w.current, len(assignment(m.assigned))), max(w.target, len(assignment(m.target)))
			instances = instances || m.instance != ""
			classic, modern = classic || m.upgraded != nil && !*m.upgraded, modern || m.upgraded != nil && *m.upgraded
		}
	}
	row := func(group, id, instance, host, client, partitions string, more ...string) {
		fmt.Fprintf(t.e.Out, "%-*s %-*s ", w.group, group, w.id, id)
		if instances {
			fmt.Fprintf(t.e.Out, "%-*s ", w.instance, instance)
		}
		fmt.Fprintf(t.e.Out, "%-*s %-*s %-15s ", w.host, host, w.client, client, partitions)
		if t.o.has("verbose") {
			fmt.Fprintf(t.e.Out, "%-15s %-*s %-15s %-*s", more[0], w.current, more[1], more[2], w.target, more[3])
			if classic && modern {
				fmt.Fprint(t.e.Out, " ", more[4])
			}
		}
		fmt.Fprintln(t.e.Out)
	}
	fmt.Fprintln(t.e.Out)
	row("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS",
		"CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED")
	for _, m := range g.members {
		row(g.name, m.id, m.instance, m.host, m.client, strconv.Itoa(len(m.assigned)),
			orDash(m.epoch), assignment(m.assigned), orDash(g.targetEpoch), assignment(m.target), orDash(m.upgraded))
	}
}

// assignment is a list of partitions as TOPIC:PARTITION,PARTITION;TOPIC:PARTITION.
func assignment(partitions []topicPartition) string {
	if len(partitions) == 0 {
		return "-"
	}
	byTopic := map[string][]int32{}
	for _, p := range partitions {
		byTopic[p.Topic] = append(byTopic[p.Topic], p.Partition)
	}
	var out []string
	for topic, numbers := range byTopic {
		slices.Sort(numbers)
		out = append(out, topic+":"+commaed(numbers))
	}
	slices.Sort(out)
	return strings.Join(out, ";")
}

// offsetRow is a line of --describe.
type offsetRow struct {
	p       topicPartition
	epoch   *int32
	at, end *int64
	id      string
	host    string
	client  string
	lag     *int64
}

func (t *groupTool) printOffsets(ctx context.Context, g groupInfo) error {
	rows, err := t.offsetRows(ctx, g)
	if err != nil {
		return err
	}
	if !t.active(g, len(rows)) {
		return nil
	}
	w := struct{ group, topic, id, host int }{max(15, len(g.name)), 15, 15, 15}
	for _, r := range rows {
		w.topic, w.id, w.host = max(w.topic, len(r.p.Topic)), max(w.id, len(r.id)), max(w.host, len(r.host))
	}
	line := func(group, topic, partition, epoch, at, end, lag, id, host, client string) {
		fmt.Fprintf(t.e.Out, "\n%-*s %-*s %-10s ", w.group, group, w.topic, topic, partition)
		if t.o.has("verbose") {
			fmt.Fprintf(t.e.Out, "%-15s ", epoch)
		}
		fmt.Fprintf(t.e.Out, "%-15s %-15s %-15s %-*s %-*s %s", at, end, lag, w.id, id, w.host, host, client)
	}
	line("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
	for _, r := range rows {
		line(g.name, r.p.Topic, strconv.Itoa(int(r.p.Partition)), orDash(r.epoch), orDash(r.at), orDash(r.end), orDash(r.lag), r.id, r.host, r.client)
	}
	fmt.Fprintln(t.e.Out)
	return nil
}

// offsetRows are the partitions of each member, those with the most first, and then
// what was committed for partitions that no member has.
func (t *groupTool) offsetRows(ctx context.Context, g groupInfo) ([]offsetRow, error) {
	committed, err := t.cl.FetchOffsets(ctx, g.name)
	if err != nil {
		return nil, err
	}
	members := slices.Clone(g.members)
	slices.SortStableFunc(members, func(a, b groupMember) int { return cmp.Compare(len(b.assigned), len(a.assigned)) })
	free := map[topicPartition]bool{}
	for topic, partitions := range committed {
		for p, c := range partitions {
			if c.At >= 0 {
				free[topicPartition{topic, p}] = true
			}
		}
	}
	var rows []offsetRow
	add := func(partitions []topicPartition, id, host, client string) {
		slices.SortFunc(partitions, topicPartition.compare)
		for _, p := range partitions {
			delete(free, p)
			r := offsetRow{p: p, id: id, host: host, client: client}
			if c, ok := committed.Lookup(p.Topic, p.Partition); ok && c.At >= 0 {
				r.at = &c.At
				if c.LeaderEpoch >= 0 {
					r.epoch = &c.LeaderEpoch
				}
			}
			rows = append(rows, r)
		}
	}
	for _, m := range members {
		add(slices.Clone(m.assigned), m.id, m.host, m.client)
	}
	add(slices.Collect(maps.Keys(free)), "-", "-", "-")
	if len(rows) == 0 {
		return nil, nil
	}
	partitions := make([]topicPartition, len(rows))
	for i, r := range rows {
		partitions[i] = r.p
	}
	ends, err := t.cl.offsetsAt(ctx, partitions, latest)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if end, ok := ends[rows[i].p]; ok && end.err == nil {
			rows[i].end = &end.offset
			if rows[i].at != nil {
				lag := end.offset - *rows[i].at
				rows[i].lag = &lag
			}
		}
	}
	return rows, nil
}
