package scenario

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenario is one conversation with a broker and what must come of it.
type Scenario struct {
	// ID is the scenario's stable name: the area, then dots between words that
	// grow more special (produce.idempotent.duplicate-within-5).
	ID string
	// Says is what Kafka does, in one sentence.
	Says string
	// Refs name where it is known from: a KIP, a JIRA issue, a public issue of
	// another broker, and the cases of docs/reports/0004-cases.md that it plays.
	Refs []string
	// Since is the lowest Kafka release that behaves so, where that is above 2.1,
	// the oldest client level that Kafka 4 still serves.
	Since string
	// Limit bounds the run. Default DefaultLimit.
	Limit time.Duration
	// Slow marks what takes seconds because Kafka's own timers do. Such scenarios
	// run unless Runner.Quick.
	Slow bool
	// Alone marks what disturbs others on the same broker (a setting of the whole
	// broker). Such scenarios run after the rest, one at a time.
	Alone bool
	// Restarts marks what restarts the broker (T.Restart). Such scenarios run after all
	// others, at once, and share the restarts. Their limit is RestartLimit if they have none.
	Restarts bool
	// Run plays it. It ends early through T.
	Run func(t *T)
}

// Area is what the scenario is about: the first word of its ID.
func (s Scenario) Area() string {
	area, _, _ := strings.Cut(s.ID, ".")
	return area
}

// Newer says whether a scenario is about what Kafka does only since a later release.
// An empty release is newer than all.
func (s Scenario) Newer(release string) bool {
	return release != "" && s.Since != "" && slices.Compare(numbers(s.Since), numbers(release)) > 0
}

// ValidRelease says whether a text is a release of Kafka, as 3.9 or 4.0.1.
func ValidRelease(release string) bool { return releases.MatchString(release) }

var releases = regexp.MustCompile(`^\d+(\.\d+)+$`)

// numbers are those of a release.
func numbers(release string) []int {
	var all []int
	for part := range strings.SplitSeq(release, ".") {
		n, _ := strconv.Atoi(part) // ValidRelease was asked.
		all = append(all, n)
	}
	return all
}

// DefaultLimit is how long a scenario may take that says nothing of it.
const DefaultLimit = 20 * time.Second

// RestartLimit is that of scenarios that restart the broker: they wait for each other.
const RestartLimit = 3 * time.Minute

func (s Scenario) limit() time.Duration {
	if s.Restarts {
		return cmp.Or(s.Limit, RestartLimit)
	}
	return cmp.Or(s.Limit, DefaultLimit)
}
