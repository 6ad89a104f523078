package group

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/moldau-broker/moldau/coordinator"
)

// regexPause is how long the topics that patterns match are left alone after they
// were looked up, whatever changes.
const regexPause = 10 * time.Second

// Resolve asks for the topics that a group's regular expressions match. It leaves
// the shard as a message (coordinator.Effects), for looking through all topics is
// not a step's work; Resolved is the answer, to the same shard. If none comes, the
// shard asks again.
type Resolve struct {
	Group string
	// Regexes are all that the group's members subscribe to, in order.
	Regexes []string
	// Cluster is the image to look in.
	Cluster Cluster
	// Visible says what the member may know of that made the shard ask; nil: of all
	// topics.
	Visible func(topic string) bool
}

// Resolved says what topics regular expressions matched. The reply is nil.
type Resolved struct {
	Group string
	// Version is that of the cluster that was looked in.
	Version int64
	// Topics holds, in order, the names that each of the expressions matched.
	Topics map[string][]string
}

// Match answers a Resolve.
func (r Resolve) Match() Resolved {
	out := Resolved{Group: r.Group, Version: r.Cluster.Version(), Topics: make(map[string][]string, len(r.Regexes))}
	compiled := make(map[string]*regexp.Regexp, len(r.Regexes))
	for _, expr := range r.Regexes {
		out.Topics[expr] = nil
		if re, err := compile(expr); err == nil { // It was let in, maybe by another release.
			compiled[expr] = re
		}
	}
	for name := range r.Cluster.TopicNames() {
		visible := r.Visible == nil
		for expr, re := range compiled {
			if !re.MatchString(name) {
				continue
			}
			if !visible && !r.Visible(name) {
				break
			}
			visible = true
			out.Topics[expr] = append(out.Topics[expr], name)
		}
	}
	for _, list := range out.Topics {
		slices.Sort(list)
	}
	return out
}

// compile makes a pattern that matches whole names only.
func compile(expr string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expr); err != nil {
		return nil, err // So that its parentheses cannot pair with ours.
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// validateRegex says whether a member may subscribe to a pattern.
func validateRegex(expr string) *refusal {
	_, err := compile(expr)
	if err == nil {
		return nil
	}
	why := err.Error()
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		why = bad.Code.String()
	}
	return refuse(kerr.InvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", expr, why)
}

// resolving is where the look-up of a group's patterns stands. What the records say
// counts as well, which another coordinator may have written.
type resolving struct {
	since   time.Time // When it was asked for; zero: it is not under way.
	version int64     // Of the last answer, which may have changed nothing.
	atMs    int64
}

// changeRegex is called before a member takes on another pattern. matched says
// that the topics that it reads are another's now, so that the group must be
// assigned anew; of a new pattern that is not known yet.
func (ch *change) changeRegex(was, is string) (matched bool, err *refusal) {
	if was == is {
		return false, nil
	}
	if was != "" && ch.now.patterns[was] == 1 {
		ch.forgetRegex(was)
	}
	if is == "" {
		return true, nil
	}
	if ch.now.patterns[is] == 0 {
		return false, validateRegex(is)
	}
	_, matched = ch.now.regexes[is]
	return matched, nil
}

// dropRegex forgets a pattern that nobody subscribes to any more.
func (ch *change) dropRegex(regex string) {
	if regex != "" && ch.now.patterns[regex] == 0 {
		ch.forgetRegex(regex)
	}
}

func (ch *change) forgetRegex(regex string) {
	if _, ok := ch.now.regexes[regex]; !ok {
		return
	}
	delete(ch.draft().regexes, regex)
	ch.write(consumerTombstone(keyRegex, ch.g.id, regex))
}

// refreshRegexes asks for the topics that the group's patterns match, if that is
// not known, or the cluster has changed, or it was long ago.
func (ch *change) refreshRegexes(rq Request) {
	used := ch.now.patterns
	if len(used) == 0 {
		return
	}
	now, soft := ch.s.nowMs(), ch.g.modern.regexes
	if !soft.since.IsZero() && ch.s.now.Sub(soft.since) <= regexPause {
		return
	}
	version, atMs, missing := soft.version, soft.atMs, false
	for regex := range used {
		r, ok := ch.now.regexes[regex]
		missing = missing || !ok
		version, atMs = max(version, r.version), max(atMs, r.atMs)
	}
	if now <= atMs+regexPause.Milliseconds() {
		return
	}
	if missing || version < ch.s.cluster.Version() || now > atMs+ch.s.cfg.Consumer.RegexRefresh.Milliseconds() {
		ch.sends = append(ch.sends, Resolve{
			Group: ch.g.id, Regexes: sortedKeys(used), Cluster: ch.s.cluster, Visible: rq.Visible,
		})
	}
}

// resolved takes in what patterns matched.
func (s *Shard) resolved(t coordinator.Ticket, in Resolved) {
	defer s.reply(t, nil)
	g := s.groups[in.Group]
	if g == nil || g.consumers == nil {
		return
	}
	now := s.nowMs()
	g.modern.regexes = resolving{version: in.Version, atMs: now}
	ch, differs := s.edit(g), false
	for _, regex := range sortedKeys(in.Topics) {
		if ch.now.patterns[regex] == 0 {
			continue
		}
		old, known := ch.now.regexes[regex]
		same := slices.Equal(old.topics, in.Topics[regex])
		if known && same && now <= old.atMs+s.cfg.Consumer.RegexRefresh.Milliseconds() {
			continue
		}
		differs = differs || !same
		r := resolved{topics: in.Topics[regex], version: in.Version, atMs: now}
		ch.draft().regexes[regex] = r
		ch.write(regexRecord(g.id, regex, r))
	}
	// A pattern that took another's place was not looked at until now.
	ch.hashedAt = 0
	ch.bump(differs)
	ch.apply()
}
