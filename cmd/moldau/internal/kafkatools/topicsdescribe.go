package kafkatools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicDescription is what kafka-topics shows of a topic.
type topicDescription struct {
	name       string
	id         [16]byte
	partitions []partitionDescription
	configs    []kmsg.DescribeConfigsResponseResourceConfig
}

type partitionDescription struct {
	number, leader   int32 // leader is -1 if there is none.
	replicas, isr    []int32
	elr, lastELR     []int32
	withoutELR       bool // The broker did not say.
	reassigned       bool
	adding, removing []int32
	leaderIsAlive    bool
	minInsync        int
}

func (t *topicTool) describe(ctx context.Context) error {
	if err := t.o.check("topic-id", "topic", "partition-size-limit-per-response"); err != nil {
		return err
	}
	described, err := t.described(ctx)
	if err != nil {
		return err
	}
	if err := t.addConfigs(ctx, described); err != nil {
		return err
	}
	if err := t.addReassignments(ctx, described); err != nil {
		return err
	}
	reports := slices.ContainsFunc(topicReports, t.o.has)
	for _, d := range described {
		minInsync := 1
		for _, c := range d.configs {
			if c.Name == "min.insync.replicas" && c.Value != nil {
				minInsync, _ = strconv.Atoi(*c.Value)
			}
		}
		if !reports {
			t.printTopic(d)
		}
		for _, p := range d.partitions {
			p.minInsync = minInsync
			if !t.o.has("topics-with-overrides") && (!reports || t.reported(p)) {
				t.printPartition(d.name, p)
			}
		}
	}
	return nil
}

// reported says whether one of the reports that were asked for is about p.
func (t *topicTool) reported(p partitionDescription) bool {
	return t.o.has("under-replicated-partitions") && p.factor() > len(p.isr) ||
		t.o.has("unavailable-partitions") && !p.leaderIsAlive ||
		t.o.has("under-min-isr-partitions") && (p.leader < 0 || len(p.isr) < p.minInsync) ||
		t.o.has("at-min-isr-partitions") && len(p.isr) == p.minInsync
}

// factor is how many replicas there are when reassignment is done.
func (p partitionDescription) factor() int {
	if p.reassigned {
		return len(p.replicas) - len(p.adding)
	}
	return len(p.replicas)
}

func (t *topicTool) printTopic(d *topicDescription) {
	var own []string
	for _, c := range d.configs {
		if c.Source != kmsg.ConfigSourceDefaultConfig {
			own = append(own, c.Name+"="+deref(c.Value, "null"))
		}
	}
	if len(own) == 0 && t.o.has("topics-with-overrides") || len(d.partitions) == 0 {
		return
	}
	fmt.Fprintf(t.e.Out, "Topic: %s\tTopicId: %s\tPartitionCount: %d\tReplicationFactor: %d\tConfigs: %s\n",
		d.name, base64ID(d.id), len(d.partitions), d.partitions[0].factor(), strings.Join(own, ","))
}

func (t *topicTool) printPartition(topic string, p partitionDescription) {
	leader := "none"
	if p.leader >= 0 {
		leader = strconv.Itoa(int(p.leader))
	}
	fmt.Fprintf(t.e.Out, "\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s", topic, p.number, leader, commaed(p.replicas), commaed(p.isr))
	if p.reassigned {
		fmt.Fprintf(t.e.Out, "\tAdding Replicas: %s\tRemoving Replicas: %s", commaed(p.adding), commaed(p.removing))
	}
	elr, last := commaed(p.elr), commaed(p.lastELR)
	if p.withoutELR {
		elr, last = "N/A", "N/A"
	}
	fmt.Fprintf(t.e.Out, "\tElr: %s\tLastKnownElr: %s\n", elr, last)
}

func commaed(ids []int32) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strconv.Itoa(int(id))
	}
	return strings.Join(out, ",")
}

func deref(s *string, without string) string {
	if s == nil {
		return without
	}
	return *s
}

// described asks for the topics that were named, by id or by name.
func (t *topicTool) described(ctx context.Context) ([]*topicDescription, error) {
	if id := t.o.str("topic-id"); id != "" {
		parsed, err := parseID(id)
		if err != nil {
			return nil, err
		}
		if parsed != [16]byte{} {
			return t.describedByID(ctx, id, parsed)
		}
	}
	names, err := t.existing(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	found, err := t.describedByName(ctx, names)
	if notServed(err) {
		return t.describedByMetadata(ctx, names)
	}
	return found, err
}

func (t *topicTool) describedByID(ctx context.Context, given string, id [16]byte) ([]*topicDescription, error) {
	if err := t.connect(ctx, "listTopics"); err != nil {
		return nil, err
	}
	all, err := t.cl.ListTopicsWithInternal(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if d.ID == id && !(t.o.has("exclude-internal") && (d.IsInternal || isInternalTopic(d.Topic))) {
			return t.describedByMetadata(ctx, []string{d.Topic})
		}
	}
	if t.o.has("if-exists") {
		return nil, nil
	}
	return nil, illegalArgument(fmt.Sprintf("TopicId '%s' does not exist as expected", given))
}

// describedByName asks with DescribeTopicPartitions, which alone tells of the
// eligible leaders, page by page.
func (t *topicTool) describedByName(ctx context.Context, names []string) ([]*topicDescription, error) {
	alive, err := t.liveBrokers(ctx)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = int32(t.o.num("partition-size-limit-per-response", 2000))
	for _, name := range names {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}
	byName := map[string]*topicDescription{}
	var found []*topicDescription
	for {
		resp, err := ask[*kmsg.DescribeTopicPartitionsResponse](ctx, t.cl, req)
		if err != nil {
			return nil, err
		}
		for _, rt := range resp.Topics {
			if err := brokerFailure(rt.ErrorCode, nil); err != nil {
				return nil, err
			}
			name := deref(rt.Topic, "")
			d := byName[name]
			if d == nil {
				d = &topicDescription{name: name, id: rt.TopicID}
				byName[name], found = d, append(found, d)
			}
			for _, p := range rt.Partitions {
				d.partitions = append(d.partitions, partitionDescription{
					number: p.Partition, leader: p.LeaderID, replicas: p.Replicas, isr: p.ISR,
					elr: p.EligibleLeaderReplicas, lastELR: p.LastKnownELR, leaderIsAlive: alive[p.LeaderID],
				})
			}
		}
		if resp.NextCursor == nil {
			return sorted(found), nil
		}
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &cursor
		req.Topics = slices.DeleteFunc(req.Topics, func(rt kmsg.DescribeTopicPartitionsRequestTopic) bool { return rt.Topic < cursor.Topic })
	}
}

func (t *topicTool) liveBrokers(ctx context.Context) (map[int32]bool, error) {
	brokers, err := t.cl.ListBrokers(ctx)
	if err != nil {
		return nil, err
	}
	alive := map[int32]bool{}
	for _, b := range brokers {
		alive[b.NodeID] = true
	}
	return alive, nil
}

// describedByMetadata asks with Metadata, as one must by id and of older brokers.
func (t *topicTool) describedByMetadata(ctx context.Context, names []string) ([]*topicDescription, error) {
	alive, err := t.liveBrokers(ctx)
	if err != nil {
		return nil, err
	}
	all, err := t.cl.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	var found []*topicDescription
	for _, rt := range all {
		if rt.Err != nil {
			return nil, rt.Err
		}
		d := &topicDescription{name: rt.Topic, id: rt.ID}
		for _, p := range rt.Partitions.Sorted() {
			d.partitions = append(d.partitions, partitionDescription{
				number: p.Partition, leader: p.Leader, replicas: p.Replicas, isr: p.ISR, withoutELR: true, leaderIsAlive: alive[p.Leader],
			})
		}
		found = append(found, d)
	}
	return sorted(found), nil
}

// sorted orders topics by name and their partitions by number. Kafka's tool leaves
// the topics in the order of a hash map.
func sorted(found []*topicDescription) []*topicDescription {
	slices.SortFunc(found, func(a, b *topicDescription) int { return strings.Compare(a.name, b.name) })
	for _, d := range found {
		slices.SortFunc(d.partitions, func(a, b partitionDescription) int { return cmp.Compare(a.number, b.number) })
	}
	return found
}

// addConfigs asks for the settings of the topics.
func (t *topicTool) addConfigs(ctx context.Context, described []*topicDescription) error {
	if len(described) == 0 {
		return nil
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, d := range described {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, d.name
		req.Resources = append(req.Resources, r)
	}
	resp, err := ask[*kmsg.DescribeConfigsResponse](ctx, t.cl, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := brokerFailure(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
		for _, d := range described {
			if d.name == r.ResourceName {
				d.configs = r.Configs
			}
		}
	}
	return nil
}

// addReassignments asks which partitions are moving. Brokers that do not say so
// have none.
func (t *topicTool) addReassignments(ctx context.Context, described []*topicDescription) error {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	for _, d := range described {
		rt := kmsg.NewListPartitionReassignmentsRequestTopic()
		rt.Topic = d.name
		for _, p := range d.partitions {
			rt.Partitions = append(rt.Partitions, p.number)
		}
		req.Topics = append(req.Topics, rt)
	}
	if len(described) == 0 {
		return nil
	}
	resp, err := ask[*kmsg.ListPartitionReassignmentsResponse](ctx, t.cl, req)
	if notServed(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := brokerFailure(resp.ErrorCode, resp.ErrorMessage); err != nil {
		if resp.ErrorCode == kerr.ClusterAuthorizationFailed.Code {
			return nil
		}
		return err
	}
	for _, rt := range resp.Topics {
		for _, d := range described {
			for i := range d.partitions {
				p := &d.partitions[i]
				for _, moving := range rt.Partitions {
					if d.name == rt.Topic && p.number == moving.Partition {
						p.reassigned, p.adding, p.removing = true, moving.AddingReplicas, moving.RemovingReplicas
					}
				}
			}
		}
	}
	return nil
}
