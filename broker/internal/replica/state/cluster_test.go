package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file is a cluster in memory around the State of one partition: logs, a
// controller, and fetches that may be delayed or lost. Scripts and the simulation
// drive it.

type record struct {
	epoch int32
	value string
}

// memLog is a replica's log. Records are numbered from base.
type memLog struct {
	base    int64
	records []record
	epochs  []EpochEnd // End is where the epoch begins.
	start   int64
	hw      int64
	flushed int64
}

func (l *memLog) end() int64 { return l.base + int64(len(l.records)) }

func (l *memLog) LastEpoch() int32 {
	if len(l.epochs) == 0 {
		return -1
	}
	return l.epochs[len(l.epochs)-1].Epoch
}

func (l *memLog) EpochEnd(epoch int32) (int32, int64) {
	if epoch < 0 || epoch > l.LastEpoch() {
		return -1, -1
	}
	if epoch == l.LastEpoch() {
		return epoch, l.end()
	}
	i := slices.IndexFunc(l.epochs, func(e EpochEnd) bool { return e.Epoch > epoch })
	if i == 0 {
		return epoch, l.epochs[0].End
	}
	return l.epochs[i-1].Epoch, l.epochs[i].End
}

func (l *memLog) assign(epoch int32, at int64) {
	if epoch <= l.LastEpoch() {
		return
	}
	for len(l.epochs) > 0 && l.epochs[len(l.epochs)-1].End >= at {
		l.epochs = l.epochs[:len(l.epochs)-1]
	}
	l.epochs = append(l.epochs, EpochEnd{epoch, at})
}

func (l *memLog) append(rs ...record) {
	for _, r := range rs {
		l.assign(r.epoch, l.end())
		l.records = append(l.records, r)
	}
}

func (l *memLog) truncate(to int64) {
	if to < l.end() {
		l.records = l.records[:to-l.base]
	}
	l.epochs = slices.DeleteFunc(l.epochs, func(e EpochEnd) bool { return e.End >= to })
	l.flushed = min(l.flushed, l.end())
	l.hw = min(l.hw, l.end())
}

func (l *memLog) restart(at int64) {
	*l = memLog{base: at, start: at, hw: at, flushed: at}
}

func (l *memLog) advanceStart(to int64) {
	l.start = to
	for len(l.epochs) > 1 && l.epochs[1].End <= to {
		l.epochs = l.epochs[1:]
	}
	if len(l.epochs) > 0 {
		l.epochs[0].End = max(l.epochs[0].End, to)
	}
}

func (l *memLog) from(offset int64, n int) []record {
	rs := l.records[offset-l.base:]
	return slices.Clone(rs[:min(n, len(rs))])
}

func (l *memLog) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d:", l.start)
	for i, r := range l.records {
		if l.base+int64(i) >= l.start {
			fmt.Fprintf(&b, " %s/%d", r.value, r.epoch)
		}
	}
	return b.String() + "]"
}

// member is one broker of the cluster.
type member struct {
	id          int32
	log         memLog
	state       *State // nil while it is down.
	brokerEpoch int64
	savedHW     int64 // As checkpointed; what a restart begins with.
	cut         bool  // Hears nothing from the controller.
	view        *View
	proposal    *Proposal
	asked       bool // For the leader's bounds.
	tickets     map[Ticket]string
}

func (m *member) name() string { return string('A' + m.id - 1) }

// request and response travel between a follower and its leader.
type request struct {
	from        int32
	brokerEpoch int64
	Fetch
}

type response struct {
	to      int32
	fetched Fetched
	records []record
}

type cluster struct {
	now     time.Time
	cfg     Config
	members []*member
	// The controller's view.
	part     Assigned
	brokers  Brokers
	serial   int64
	tickets  Ticket
	batch    int // Records per fetch.
	acked    map[string]int64
	trace    func(format string, args ...any)
	sometime map[string]int // Rare things that happened.
}

func newCluster(n int, cfg Config) *cluster {
	c := &cluster{
		now: time.Unix(1000, 0), cfg: cfg, batch: 100,
		part:  Assigned{Leader: -1, LeaderEpoch: 0, PartitionEpoch: 0},
		acked: map[string]int64{}, sometime: map[string]int{},
		trace: func(string, ...any) {},
	}
	for i := range n {
		m := &member{id: int32(i + 1)}
		c.members = append(c.members, m)
		c.part.Replicas = append(c.part.Replicas, m.id)
		c.part.ISR = append(c.part.ISR, m.id)
		c.start(m)
	}
	return c
}

func (c *cluster) member(id int32) *member { return c.members[id-1] }

// start registers a new incarnation of a broker. It learns the partition only
// with the next publication.
func (c *cluster) start(m *member) {
	c.serial++
	m.brokerEpoch = c.serial
	m.log.hw = max(min(m.savedHW, m.log.end()), m.log.start)
	m.log.flushed = m.log.end() // A restart scans and flushes.
	m.tickets = map[Ticket]string{}
	m.proposal, m.asked, m.view = nil, false, nil
	m.state = New(m.id, c.cfg, &m.log, Log{Start: m.log.start, End: m.log.end(), Flushed: m.log.flushed, HighWatermark: m.log.hw})
	c.setBroker(m.id, Broker{Epoch: m.brokerEpoch})
}

// crash stops a broker; lose drops that many unflushed records from its end.
func (c *cluster) crash(m *member, lose int) {
	m.state = nil
	m.savedHW = min(m.savedHW, m.log.hw)
	if to := max(m.log.end()-int64(lose), m.log.flushed, m.log.start); to < m.log.end() {
		m.log.truncate(to)
	}
	c.setBroker(m.id, Broker{Epoch: m.brokerEpoch, Fenced: true})
}

func (c *cluster) setBroker(id int32, b Broker) {
	b.ID = id
	next := slices.DeleteFunc(slices.Clone(c.brokers), func(o Broker) bool { return o.ID == id })
	next = append(next, b)
	slices.SortFunc(next, func(a, b Broker) int { return int(a.ID - b.ID) })
	c.brokers = next
}

func (c *cluster) broker(id int32) Broker {
	b, _ := c.brokers.find(id)
	return b
}

// publish tells every member that listens what the controller decided.
func (c *cluster) publish() {
	for _, m := range c.members {
		if m.state != nil && !m.cut {
			c.step(m, c.brokers)
			c.step(m, c.part)
		}
	}
}

// change is a committed decision of the controller.
func (c *cluster) change(leader int32, isr []int32) {
	p := c.part
	p.PartitionEpoch++
	if leader != p.Leader {
		p.LeaderEpoch++
	}
	p.Leader, p.ISR = leader, slices.Clone(isr)
	c.part = p
}

// settle answers a member's proposal as Kafka's controller would.
func (c *cluster) settle(m *member) Verdict {
	p := m.proposal
	if p == nil {
		c.trace("%s: nothing proposed", m.name())
		return Unsettled
	}
	m.proposal = nil
	ans := Answered{Proposal: p.ID}
	var isr []int32
	for _, x := range p.ISR {
		isr = append(isr, x.ID)
	}
	switch {
	case p.LeaderEpoch != c.part.LeaderEpoch, p.PartitionEpoch != c.part.PartitionEpoch, c.part.Leader != m.id:
		ans.Verdict = Unsettled
	case slices.ContainsFunc(p.ISR, func(x Member) bool {
		b := c.broker(x.ID)
		return b.Fenced || x.BrokerEpoch >= 0 && x.BrokerEpoch != b.Epoch
	}):
		ans.Verdict = Reverted
	default:
		c.change(m.id, isr)
		ans.Verdict = Accepted
		ans.LeaderEpoch, ans.PartitionEpoch, ans.ISR = c.part.LeaderEpoch, c.part.PartitionEpoch, isr
	}
	c.trace("%s: isr %s %v", m.name(), names(isr), [...]string{"accepted", "refused", "unsettled"}[ans.Verdict])
	if m.state != nil {
		c.step(m, ans)
	}
	return ans.Verdict
}

func names(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(byte('A' + id - 1))
	}
	return b.String()
}

// step is the shell around a State: it carries effects out and reports back.
func (c *cluster) step(m *member, ev Event) Effects {
	eff := m.state.Step(c.now, ev)
	if eff.View {
		m.view = m.state.View()
	}
	if eff.AssignEpoch >= 0 {
		m.log.assign(eff.AssignEpoch, m.log.end())
	}
	switch cut := eff.Truncate; cut.Kind {
	case To:
		c.trace("%s: truncate to %d", m.name(), cut.Offset)
		c.sometime["truncate"]++
		m.log.truncate(cut.Offset)
		c.step(m, Truncated{Start: m.log.start, End: m.log.end()})
	case Fully:
		c.trace("%s: truncate fully, start at %d", m.name(), cut.Offset)
		c.sometime["truncate fully"]++
		m.log.restart(cut.Offset)
		c.step(m, Truncated{Start: m.log.start, End: m.log.end()})
	}
	if eff.Truncate.BelowHW {
		c.trace("%s: COMMITTED RECORDS LOST", m.name())
	}
	if eff.HighWatermark >= 0 {
		m.log.hw = eff.HighWatermark
		c.trace("%s: high watermark %d", m.name(), eff.HighWatermark)
	}
	if eff.AdvanceStart >= 0 {
		m.log.advanceStart(eff.AdvanceStart)
		c.trace("%s: log start %d", m.name(), eff.AdvanceStart)
	}
	for _, a := range eff.Answers {
		c.answer(m, a)
	}
	if eff.Propose != nil {
		m.proposal = eff.Propose
		c.trace("%s: propose isr %s", m.name(), memberNames(eff.Propose))
	}
	if eff.AskBounds {
		m.asked = true
	}
	if eff.Flush {
		m.log.flushed = m.log.end()
		c.step(m, Flushed{To: m.log.flushed})
	}
	return eff
}

func memberNames(p *Proposal) string {
	var ids []int32
	for _, x := range p.ISR {
		ids = append(ids, x.ID)
	}
	return names(ids)
}

func (c *cluster) answer(m *member, a Answer) {
	value, ok := m.tickets[a.Ticket]
	delete(m.tickets, a.Ticket)
	switch {
	case !ok:
		panic(fmt.Sprintf("answer to ticket %d that nobody holds", a.Ticket))
	case value == "":
		c.trace("%s: low watermark %d (%v)", m.name(), a.LowWatermark, a.Err)
	case a.Err != nil:
		c.trace("%s: %s failed: %v", m.name(), value, a.Err)
	default:
		c.acked[value] = m.log.base + int64(slices.IndexFunc(m.log.records, func(r record) bool { return r.value == value }))
		c.trace("%s: %s acknowledged", m.name(), value)
	}
}

// produce appends a value at a broker that takes itself for the leader.
func (c *cluster) produce(m *member, value string, acksAll bool) error {
	if err := m.state.CheckAppend(acksAll); err != nil {
		return err
	}
	m.log.append(record{m.view.LeaderEpoch, value})
	end := m.log.end()
	c.step(m, Appended{End: end})
	if c.cfg.FlushedOnly {
		m.log.flushed = end
		c.step(m, Flushed{To: end})
	}
	if acksAll {
		c.tickets++
		m.tickets[c.tickets] = value
		c.step(m, Wait{Ticket: c.tickets, Offset: end})
	}
	return nil
}

func (c *cluster) ask(m *member) (request, bool) {
	f, ok := m.state.NextFetch(c.now)
	return request{m.id, m.brokerEpoch, f}, ok
}

// serve answers a fetch at the broker it was sent to.
func (c *cluster) serve(q request) response {
	m := c.member(q.Leader)
	r := response{to: q.from, fetched: Fetched{Request: q.Fetch, Failure: Later}}
	if m.state == nil || m.view == nil {
		return r
	}
	fail := func(f Failure) response { r.fetched.Failure = f; return r }
	if err := m.view.CheckEpoch(q.CurrentEpoch); err != nil {
		e, ok := errors.AsType[*EpochError](err)
		if !ok {
			panic(err)
		}
		if e.Fenced() {
			return fail(Fenced)
		}
		return r
	}
	if m.view.CheckLeader() != nil || m.view.CheckReplica(q.from, true) != nil {
		return r
	}
	hw, start, end := m.log.hw, m.log.start, m.log.end()
	if q.LastEpoch >= 0 {
		d, ok := Compare(&m.log, q.LastEpoch, q.Offset, start)
		if !ok {
			return fail(OutOfRange)
		}
		if d != nil {
			r.fetched.Failure, r.fetched.Diverging = OK, d
			r.fetched.HighWatermark, r.fetched.LogStart = hw, start
			c.sometime["diverging"]++
			c.trace("%s: %s diverges: epoch %d ends at %d", m.name(), c.member(q.from).name(), d.Epoch, d.End)
			return r
		}
	}
	if q.Offset < start || q.Offset > end {
		return fail(OutOfRange)
	}
	r.records = m.log.from(q.Offset, c.batch)
	eff := c.step(m, FollowerFetched{
		Replica: q.from, BrokerEpoch: q.brokerEpoch,
		Offset: q.Offset, LogStart: q.LogStart, LeaderEnd: end, HasEpoch: true,
	})
	if eff.Err != nil {
		c.trace("%s: refused: %v", m.name(), eff.Err)
		r.records = nil
		return r
	}
	r.fetched.Failure = OK
	r.fetched.HighWatermark, r.fetched.LogStart = hw, start
	r.fetched.Records = len(r.records) > 0
	return r
}

// take gives a follower its response.
func (c *cluster) take(r response) {
	m := c.member(r.to)
	if m.state == nil {
		return
	}
	if r.fetched.Failure != OK {
		c.trace("%s: fetch failed: %s", m.name(), [...]string{"", "out of range", "fenced", "later"}[r.fetched.Failure])
	}
	if eff := c.step(m, r.fetched); eff.Append {
		if got := m.log.end(); got != r.fetched.Request.Offset {
			panic(fmt.Sprintf("records for %d appended at %d", r.fetched.Request.Offset, got))
		}
		m.log.append(r.records...)
		c.trace("%s: appended up to %d", m.name(), m.log.end())
		c.step(m, Written{End: m.log.end()})
	}
}

// bounds answers AskBounds of a follower.
func (c *cluster) bounds(m *member) {
	m.asked = false
	epoch, leader := m.state.known.LeaderEpoch, m.state.known.Leader
	b := Bounds{CurrentEpoch: epoch, Failure: Later}
	if leader > 0 {
		if l := c.member(leader); l.state != nil && l.view != nil && l.view.CheckLeader() == nil && l.view.LeaderEpoch == epoch {
			b.Failure, b.Start, b.End = OK, l.log.start, l.log.end()
			c.sometime["bounds"]++
		}
	}
	c.step(m, b)
}

// fetch is a whole round of a follower.
func (c *cluster) fetch(m *member) {
	if m.asked {
		c.bounds(m)
		return
	}
	if q, ok := c.ask(m); ok {
		c.take(c.serve(q))
	} else {
		c.trace("%s: nothing to fetch", m.name())
	}
}
