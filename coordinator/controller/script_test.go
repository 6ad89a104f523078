package controller

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// TestScripts plays testdata/*.txt. The commands are those of coordtest and
//
//	register ID RUN [clean]           a broker's incarnation registers
//	beat ID [fence] [stop] [at=N]     its heartbeat, at the end of the log unless told
//	create NAME COUNT FACTOR [K=V...] a topic; COUNT 1:2,2:1 assigns its replicas
//	delete NAME
//	isr NAME-N ID[,ID]                the leader proposes an ISR
//	move NAME-N ID[,ID]               a reassignment; none cancels
//	set NAME K=V
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			play := &scripted{}
			coordtest.Run(t, coordtest.Script{
				NewShard:   play.newShard,
				Parse:      play.parse,
				ShowRecord: play.showRecord,
				ShowReply:  showReply,
				ShowTimer:  func(key any) string { return strings.TrimPrefix(fmt.Sprintf("%T%+v", key, key), "controller.") },
				ShowState:  play.showState,
			}, path)
		})
	}
}

// scripted reads commands against the shard that was made last.
type scripted struct {
	shard *Shard
}

func (p *scripted) newShard() coordinator.Shard {
	p.shard = New(Config{ClusterID: testCluster, NodeID: 1, Schema: Schema{}})
	return p.shard
}

func ids(s string) []int32 {
	var out []int32
	for part := range strings.SplitSeq(s, ",") {
		n, _ := strconv.Atoi(part)
		out = append(out, int32(n))
	}
	return out
}

func (p *scripted) parse(command string) (any, error) {
	w := strings.Fields(command)
	arg := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	id, _ := strconv.Atoi(arg(1))
	switch w[0] {
	case "register":
		run, _ := strconv.Atoi(arg(2))
		req := registration(int32(id), byte(run))
		if b, ok := p.shard.brokers.Get(int32(id)); ok && arg(3) == "clean" {
			req.PreviousBrokerEpoch = b.Epoch
		}
		return Request{Body: req}, nil
	case "beat":
		return Request{Body: p.beat(int32(id), w[2:])}, nil
	case "create":
		return Request{Body: createRequest(scriptTopic(w))}, nil
	case "delete":
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = 5, []string{arg(1)}
		return Request{Body: req}, nil
	case "set":
		key, value, _ := strings.Cut(arg(2), "=")
		return Request{Body: editRequest(KindTopic, arg(1), edit{key, 0, value})}, nil
	case "isr", "move":
		return p.partitionRequest(w)
	}
	return nil, fmt.Errorf("no command %q", command)
}

func (p *scripted) beat(id int32, words []string) kmsg.Request {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version, req.BrokerID, req.CurrentMetadataOffset = 1, id, p.shard.end-1
	if b, ok := p.shard.brokers.Get(id); ok {
		req.BrokerEpoch = b.Epoch
	}
	req.WantFence, req.WantShutdown = slices.Contains(words, "fence"), slices.Contains(words, "stop")
	for _, word := range words {
		if at, ok := strings.CutPrefix(word, "at="); ok {
			req.CurrentMetadataOffset, _ = strconv.ParseInt(at, 10, 64)
		}
	}
	return req
}

func scriptTopic(w []string) kmsg.CreateTopicsRequestTopic {
	factor, _ := strconv.Atoi(w[3])
	count, err := strconv.Atoi(w[2])
	if err == nil {
		return newTopic(w[1], int32(count), int16(factor), w[4:]...)
	}
	t := newTopic(w[1], -1, -1, w[4:]...)
	for i, replicas := range strings.Split(w[2], ";") {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), ids(strings.ReplaceAll(replicas, ":", ","))
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func (p *scripted) partitionRequest(w []string) (any, error) {
	name, number, _ := strings.Cut(w[1], "-")
	n, _ := strconv.Atoi(number)
	t, ok := p.shard.topics.Get(name)
	if !ok || n >= len(t.Partitions) {
		return nil, fmt.Errorf("no partition %s", w[1])
	}
	part := t.Partitions[n]
	if w[0] == "move" {
		var to []int32
		if len(w) > 2 {
			to = ids(w[2])
		}
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
			Topic: name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: part.ID, Replicas: to}},
		}}
		return Request{Body: req}, nil
	}
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.Partition, rp.LeaderEpoch, rp.PartitionEpoch = part.ID, part.LeaderEpoch, part.PartitionEpoch
	for _, id := range ids(w[2]) {
		rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: -1})
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID = 3, part.Leader
	if b, ok := p.shard.brokers.Get(part.Leader); ok {
		req.BrokerEpoch = b.Epoch
	}
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: t.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{rp}}}
	return Request{Body: req}, nil
}

// showRecord prints what a reader of a script wants to know of a record.
func (p *scripted) showRecord(rec coordinator.Record) string {
	r, err := metadata.Decode(rec.Value)
	if err != nil {
		return err.Error()
	}
	switch r := r.(type) {
	case *metadata.Topic:
		return "topic " + r.Name
	case *metadata.RemoveTopic:
		return "topic removed"
	case *metadata.Partition:
		return fmt.Sprintf("partition %d replicas=%v isr=%v leader=%d", r.PartitionID, r.Replicas, r.ISR, r.Leader)
	case *metadata.PartitionChange:
		return p.showChange(r)
	case *metadata.RegisterBroker:
		return fmt.Sprintf("broker %d registered epoch=%d fenced=%v", r.BrokerID, r.BrokerEpoch, r.Fenced)
	case *metadata.BrokerRegistrationChange:
		switch {
		case r.Fenced == metadata.Fence:
			return fmt.Sprintf("broker %d fenced", r.BrokerID)
		case r.Fenced == metadata.Unfence:
			return fmt.Sprintf("broker %d unfenced", r.BrokerID)
		}
		return fmt.Sprintf("broker %d in controlled shutdown", r.BrokerID)
	case *metadata.Config:
		return fmt.Sprintf("config %q %s=%s", r.ResourceName, r.Name, text(r.Value))
	case *metadata.FeatureLevel:
		return fmt.Sprintf("feature %s=%d", r.Name, r.FeatureLevel)
	case *metadata.ClearELR:
		return fmt.Sprintf("elr of %q cleared", r.TopicName)
	}
	return strings.ToLower(r.Key().String())
}

func (p *scripted) showChange(r *metadata.PartitionChange) string {
	name := "?"
	if t, ok := p.shard.topicByID(r.TopicID); ok {
		name = t.Name
	}
	out := fmt.Sprintf("change %s-%d", name, r.PartitionID)
	list := func(what string, v []int32) {
		if v != nil {
			out += fmt.Sprintf(" %s=%v", what, v)
		}
	}
	list("replicas", r.Replicas)
	list("isr", r.ISR)
	if r.Leader != metadata.LeaderAsBefore {
		out += fmt.Sprintf(" leader=%d", r.Leader)
	}
	list("adding", r.AddingReplicas)
	list("removing", r.RemovingReplicas)
	list("elr", r.ELR)
	list("last", r.LastKnownELR)
	switch r.LeaderRecoveryState {
	case metadata.Recovering:
		out += " recovering"
	case metadata.Recovered:
		out += " recovered"
	}
	return out
}

func showReply(r coordinator.Reply) string {
	switch b := r.Body.(type) {
	case *kmsg.BrokerRegistrationResponse:
		return fmt.Sprintf("error=%d epoch=%d", b.ErrorCode, b.BrokerEpoch)
	case *kmsg.BrokerHeartbeatResponse:
		return fmt.Sprintf("error=%d caughtUp=%v fenced=%v stop=%v", b.ErrorCode, b.IsCaughtUp, b.IsFenced, b.ShouldShutdown)
	case *kmsg.CreateTopicsResponse:
		return fmt.Sprintf("error=%d %s", b.Topics[0].ErrorCode, text(b.Topics[0].ErrorMessage))
	case *kmsg.DeleteTopicsResponse:
		return fmt.Sprintf("error=%d", b.Topics[0].ErrorCode)
	case *kmsg.IncrementalAlterConfigsResponse:
		return fmt.Sprintf("error=%d %s", b.Resources[0].ErrorCode, text(b.Resources[0].ErrorMessage))
	case *kmsg.AlterPartitionAssignmentsResponse:
		return fmt.Sprintf("error=%d %s", b.Topics[0].Partitions[0].ErrorCode, text(b.Topics[0].Partitions[0].ErrorMessage))
	case *kmsg.AlterPartitionResponse:
		return fmt.Sprintf("error=%d isr=%v", b.Topics[0].Partitions[0].ErrorCode, b.Topics[0].Partitions[0].ISR)
	}
	return fmt.Sprintf("%v", r.Err)
}

// showState prints brokers, topics and settings: features stay as they began.
func (p *scripted) showState(sh coordinator.Shard) string {
	s := &sh.(*Shard).state
	var out strings.Builder
	for b := range values(s.brokers) {
		fmt.Fprintf(&out, "broker %d epoch=%d fenced=%v stopping=%v\n", b.ID, b.Epoch, b.Fenced, b.ShuttingDown)
	}
	for t := range values(s.topics) {
		for _, p := range t.Partitions {
			fmt.Fprintf(&out, "%s-%d replicas=%v isr=%v leader=%d epoch=%d/%d elr=%v last=%v\n",
				t.Name, p.ID, p.Replicas, p.ISR, p.Leader, p.LeaderEpoch, p.PartitionEpoch, p.ELR, p.LastKnownELR)
		}
	}
	for key, set := range s.configs.Scan {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			fmt.Fprintf(&out, "%q %s=%s\n", key[1:], name, set[name])
		}
	}
	return out.String()
}
