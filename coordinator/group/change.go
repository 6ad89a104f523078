package group

import (
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// modern is the soft state of a consumer group.
type modern struct {
	// hashedAt is the version of the cluster that the group's hash was last compared
	// with; 0: none since the load.
	hashedAt int64
	regexes  resolving
	// told holds the members of the classic protocol that were told to join again.
	told map[string]struct{}
}

// change is one step of a consumer group: what it was, what it will be when the
// records are written, and the records. Nothing of it counts before apply.
type change struct {
	s       *Shard
	g       *group
	now     *consumers
	drafted bool // now is a copy, which may be changed.
	records []coordinator.Record
	replies []coordinator.Reply
	timers  []coordinator.Timer
	sends   []any
	// hashedAt is that of modern, after the step.
	hashedAt int64
	// resubscribed says that the member now subscribes to something else.
	resubscribed bool
	// forsaken is the pattern of a member that took another's place and left its own.
	forsaken string
	// noAssign leaves the group without a new target: it ends as a consumer group.
	noAssign bool
}

// edit begins a step of a group.
func (s *Shard) edit(g *group) *change {
	now := g.consumers
	if now == nil {
		now = newConsumers()
	}
	return &change{s: s, g: g, now: now, drafted: g.consumers == nil, hashedAt: g.modern.hashedAt}
}

// consumerGroup begins a step of the group of that id. Who joins may make a new
// one, or take over one that has no members of the classic protocol.
func (s *Shard) consumerGroup(id string, joins bool) (*change, *refusal) {
	g := s.groups[id]
	switch {
	case g == nil && !joins:
		return nil, refuse(kerr.GroupIDNotFound, "Consumer group %s not found.", id)
	case g == nil:
		return s.edit(newGroup(id, s.nowMs())), nil
	case g.consumers != nil:
		return s.edit(g), nil
	case !joins:
		return nil, refuse(kerr.GroupIDNotFound, "Group %s is not a consumer group.", id)
	case g.state != empty:
		return s.upgrade(g)
	}
	ch := s.edit(g)
	ch.write(groupTombstone(id))
	ch.cancelClassic()
	return ch, nil
}

// roomFor says whether a member may be in the group. A static one takes the place
// of its old self.
func (ch *change) roomFor(id string, instance *string) *refusal {
	most := ch.s.cfg.Consumer.MaxSize
	if ch.now.static(instance) != nil || ch.now.members[id] != nil || len(ch.now.members) < most {
		return nil
	}
	return refuse(kerr.GroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", most)
}

func (ch *change) write(records ...coordinator.Record) { ch.records = append(ch.records, records...) }

// draft is the group as the step leaves it, to be changed.
func (ch *change) draft() *consumers {
	if !ch.drafted {
		ch.now, ch.drafted = ch.now.draft(), true
	}
	return ch.now
}

// apply makes the step's records and timers those of the shard.
func (ch *change) apply() {
	s := ch.s
	s.write(ch.records...)
	s.eff.Replies = append(s.eff.Replies, ch.replies...)
	s.eff.Timers = append(s.eff.Timers, ch.timers...)
	s.eff.Sends = append(s.eff.Sends, ch.sends...)
	g, before := ch.g, ch.g.modern
	g.modern.hashedAt = ch.hashedAt
	if len(ch.sends) > 0 {
		g.modern.regexes.since = s.now
	}
	isNew := s.groups[g.id] == nil
	if isNew && len(ch.records) > 0 {
		s.groups[g.id] = g
	}
	s.undo = func(int16, error) {
		if g.modern = before; isNew {
			delete(s.groups, g.id)
		}
	}
}

// update takes over what a member says of itself, and has the group assigned anew
// if that matters to the assignment.
func (ch *change) update(was, m *consumer, rq Request) *refusal {
	changed := ch.now.members[m.id] == nil || !was.sameMember(m)
	renamed := !slices.Equal(was.topics, m.topics)
	ch.resubscribed = renamed || was.regex != m.regex
	if changed {
		ch.write(memberRecord(ch.g.id, m))
	}
	matched, err := ch.changeRegex(was.regex, m.regex)
	if err != nil {
		return err
	}
	assignor := ch.now.assignor(ch.preferred())
	if changed {
		ch.draft().put(m)
	}
	ch.dropRegex(ch.forsaken)
	ch.refreshRegexes(rq)
	ch.bump(renamed || matched || ch.now.epoch == 0 || ch.now.assignor(ch.preferred()) != assignor)
	ch.assign()
	return nil
}

// preferred is the assignor of a group whose members ask for none.
func (ch *change) preferred() string { return ch.s.cfg.Consumer.Assignors[0] }

// bump begins a new epoch of the group if it must, or if the topics that it reads
// have changed.
func (ch *change) bump(must bool) {
	version := ch.s.cluster.Version()
	if !must && ch.hashedAt == version {
		return
	}
	ch.hashedAt = version
	hash := topicsHash(ch.now.allNames(), ch.s.cluster)
	if !must && hash == ch.now.hash {
		return
	}
	d := ch.draft()
	d.epoch++
	d.hash = hash
	ch.write(epochRecord(ch.g.id, d.epoch, d.hash))
	if d.oldMetadata {
		d.oldMetadata = false
		ch.write(consumerTombstone(keyOldMetadata, ch.g.id))
	}
}

// assign makes a new target if the group's epoch asks for one.
func (ch *change) assign() {
	if ch.now.assignmentEpoch >= ch.now.epoch || ch.noAssign {
		return
	}
	d := ch.draft()
	name := d.assignor(ch.preferred())
	assignor, ok := assign.ByName(name)
	if !ok { // A newer release let a member ask for it.
		assignor = assign.Uniform
	}
	target := assignor(ch.toAssign())
	for _, id := range sortedKeys(d.members) {
		p := target[id]
		if p == nil {
			p = make(assign.Partitions)
		}
		if old, ok := d.target[id]; !ok || !old.Equal(p) {
			d.target[id] = p
			ch.write(targetRecord(ch.g.id, id, p))
		}
	}
	d.assignmentEpoch = d.epoch
	ch.write(targetEpochRecord(ch.g.id, d.assignmentEpoch))
	ch.s.cfg.Logger.Info("group was assigned", slog.String("group", ch.g.id), slog.Int("epoch", int(d.epoch)),
		slog.String("assignor", name), slog.Int("members", len(d.members)))
}

// toAssign is the group as assignors see it.
func (ch *change) toAssign() assign.Group {
	g := assign.Group{Counts: make(map[assign.TopicID]int32)}
	for _, id := range sortedKeys(ch.now.members) {
		m := ch.now.members[id]
		am := assign.Member{ID: id, Instance: m.instance, Assigned: ch.now.target[id]}
		for _, name := range ch.now.names(m) {
			if t, ok := ch.s.cluster.Topic(name); ok {
				am.Topics = append(am.Topics, t.ID)
				g.Counts[t.ID] = t.Partitions
			}
		}
		g.Members = append(g.Members, am)
	}
	return g
}

// reconcile takes a member one step towards its target.
func (ch *change) reconcile(m *consumer, owned assign.Partitions) (*consumer, *refusal) {
	reads := make(map[assign.TopicID]bool)
	c := course{
		epoch: ch.now.assignmentEpoch, target: ch.now.target[m.id], owned: owned, resubscribed: ch.resubscribed,
		reads: func(topic assign.TopicID) bool { return reads[topic] },
		owner: func(topic assign.TopicID, n int32) string { return ch.now.owners[topic][n] },
	}
	if !c.resubscribed && m.reached(c.epoch) {
		return m, nil
	}
	for _, name := range ch.now.names(m) {
		if t, ok := ch.s.cluster.Topic(name); ok {
			reads[t.ID] = true
		}
	}
	next, ok := c.follow(m)
	if !ok {
		return nil, refuse(kerr.FencedMemberEpoch,
			"The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
	}
	if next.sameAssignment(m) {
		return next, nil
	}
	ch.draft().put(next)
	ch.write(currentRecord(ch.g.id, next))
	key := timerKey{revokeTimer, ch.g.id, next.id}
	switch {
	case next.classic != nil: // It has to join again in time, and to sync.
	case next.state == unrevoked:
		ch.setTimer(key, millis(next.rebalanceMs))
	default:
		ch.cancelTimer(key)
	}
	return next, nil
}

// replace lets a static member come back under another id, which may be that of a
// member already: that one is no more.
func (ch *change) replace(old *consumer, id string) *consumer {
	m := *old
	m.id, m.epoch, m.previousEpoch = id, 0, 0
	d := ch.draft()
	target := d.target[old.id]
	d.take(old.id)
	delete(d.target, old.id)
	if own := d.members[id]; own != nil {
		ch.forsaken = own.regex
	}
	d.put(&m)
	d.target[id] = target
	ch.write(
		consumerTombstone(keyCurrent, ch.g.id, old.id),
		consumerTombstone(keyTarget, ch.g.id, old.id),
		consumerTombstone(keyMember, ch.g.id, old.id),
		memberRecord(ch.g.id, &m),
		targetRecord(ch.g.id, id, target),
		currentRecord(ch.g.id, &m),
	)
	ch.cancelTimers(old.id)
	ch.s.cfg.Logger.Info("static member was replaced", slog.String("group", ch.g.id),
		slog.String("instance", *m.instance), slog.String("member", id), slog.String("fenced", old.id))
	return &m
}

func (ch *change) setTimer(key timerKey, d time.Duration) {
	ch.timers = append(ch.timers, coordinator.Timer{Key: key, At: ch.s.now.Add(d)})
}

func (ch *change) cancelTimer(key timerKey) {
	ch.timers = append(ch.timers, coordinator.Timer{Key: key})
}

// forgetTimer cancels the timer of a member that has joined again.
func (ch *change) forgetTimer(key timerKey) {
	delete(ch.g.modern.told, key.member)
	ch.cancelTimer(key)
}

// cancelTimers cancels all timers of a member that goes.
func (ch *change) cancelTimers(id string) {
	ch.forgetTimer(timerKey{joinTimer, ch.g.id, id})
	for _, kind := range []timerKind{sessionTimer, revokeTimer, syncTimer} {
		ch.cancelTimer(timerKey{kind, ch.g.id, id})
	}
}

// remove takes members out of the group, which is assigned anew with the next
// heartbeat of another.
func (ch *change) remove(members ...*consumer) {
	d := ch.draft()
	for _, m := range members {
		ch.write(
			consumerTombstone(keyCurrent, ch.g.id, m.id),
			consumerTombstone(keyTarget, ch.g.id, m.id),
			consumerTombstone(keyMember, ch.g.id, m.id),
		)
		d.take(m.id)
		delete(d.target, m.id)
		ch.cancelTimers(m.id)
	}
	for _, m := range members {
		ch.dropRegex(m.regex)
	}
	d.epoch++
	if v := ch.s.cluster.Version(); v >= 0 { // Else no request has come since the load.
		d.hash = topicsHash(d.allNames(), ch.s.cluster)
	}
	ch.write(epochRecord(ch.g.id, d.epoch, d.hash))
}

// tombstones takes all records of a group back.
func (c *consumers) tombstones(group string) (out []coordinator.Record) {
	for _, typ := range []int16{keyCurrent, keyTarget, keyMember} {
		for _, id := range sortedKeys(c.members) {
			out = append(out, consumerTombstone(typ, group, id))
		}
		if typ == keyTarget {
			out = append(out, consumerTombstone(keyTargetEpoch, group))
		}
	}
	for _, regex := range sortedKeys(c.regexes) {
		out = append(out, consumerTombstone(keyRegex, group, regex))
	}
	return append(out, consumerTombstone(keyOldMetadata, group), consumerTombstone(keyEpoch, group))
}
