package group

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// TestScripts plays testdata/*.script; commands are those of coordtest.Run and
// of parser.parse.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.script")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".script"), func(t *testing.T) {
			coordtest.Run(t, newScript(), path)
		})
	}
}

func newScript() coordtest.Script {
	ids := &names{numbers: make(map[string]string)}
	cfg := DefaultConfig()
	cfg.MaxSize, cfg.Consumer.MaxSize = 4, 4
	cfg.OffsetMetadataMaxBytes = 10
	return coordtest.Script{
		NewShard:   func() coordinator.Shard { return New(cfg) },
		Parse:      (&parser{ids: ids}).parse,
		ShowRecord: func(r coordinator.Record) string { return ids.short(showRecord(r)) },
		ShowReply:  func(r coordinator.Reply) string { return ids.short(showReply(r)) },
		ShowSend:   func(message any) string { return ids.short(showSend(message)) },
		ShowTimer:  func(key any) string { return ids.short(key.(timerKey).String()) },
		ShowState:  func(s coordinator.Shard) string { return ids.short(s.(*Shard).hard()) },
		ShowSoft:   func(s coordinator.Shard) string { return ids.short(s.(*Shard).soft()) },
	}
}

// names writes c-1 for the first member id of client c, and so on. The same seed
// makes the same ids in every run, so the numbers stay.
type names struct {
	numbers map[string]string // By UUID.
}

// uuid is a random UUID, in hexadecimal digits or as Kafka writes its own.
var uuid = regexp.MustCompile(`\b[0-9A-Za-z_]{8}[QRST][0-9A-Za-z_]{13}\b|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

func (n *names) short(s string) string {
	return uuid.ReplaceAllStringFunc(s, func(u string) string {
		if _, ok := n.numbers[u]; !ok {
			n.numbers[u] = strconv.Itoa(len(n.numbers) + 1)
		}
		return n.numbers[u]
	})
}

var shortID = regexp.MustCompile(`^(.*-|)([0-9]+)$`)

// long is the member id that is shown as s.
func (n *names) long(s string) string {
	if m := shortID.FindStringSubmatch(s); m != nil {
		for u, number := range n.numbers {
			if number == m[2] {
				return m[1] + u
			}
		}
	}
	return s
}

// parser makes requests of commands. A command is a word, the group, and
// settings: "join g v=4 protocols=range:a,rr".
type parser struct {
	ids     *names
	cluster Cluster
	set     map[string]string
	err     error
}

func (p *parser) parse(line string) (any, error) {
	words := strings.Fields(line)
	p.set, p.err = make(map[string]string), nil
	var args []string
	for _, w := range words[1:] {
		if name, value, ok := strings.Cut(w, ":="); ok {
			p.set[name] = value
		} else {
			args = append(args, w)
		}
	}
	switch words[0] {
	case "topics-deleted":
		return TopicsDeleted{Names: args}, nil
	case "topics": // From now on the cluster is this: a version, and topics as a=3.
		p.cluster = p.image(args)
		return TopicsDeleted{}, p.err
	case "resolve": // The answer to a Resolve.
		return Resolve{Group: args[0], Regexes: args[1:], Cluster: p.cluster, Visible: p.visible()}.Match(), nil
	}
	body := p.request(words[0], args)
	if body == nil {
		return nil, fmt.Errorf("unknown command %q", words[0])
	}
	client := "c"
	if c, ok := p.set["client"]; ok {
		client = c
	}
	return Request{ClientID: client, ClientHost: "/10.0.0.1", Cluster: p.cluster, Visible: p.visible(), Body: body}, p.err
}

func (p *parser) request(word string, args []string) kmsg.Request {
	group := ""
	if len(args) > 0 && args[0] != "-" {
		group = args[0]
	}
	switch word {
	case "join":
		return p.join(group)
	case "sync":
		return p.sync(group)
	case "beat":
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group = int16(p.num("v", 4)), group
		req.MemberID, req.InstanceID, req.Generation = p.member(), p.optional("instance"), int32(p.num("gen", 1))
		return req
	case "leave":
		return p.leave(group)
	case "save":
		return p.commit(group, args[1:])
	case "fetch":
		return p.fetch(group, args[1:])
	case "forget":
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		for _, a := range args[1:] {
			topic, partition, _ := p.partition(a)
			req.Topics = append(req.Topics, kmsg.OffsetDeleteRequestTopic{
				Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}},
			})
		}
		return req
	case "describe":
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version, req.Groups = int16(p.num("v", 6)), args
		return req
	case "list":
		req := kmsg.NewPtrListGroupsRequest()
		req.Version = 5
		req.StatesFilter, req.TypesFilter = p.list("states"), p.list("types")
		return req
	case "hb":
		return p.consumerBeat(group)
	case "show":
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Version, req.Groups = 1, args
		return req
	case "delete":
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = 2, args
		return req
	}
	return nil
}

func (p *parser) join(group string) kmsg.Request {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group = int16(p.num("v", 9)), group
	req.MemberID, req.InstanceID = p.member(), p.optional("instance")
	req.SessionTimeoutMillis = int32(p.duration("session", 10*time.Second).Milliseconds())
	req.RebalanceTimeoutMillis = int32(p.duration("rebalance", 60*time.Second).Milliseconds())
	req.ProtocolType = "consumer"
	if typ, ok := p.set["type"]; ok {
		req.ProtocolType = typ
	}
	protocols := p.list("protocols")
	if _, ok := p.set["protocols"]; !ok {
		protocols = []string{"range:t"}
	}
	for _, s := range protocols {
		name, topics, _ := strings.Cut(s, ":")
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: subscription(topics)})
	}
	return req
}

// subscription is a consumer's metadata for the topics "a+b", and what it has:
// "a|a/0+1". "!" is damage.
func subscription(topics string) []byte {
	if topics == "!" {
		return []byte{0, 1, 0, 0, 0, 9}
	}
	m := kmsg.NewConsumerMemberMetadata()
	topics, owned, has := strings.Cut(topics, "|")
	if has {
		m.Version = 1
		for _, t := range new(parser).ownedTopics(strings.ReplaceAll(owned, ";", ",")) {
			m.OwnedPartitions = append(m.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topicName(t.TopicID), Partitions: t.Partitions})
		}
	}
	if topics != "" {
		m.Topics = strings.Split(topics, "+")
	}
	return m.AppendTo(nil)
}

func (p *parser) sync(group string) kmsg.Request {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group = int16(p.num("v", 5)), group
	req.MemberID, req.InstanceID, req.Generation = p.member(), p.optional("instance"), int32(p.num("gen", 1))
	if req.Version >= syncNamesProtocol {
		req.ProtocolType, req.Protocol = p.name("type", "consumer"), p.name("protocol", "range")
	}
	for _, a := range p.list("assign") {
		id, parts, _ := strings.Cut(a, ":")
		assignment := []byte(parts)
		if parts, ok := strings.CutPrefix(parts, "@"); ok {
			assignment = p.assignment(parts)
		}
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: p.ids.long(id), MemberAssignment: assignment,
		})
	}
	return req
}

// assignment is a consumer's assignment "a/0+1;b/0", with user data if it ends in !.
func (p *parser) assignment(parts string) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	parts, custom := strings.CutSuffix(parts, "!")
	if custom {
		a.UserData = []byte("x")
	}
	for _, t := range p.ownedTopics(strings.ReplaceAll(parts, ";", ",")) {
		a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topicName(t.TopicID), Partitions: t.Partitions})
	}
	return a.AppendTo(nil)
}

func (p *parser) leave(group string) kmsg.Request {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.MemberID = int16(p.num("v", 5)), group, p.member()
	for _, m := range p.list("members") {
		id, instance, static := strings.Cut(m, "@")
		lm := kmsg.LeaveGroupRequestMember{MemberID: p.ids.long(id)}
		if static {
			lm.InstanceID = &instance
		}
		req.Members = append(req.Members, lm)
	}
	return req
}

// commit parses "t/0=5" and "t/0=5=metadata".
func (p *parser) commit(group string, args []string) kmsg.Request {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = int16(p.num("v", 9)), group
	req.MemberID, req.InstanceID, req.Generation = p.member(), p.optional("instance"), int32(p.num("gen", -1))
	req.RetentionTimeMillis = int64(p.num("retention", -1))
	for _, a := range args {
		topic, partition, rest := p.partition(a)
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = topic
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.LeaderEpoch = partition, int32(p.num("epoch", -1))
		offset, metadata, ok := strings.Cut(rest, "=")
		if ok {
			rp.Metadata = &metadata
		}
		rp.Offset = int64(p.parseInt(offset))
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func (p *parser) fetch(group string, args []string) kmsg.Request {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = int16(p.num("v", 9)), p.set["stable"] != ""
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group = group
	rg.MemberID, rg.MemberEpoch = p.optional("member"), int32(p.num("gen", -1))
	for _, a := range args {
		topic, partition, _ := p.partition(a)
		rg.Topics = append(rg.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{partition}})
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{partition}})
	}
	req.Group, req.Groups = group, []kmsg.OffsetFetchRequestGroup{rg}
	return req
}

func (p *parser) member() string { return p.ids.long(p.set["member"]) }

func (p *parser) optional(name string) *string {
	if v, ok := p.set[name]; ok {
		return &v
	}
	return nil
}

// name is a setting that is null if it is set to nothing.
func (p *parser) name(name, unset string) *string {
	v, ok := p.set[name]
	switch {
	case !ok:
		return &unset
	case v == "":
		return nil
	}
	return &v
}

func (p *parser) list(name string) []string {
	if p.set[name] == "" {
		return nil
	}
	return strings.Split(p.set[name], ",")
}

func (p *parser) num(name string, unset int) int {
	if v, ok := p.set[name]; ok {
		return p.parseInt(v)
	}
	return unset
}

func (p *parser) parseInt(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.err = err
	}
	return n
}

func (p *parser) duration(name string, unset time.Duration) time.Duration {
	v, ok := p.set[name]
	if !ok {
		return unset
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		p.err = err
	}
	return d
}

func (p *parser) partition(s string) (topic string, partition int32, rest string) {
	topic, s, _ = strings.Cut(s, "/")
	number, rest, _ := strings.Cut(s, "=")
	return topic, int32(p.parseInt(number)), rest
}
