package differential

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat"
)

// Times that a world waits.
const (
	worldLimit  = 3 * time.Minute
	stepLimit   = 20 * time.Second
	blockAfter  = 300 * time.Millisecond // Then a request that may wait for others is taken to wait.
	otherLimit  = 3 * time.Second        // How much later than the other one broker may answer.
	retryLimit  = 5 * time.Second        // How long a passing code may be given.
	retryEvery  = 20 * time.Millisecond
	rereadEvery = 150 * time.Millisecond
	pendingRest = 60 * time.Millisecond // What others ask takes effect on who waits within this.
	configRest  = 120 * time.Millisecond
)

// passing are the codes that say: come again.
var passing = regexp.MustCompile(`\b(COORDINATOR_LOAD_IN_PROGRESS|COORDINATOR_NOT_AVAILABLE|NOT_COORDINATOR|CONCURRENT_TRANSACTIONS)\b`)

// side is one of the two brokers, during one world.
type side struct {
	addr string
	view *view
	conn *compat.Conn
	all  []*compat.Conn
}

// answer is what came of a step on one side.
type answer struct {
	request  *node
	sent     kmsg.Request
	response kmsg.Response
	err      error
	late     chan answer // Where the answer comes, if it has not yet.
}

// world is one conversation with both brokers.
type world struct {
	sides   [2]*side
	reread  time.Duration // How long two brokers may take until they tell the same.
	waiting []waiting
	lines   []Line
	known   func(*Difference)
}

// waiting is a step that neither broker has answered.
type waiting struct {
	step Step
	line int
	sent [2]kmsg.Request
	late [2]chan answer
	got  [2]*answer
}

// Line is a step as it went.
type Line struct {
	Number   int
	Request  string
	Answer   string // What both answered.
	Answered bool
}

func newWorld(here, there, prefix string, base int64, reread time.Duration, known func(*Difference)) *world {
	return &world{
		sides: [2]*side{
			{addr: here, view: newView(prefix, base)},
			{addr: there, view: newView(prefix, base)},
		},
		reread: reread, known: known,
	}
}

// both does the same on both sides at once.
func (w *world) both(do func(i int, s *side)) {
	var wg sync.WaitGroup
	for i, s := range w.sides {
		wg.Go(func() { do(i, s) })
	}
	wg.Wait()
}

// play asks step after step, until the brokers differ or none is left.
func (w *world) play(ctx context.Context, steps []Step) (*Difference, error) {
	ctx, cancel := context.WithTimeout(ctx, worldLimit)
	defer cancel()
	defer w.close()
	defer w.cleanUp(ctx)
	for _, s := range steps {
		d, err := w.step(ctx, s)
		if d == nil && err == nil && len(w.waiting) > 0 {
			d, err = w.look(ctx)
		}
		if d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil
}

func (w *world) step(ctx context.Context, s Step) (*Difference, error) {
	var got [2]answer
	w.both(func(i int, side *side) { got[i] = side.ask(ctx, s) })
	if got[0].late != nil && got[1].late != nil {
		w.lines = append(w.lines, Line{Number: s.Number, Request: s.title() + got[0].request.String()})
		w.waiting = append(w.waiting, waiting{step: s, line: len(w.lines) - 1, sent: [2]kmsg.Request{got[0].sent, got[1].sent}, late: [2]chan answer{got[0].late, got[1].late}})
		return nil, ctx.Err()
	}
	w.both(func(i int, _ *side) { got[i] = got[i].wait(ctx, otherLimit) })
	w.lines = append(w.lines, Line{Number: s.Number, Request: s.title() + got[0].request.String()})
	d := w.compare(s, got, len(w.lines)-1, !s.Reads)
	until := time.Now().Add(w.reread)
	for d != nil && s.Reads && time.Now().Before(until) {
		if err := rest(ctx, rereadEvery); err != nil {
			return nil, err
		}
		w.both(func(i int, side *side) { got[i] = side.ask(ctx, s).wait(ctx, otherLimit) })
		d = w.compare(s, got, len(w.lines)-1, false)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.Reads {
		d = w.compare(s, got, len(w.lines)-1, true)
	}
	if d != nil {
		return d, nil
	}
	w.both(func(i int, side *side) { side.settle(ctx, got[i]) })
	return nil, ctx.Err()
}

// compare learns from both answers and says where they differ, if that is not known;
// tell hears of what is.
func (w *world) compare(s Step, got [2]answer, line int, tell bool) *Difference {
	var nodes [2]*node
	for i, side := range w.sides {
		nodes[i] = side.read(s, got[i])
	}
	w.lines[line].Answer, w.lines[line].Answered = nodes[1].String(), true
	for _, p := range differ(nodes[0], nodes[1]) {
		if p.saysMore() {
			continue
		}
		d := &Difference{
			API: s.API, Version: s.Version, Path: p.path, Here: p.here, There: p.there, near: p.near,
			sent: got[1].sent, answers: [2]kmsg.Response{got[0].response, got[1].response},
			HereAnswer: nodes[0].String(), ThereAnswer: nodes[1].String(),
			Lines: append([]Line(nil), w.lines...), line: line,
		}
		d.Known = explain(d)
		if d.Known != nil && tell {
			w.known(d)
		}
		if d.Known == nil || d.Known.ends {
			return d
		}
	}
	return nil
}

// look says whether a step that waited has been answered, which both brokers must.
func (w *world) look(ctx context.Context) (*Difference, error) {
	if err := rest(ctx, pendingRest); err != nil {
		return nil, err
	}
	var still []waiting
	for i, p := range w.waiting {
		if !p.ready() {
			still = append(still, p)
			continue
		}
		var got [2]answer
		w.both(func(i int, _ *side) {
			got[i] = p.take(ctx, i)
			got[i].sent = p.sent[i]
		})
		if d := w.compare(p.step, got, p.line, true); d != nil {
			w.waiting = append(still, w.waiting[i+1:]...)
			return d, nil
		}
	}
	w.waiting = still
	return nil, ctx.Err()
}

// ready says whether either broker has answered.
func (p *waiting) ready() bool {
	for i := range p.late {
		if p.got[i] != nil {
			return true
		}
		select {
		case a := <-p.late[i]:
			p.got[i] = &a
			return true
		default:
		}
	}
	return false
}

func (p *waiting) take(ctx context.Context, i int) answer {
	if p.got[i] != nil {
		return *p.got[i]
	}
	return answer{late: p.late[i]}.wait(ctx, otherLimit)
}

// read learns from an answer and makes it comparable.
func (s *side) read(step Step, a answer) *node {
	switch {
	case a.late != nil:
		return &node{text: "no answer yet"}
	case errors.Is(a.err, compat.ErrClosed):
		return &node{text: "the connection is closed"}
	case a.err != nil:
		return &node{text: a.err.Error()}
	}
	if step.learn != nil {
		step.learn(s.view, a.response)
	}
	return s.view.normalise(a.response)
}

// blocks says whether an API may wait for what other members do.
func blocks(api kmsg.Key) bool { return api == kmsg.JoinGroup || api == kmsg.SyncGroup }

// ask sends a step until it is answered with more than that one should come again.
func (s *side) ask(ctx context.Context, step Step) answer {
	until := time.Now().Add(retryLimit)
	for {
		a := s.once(ctx, step)
		if a.late != nil || a.err != nil || !passing.MatchString(s.view.normalise(a.response).String()) || time.Now().After(until) {
			return a
		}
		if rest(ctx, retryEvery) != nil {
			return a
		}
	}
}

func (s *side) once(ctx context.Context, step Step) answer {
	req := step.request(s.view)
	a := s.exchange(ctx, req, blocks(step.API))
	a.sent, a.request = req, s.view.normalise(req)
	return a
}

// exchange asks on the side's connection. One that is left waiting, or was closed,
// is followed by another.
func (s *side) exchange(ctx context.Context, req kmsg.Request, mayBlock bool) answer {
	if s.conn == nil {
		c, err := compat.Dial(ctx, s.addr, "fuzz")
		if err != nil {
			return answer{err: err}
		}
		s.conn, s.all = c, append(s.all, c)
	}
	conn := s.conn
	done := make(chan answer, 1)
	go func() {
		resp, err := conn.Do(req)
		done <- answer{response: resp, err: err}
	}()
	limit := stepLimit
	if mayBlock {
		limit = blockAfter
	}
	a := answer{late: done}.wait(ctx, limit)
	if a.late != nil || a.err != nil {
		s.conn = nil
	}
	return a
}

// wait is the answer, or what there was, if it does not come in time.
func (a answer) wait(ctx context.Context, limit time.Duration) answer {
	if a.late == nil {
		return a
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got := <-a.late:
		got.request, got.sent = a.request, a.sent
		return got
	case <-timer.C:
	case <-ctx.Done():
	}
	return a
}

func (w *world) close() {
	for _, s := range w.sides {
		for _, c := range s.all {
			_ = c.Close() // Whatever waits on it ends.
		}
	}
}

// rest waits, or says that there is no time left.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s Step) title() string { return fmt.Sprintf("%s v%d ", s.API.Name(), s.Version) }
