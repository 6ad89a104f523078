package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// op is one thing that happens to a random cluster. What its numbers mean depends
// on the kind; all of them are taken modulo what there is.
type op struct {
	kind    string
	a, b, c int
	flag    bool
}

// opKinds lists the kinds, the frequent ones more than once.
var opKinds = []string{
	"create", "create", "delete", "grow", "set", "set", "register", "register", "beat", "beat", "beat",
	"fence", "stop", "propose", "propose", "propose", "elect", "reassign", "cancel", "ids", "feature",
	"tick", "expire", "failover", "hold", "commit", "unregister",
}

func drawOps(t *rapid.T) []op {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		n := rapid.IntRange(0, 1<<16)
		return op{rapid.SampledFrom(opKinds).Draw(t, "kind"), n.Draw(t, "a"), n.Draw(t, "b"), n.Draw(t, "c"), rapid.Bool().Draw(t, "flag")}
	}), 5, 60).Draw(t, "ops")
}

// world plays operations on a cluster, and checks what must always hold.
type world struct {
	*cluster
	fail   func(format string, args ...any)
	runs   map[int32]byte // The incarnation of each broker.
	shown  map[*Image]string
	epochs map[string]int32 // The highest leader epoch seen, by topic id and partition.
	seen   int              // How many images were checked.
}

func newWorld(t testing.TB, fail func(string, ...any)) *world {
	return &world{
		cluster: newCluster(t, 2), fail: fail,
		runs: map[int32]byte{1: 1, 2: 1}, shown: map[*Image]string{}, epochs: map[string]int32{},
	}
}

// topic picks one of the topics there are.
func (w *world) topic(n int) (*Topic, bool) {
	all := w.shard().topics.Values()
	if len(all) == 0 {
		return nil, false
	}
	return all[n%len(all)], true
}

func (w *world) broker(n int) (*Broker, bool) {
	all := w.shard().brokers.Values()
	if len(all) == 0 {
		return nil, false
	}
	return all[n%len(all)], true
}

func (w *world) play(o op) {
	switch o.kind {
	case "tick":
		w.Tick(time.Duration(o.a%2000) * time.Millisecond)
	case "expire":
		w.Tick(9 * time.Second)
	case "failover":
		w.Log.Release()
		w.Failover()
	case "hold":
		w.Log.Hold()
	case "commit":
		w.Log.Release()
		w.Commit()
	default:
		if req := w.request(o); req != nil {
			w.Ask(Request{Body: req})
		}
	}
}

// request makes the request of an operation; nil if there is nothing it could be
// about.
func (w *world) request(o op) kmsg.Request {
	switch o.kind {
	case "create":
		t := newTopic(fmt.Sprintf("t.%d", o.a%6), int32(o.b%5), int16(o.c%4))
		if o.flag {
			t = newTopic(t.Topic, t.NumPartitions, t.ReplicationFactor, "min.insync.replicas=2", "unclean.leader.election.enable=true")
		}
		return createRequest(t)
	case "ids":
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID, req.BrokerEpoch = 1, w.epoch(1)
		return req
	case "feature":
		req := kmsg.NewPtrUpdateFeaturesRequest()
		req.Version = 2
		f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		f.Feature = []string{metadata.FeatureELR, metadata.FeatureGroup, metadata.FeatureMetadataVersion}[o.a%3]
		f.MaxVersionLevel, f.UpgradeType = []int16{int16(o.b % 2), int16(o.b % 2), int16(26 + o.b%4)}[o.a%3], int8(1+o.c%2)
		req.FeatureUpdates = append(req.FeatureUpdates, f)
		return req
	case "register", "beat", "fence", "stop", "unregister":
		return w.brokerRequest(o)
	}
	return w.topicRequest(o)
}

func (w *world) epoch(id int32) int64 {
	if b, ok := w.shard().brokers.Get(id); ok {
		return b.Epoch
	}
	return -1
}

func (w *world) brokerRequest(o op) kmsg.Request {
	if o.kind == "register" {
		id := int32(1 + o.a%4)
		if o.flag {
			w.runs[id]++
		}
		req := registration(id, w.runs[id])
		if o.b%2 == 0 {
			req.PreviousBrokerEpoch = w.epoch(id)
		}
		return req
	}
	b, ok := w.broker(o.a)
	if !ok {
		return nil
	}
	if o.kind == "unregister" {
		if o.b%4 != 0 {
			return nil // Rare, or nothing else would happen.
		}
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = b.ID
		return req
	}
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = 1
	req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = b.ID, b.Epoch, w.Log.End()-1
	req.WantFence, req.WantShutdown = o.kind == "fence", o.kind == "stop"
	return req
}

func (w *world) topicRequest(o op) kmsg.Request {
	t, ok := w.topic(o.a)
	if !ok {
		return nil
	}
	p := t.Partitions[o.b%len(t.Partitions)]
	switch o.kind {
	case "delete":
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = 5, []string{t.Name}
		return req
	case "grow":
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version = 3
		req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: t.Name, Count: int32(len(t.Partitions) + 1 + o.c%2)}}
		return req
	case "set":
		edits := []edit{{"min.insync.replicas", 0, fmt.Sprint(1 + o.b%2)}, {"retention.ms", 0, fmt.Sprint(o.b)}, {"retention.ms", 1, "<null>"}}
		if o.flag {
			return editRequest(KindBroker, "", edits[0])
		}
		return editRequest(KindTopic, t.Name, edits[o.c%3])
	case "elect":
		req := kmsg.NewPtrElectLeadersRequest()
		req.Version, req.ElectionType = 2, int8(o.c%2)
		return req
	case "propose":
		return w.proposal(t, p, o)
	}
	var replicas []int32
	if o.kind == "reassign" {
		replicas = [][]int32{{1, 2}, {2, 3}, {3}, {4, 1, 2}, {1}}[o.c%5]
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
		Topic: t.Name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: p.ID, Replicas: replicas}},
	}}
	return req
}

// proposal is a leader's, of some of its replicas.
func (w *world) proposal(t *Topic, p *Partition, o op) kmsg.Request {
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.Partition, rp.LeaderEpoch, rp.PartitionEpoch = p.ID, p.LeaderEpoch, p.PartitionEpoch
	for i, id := range p.Replicas {
		if id == p.Leader || o.c>>i&1 == 0 {
			rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: w.epoch(id)})
		}
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, p.Leader, w.epoch(p.Leader)
	req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: t.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{rp}}}
	return req
}

// check holds the state and the images to what must always be true.
func (w *world) check() {
	s := w.shard()
	for t := range values(s.topics) {
		if byID, _ := s.topicByID(t.ID); byID != t {
			w.fail("topic %s by name and by id differ", t.Name)
		}
		for i, p := range t.Partitions {
			w.checkPartition(s, t, p, int32(i))
		}
	}
	for ; w.seen < len(w.images); w.seen++ {
		im := w.images[w.seen]
		w.shown[im] = dump(&im.state)
		if w.seen > 0 {
			w.checkDelta(w.images[w.seen-1], im)
		}
	}
}

func (w *world) checkPartition(s *Shard, t *Topic, p *Partition, id int32) {
	where := fmt.Sprintf("%s-%d: %+v", t.Name, id, p)
	switch {
	case p.ID != id || len(p.Directories) != len(p.Replicas):
		w.fail("ids or directories of %s", where)
	case len(p.Replicas) == 0 || hasTwice(p.Replicas) || hasTwice(p.ISR):
		w.fail("replicas of %s", where)
	case !containsAll(p.Replicas, p.ISR) || !containsAll(p.Replicas, p.Adding) || !containsAll(p.Replicas, p.Removing):
		w.fail("not replicas, in %s", where)
	case p.Leader >= 0 && !slices.Contains(p.ISR, p.Leader):
		w.fail("the leader is not in the ISR of %s", where)
	case p.Leader >= 0 && !s.active(p.Leader):
		w.fail("the leader is not active in %s", where)
	case s.elr() && slices.ContainsFunc(p.ELR, func(r int32) bool { return slices.Contains(p.ISR, r) }):
		w.fail("in ISR and in ELR of %s", where)
	}
	key := fmt.Sprintf("%x-%d", t.ID, id)
	if w.epochs[key] > p.LeaderEpoch {
		w.fail("the leader epoch falls from %d, in %s", w.epochs[key], where)
	}
	w.epochs[key] = p.LeaderEpoch
}

// checkDelta compares an image's delta with what a look at all of both images says.
func (w *world) checkDelta(old, im *Image) {
	d := im.Delta()
	if d.Full {
		return // After a failover.
	}
	if d.Since != old.Offset {
		w.fail("delta from %d, the image before is at %d", d.Since, old.Offset)
	}
	var created, changed, deleted []string
	for t := range im.Topics() {
		if was, ok := old.TopicByID(t.ID); !ok {
			created = append(created, t.Name)
		} else if !cmp.Equal(was.Partitions, t.Partitions) {
			changed = append(changed, t.Name)
		}
	}
	for t := range old.Topics() {
		if _, ok := im.TopicByID(t.ID); !ok {
			deleted = append(deleted, t.Name)
		}
	}
	if diff := cmp.Diff([][]string{created, changed, deleted}, [][]string{names(d.Created), names(d.Changed), names(d.Deleted)}); diff != "" {
		w.fail("delta of topics (-is +told)\n%s", diff)
	}
	for r := range im.ConfigResources() {
		if !cmp.Equal(im.Config(r.Kind, r.Name), old.Config(r.Kind, r.Name)) && !slices.Contains(d.Configs, r) {
			w.fail("settings of %+v changed, the delta has %v", r, d.Configs)
		}
	}
	for b := range im.Brokers() {
		if was, ok := old.Broker(b.ID); (!ok || was != b) && !slices.Contains(d.Brokers, b.ID) {
			w.fail("broker %d changed, the delta has %v", b.ID, d.Brokers)
		}
	}
}

// end checks what a whole history must leave behind.
func (w *world) end() string {
	w.Log.Release()
	w.Commit()
	w.check()
	live := dump(&w.shard().state)
	if got := dump(&w.Replayed().(*Shard).state); got != live {
		w.fail("replaying the log gives another state (-live +replayed)\n%s", cmp.Diff(live, got))
	}
	if got := dump(&w.image().state); got != live {
		w.fail("the last image is not the state\n%s", cmp.Diff(live, got))
	}
	r := NewReplica(testCluster, nil)
	for rec := range Snapshot(w.image()) {
		if err := r.Replay(coordinator.At{}, rec); err != nil {
			w.fail("loading the snapshot: %v", err)
		}
	}
	if got := dump(&r.journal.state); got != live {
		w.fail("loading the snapshot gives another state (-live +loaded)\n%s", cmp.Diff(live, got))
	}
	for im, was := range w.shown {
		if now := dump(&im.state); now != was {
			w.fail("the image at %d changed after it was published\n%s", im.Offset, cmp.Diff(was, now))
		}
	}
	return live
}

// TestHistories plays random histories, twice each: both must end the same, and so
// must a new shard from the log, and one from a snapshot.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := drawOps(rt)
		var ends []string
		for range 2 {
			w := newWorld(t, rt.Fatalf)
			for _, o := range ops {
				w.play(o)
				w.check()
			}
			ends = append(ends, fmt.Sprintf("%d records\n%s", w.Log.End(), w.end()))
		}
		if ends[0] != ends[1] {
			rt.Fatalf("the second run ended otherwise\n%s", cmp.Diff(ends[0], ends[1]))
		}
	})
}

// TestPlacement holds the placement of replicas to what it is for, with any set of
// brokers and racks.
func TestPlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "brokers")
		racks := rapid.IntRange(0, 4).Draw(t, "racks")
		var brokers []*Broker
		live, rackOf := 0, map[int32]string{}
		for id := range int32(n) {
			b := &Broker{ID: id, Fenced: rapid.IntRange(0, 3).Draw(t, "fenced") == 0}
			if racks > 0 {
				b.Rack = new(fmt.Sprintf("r%d", rapid.IntRange(1, racks).Draw(t, "rack")))
				rackOf[id] = *b.Rack
			}
			if !b.Fenced {
				live++
			}
			brokers = append(brokers, b)
		}
		if live == 0 {
			brokers[0].Fenced, live = false, 1
		}
		factor := rapid.IntRange(1, n).Draw(t, "factor")
		p := newPlacer(newRand(rapid.Uint64().Draw(t, "seed")), brokers)
		leaders := map[int32]int{}
		for range 3 * live {
			got := p.deal(factor)
			if len(got) != factor || hasTwice(got) || brokers[got[0]].Fenced {
				t.Fatalf("%v of %d brokers, %d replicas", got, n, factor)
			}
			leaders[got[0]]++
			used := map[string]bool{}
			for _, id := range got {
				used[rackOf[id]] = true
			}
			if want := min(factor, len(p.racks)); racks > 0 && len(used) < want {
				t.Fatalf("%v are on %d racks, could be on %d", got, len(used), want)
			}
		}
		if racks == 0 {
			for id, times := range leaders {
				if times > 5 {
					t.Fatalf("broker %d leads %d of %d partitions on %d brokers", id, times, 3*live, live)
				}
			}
		}
	})
}
