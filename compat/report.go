package compat

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// Report is what a run found.
type Report struct {
	Name      string   `json:"name,omitempty"` // What the reader calls the broker.
	Bootstrap string   `json:"bootstrap"`
	APIs      []API    `json:"apis"` // As advertised, by key.
	Results   []Result `json:"results"`
}

// Broker is the broker's name, its address where it has none.
func (r *Report) Broker() string { return cmp.Or(r.Name, r.Bootstrap) }

// API is an API that a broker advertises.
type API struct {
	Key  int16  `json:"key"`
	Name string `json:"name"`
	Min  int16  `json:"min"`
	Max  int16  `json:"max"`
	// Versions are all from Min to Max, and what the scenarios saw of them.
	Versions []scenario.Version `json:"versions"`
}

func apis(t *scenario.Target) []API {
	var all []API
	for _, k := range t.Advertised() {
		all = append(all, API{k.ApiKey, kmsg.NameForKey(k.ApiKey), k.MinVersion, k.MaxVersion, t.Seen(k)})
	}
	return all
}

// Count is how many scenarios of an area ended how.
type Count struct {
	Area          string `json:"area"`
	Passed        int    `json:"passed"`
	Deviates      int    `json:"deviates"`
	Failed        int    `json:"failed"`
	NotApplicable int    `json:"not_applicable"`
}

// Percent is the share of those that apply which did not fail; 100 if none do.
func (c Count) Percent() float64 {
	if n := c.Passed + c.Deviates + c.Failed; n > 0 {
		return 100 * float64(n-c.Failed) / float64(n)
	}
	return 100
}

func (c *Count) add(o Outcome) {
	switch o {
	case Passed:
		c.Passed++
	case Deviates:
		c.Deviates++
	case Failed:
		c.Failed++
	case NotApplicable:
		c.NotApplicable++
	}
}

// Counts are the counts by area, in order, and those of all.
func (r *Report) Counts() (areas []Count, all Count) {
	all.Area = "all"
	for _, res := range r.Results {
		i, ok := slices.BinarySearchFunc(areas, res.Area, func(c Count, a string) int { return strings.Compare(c.Area, a) })
		if !ok {
			areas = slices.Insert(areas, i, Count{Area: res.Area})
		}
		areas[i].add(res.Outcome)
		all.add(res.Outcome)
	}
	return areas, all
}

// Failed says whether a scenario failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Results, func(res Result) bool { return res.Outcome == Failed })
}

// since names the release that first does what a scenario says, if it is told.
func since(release string) string {
	if release == "" {
		return ""
	}
	return " (since Kafka " + release + ")"
}

// left tells what could not be undone.
func (r Result) left() []string {
	var lines []string
	for _, l := range r.Left {
		lines = append(lines, "not undone: "+l)
	}
	return lines
}

// WriteTable writes the report for people: what did not pass or was
// not undone, and the counts.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, res := range r.Results {
		if res.Outcome == Passed && len(res.Left) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s  %s\n    %s%s\n", res.Outcome, res.ID, res.Says, since(res.Since))
		for _, line := range slices.Concat(strings.Split(res.Why, "\n"), res.left()) {
			if line != "" {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		for _, x := range res.Wire {
			fmt.Fprintf(&b, "    > %s\n    < %s\n", x.Request, x.Response)
		}
	}
	areas, all := r.Counts()
	fmt.Fprintf(&b, "\n%s\n", r.Broker())
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "area\tpassed\tdeviates\tfailed\tn/a\t%\t\n")
	for _, c := range append(areas, all) {
		fmt.Fprintf(tab, "%s\t%d\t%d\t%d\t%d\t%.1f\t\n", c.Area, c.Passed, c.Deviates, c.Failed, c.NotApplicable, c.Percent())
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Seconds string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Body    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit's XML, which continuous integration reads.
func (r *Report) WriteJUnit(w io.Writer) error {
	_, all := r.Counts()
	s := junitSuite{Name: "moldau-compat " + r.Broker(), Tests: len(r.Results), Failures: all.Failed, Skipped: all.NotApplicable}
	for _, res := range r.Results {
		c := junitCase{Class: res.Area, Name: res.ID, Seconds: fmt.Sprintf("%.3f", res.Took.Seconds())}
		var body strings.Builder
		for _, x := range res.Wire {
			fmt.Fprintf(&body, "> %s\n< %s\n", x.Request, x.Response)
		}
		switch res.Outcome {
		case Failed:
			c.Failure = &junitText{res.Why, body.String()}
		case NotApplicable:
			c.Skipped = &junitText{Message: res.Why}
		case Deviates:
			c.Out = "deviates: " + res.Why
		case Passed:
		}
		if left := strings.Join(res.left(), "\n"); left != "" {
			c.Out = strings.TrimPrefix(c.Out+"\n"+left, "\n")
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Difference is a scenario that ended differently at two brokers.
type Difference struct {
	ID       string  `json:"id"`
	Here     Outcome `json:"here"`
	There    Outcome `json:"there"`
	HereWhy  string  `json:"here_why,omitempty"`
	ThereWhy string  `json:"there_why,omitempty"`
}

// ownNames are the names that a run makes up, which differ from run to run.
var ownNames = regexp.MustCompile(`compat-[0-9a-z]+-[0-9]+\.`)

// sameReason says whether two scenarios failed alike, but for the names in it.
func sameReason(a, b string) bool {
	return ownNames.ReplaceAllString(a, "") == ownNames.ReplaceAllString(b, "")
}

// Differences are the scenarios that ended differently in r and in other.
func (r *Report) Differences(other *Report) []Difference {
	there := make(map[string]Result)
	for _, res := range other.Results {
		there[res.ID] = res
	}
	var all []Difference
	for _, res := range r.Results {
		if o, ok := there[res.ID]; ok && (o.Outcome != res.Outcome || o.Outcome == Failed && !sameReason(o.Why, res.Why)) {
			all = append(all, Difference{res.ID, res.Outcome, o.Outcome, res.Why, o.Why})
		}
	}
	return all
}
