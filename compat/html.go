package compat

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/compat/scenario"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": percent,
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) },
	"join":    func(all []string) string { return strings.Join(all, ", ") },
	"lines":   lines,
	"state":   state,
	"title":   title,
}).Parse(pageText))

// percent rounds down: one failure of thousands is not 100 %.
func percent(p float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", math.Floor(p*10)/10), ".0") + " %"
}

// WriteHTML writes the report as one page that needs nothing beside itself. With a
// second report the page shows both and marks what differs.
func (r *Report) WriteHTML(w io.Writer, against *Report) error {
	return page.Execute(w, newPageView(r, against))
}

// pageView is what the page shows.
type pageView struct {
	Title     string
	Sides     []pageSide
	Against   bool
	Different int
	Areas     []pageArea
	Scenarios []pageScenario
	APIs      []pageAPI
}

// pageSide is one broker.
type pageSide struct {
	*Report

	All  Count
	Took time.Duration
}

// pageArea is an area with a count for each broker.
type pageArea struct {
	Name      string
	Counts    []Count
	Scenarios []pageScenario
}

// pageScenario is a scenario and how it ended at each broker.
type pageScenario struct {
	Result

	Is   string // The words by which the page filters it.
	Open bool
	Ends []pageEnd
}

// pageEnd is how a scenario ended at one broker. Its reason is taken apart where it
// says what was wanted and what came.
type pageEnd struct {
	Result

	Broker        string
	At, Got, Want string
}

// pageAPI is an API with its versions at each broker.
type pageAPI struct {
	Key      int16
	Name     string
	Versions [][]scenario.Version
}

// state is a version's class on the page.
func state(v scenario.Version) string {
	switch {
	case v.Unsound:
		return "unsound"
	case v.Answered:
		return "sound"
	}
	return "unasked"
}

// title is what the page says of a version on which a pointer rests.
func title(v scenario.Version) string {
	return map[string]string{
		"sound":   "advertised, answered, and exactly as the version says",
		"unsound": "advertised and answered, but not as the version says",
		"unasked": "advertised; no answer was read",
	}[state(v)]
}

func newPageView(r, against *Report) pageView {
	v := pageView{Title: "moldau-compat: " + r.Broker(), Against: against != nil}
	reports := []*Report{r}
	if against != nil {
		reports = append(reports, against)
		v.Title += " and " + against.Broker()
		v.Different = len(r.Differences(against))
	}
	for _, one := range reports {
		side := pageSide{Report: one}
		_, side.All = one.Counts()
		for _, res := range one.Results {
			side.Took += res.Took
		}
		v.Sides = append(v.Sides, side)
	}
	v.Scenarios = pageScenarios(reports)
	for _, s := range v.Scenarios {
		if n := len(v.Areas); n == 0 || v.Areas[n-1].Name != s.Area {
			v.Areas = append(v.Areas, pageArea{Name: s.Area})
		}
		area := &v.Areas[len(v.Areas)-1]
		area.Scenarios = append(area.Scenarios, s)
	}
	for i := range v.Areas {
		for _, one := range reports {
			v.Areas[i].Counts = append(v.Areas[i].Counts, one.count(v.Areas[i].Name))
		}
	}
	v.APIs = pageAPIs(reports)
	return v
}

// count is an area's.
func (r *Report) count(area string) Count {
	c := Count{Area: area}
	for _, res := range r.Results {
		if res.Area == area {
			c.add(res.Outcome)
		}
	}
	return c
}

// pageScenarios are those of all reports, in the order of their ids.
func pageScenarios(reports []*Report) []pageScenario {
	var all []pageScenario
	for _, r := range reports {
		for _, res := range r.Results {
			i, found := slices.BinarySearchFunc(all, res.ID, func(s pageScenario, id string) int { return strings.Compare(s.ID, id) })
			if !found {
				all = slices.Insert(all, i, pageScenario{Result: res})
			}
			all[i].Ends = append(all[i].Ends, newPageEnd(r.Broker(), res))
		}
	}
	var differ []string
	if len(reports) == 2 {
		for _, d := range reports[0].Differences(reports[1]) {
			differ = append(differ, d.ID)
		}
	}
	for i := range all {
		s := &all[i]
		var is []string
		for _, end := range s.Ends {
			is = append(is, string(end.Outcome))
			s.Open = s.Open || end.Outcome == Failed
		}
		if slices.Contains(differ, s.ID) {
			is = append(is, "different")
		}
		s.Is = strings.Join(is, " ")
	}
	return all
}

// gotWant is how the checks of T word what they found.
var gotWant = regexp.MustCompile(`(?s)^(.*?): got (.*), want (.*)$`)

func newPageEnd(broker string, res Result) pageEnd {
	end := pageEnd{Result: res, Broker: broker}
	if m := gotWant.FindStringSubmatch(res.Why); m != nil && res.Outcome == Failed {
		end.At, end.Got, end.Want, end.Why = m[1], m[2], m[3], ""
	}
	return end
}

func pageAPIs(reports []*Report) []pageAPI {
	var all []pageAPI
	for side, r := range reports {
		for _, api := range r.APIs {
			i, found := slices.BinarySearchFunc(all, api.Key, func(a pageAPI, key int16) int { return int(a.Key) - int(key) })
			if !found {
				all = slices.Insert(all, i, pageAPI{Key: api.Key, Name: api.Name, Versions: make([][]scenario.Version, len(reports))})
			}
			all[i].Versions[side] = api.Versions
		}
	}
	return all
}

// lines breaks a readable request or response into indented lines: a field a line,
// and short lists and structures on one.
func lines(s string) string {
	const short = 72
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '"', '<':
			n := literal(s[i:])
			b.WriteString(s[i : i+n])
			i += n
			continue
		case '{', '[':
			if n := closing(s[i:]); n <= short {
				b.WriteString(s[i : i+n])
				i += n
				continue
			}
			depth++
			b.WriteByte(c)
			newLine(&b, depth)
		case '}', ']':
			depth = max(depth-1, 0)
			newLine(&b, depth)
			b.WriteByte(c)
		case ' ':
			if depth == 0 {
				b.WriteByte(c)
			} else {
				newLine(&b, depth)
			}
		default:
			b.WriteByte(c)
		}
		i++
	}
	return b.String()
}

func newLine(b *strings.Builder, depth int) {
	b.WriteString("\n" + strings.Repeat("  ", depth))
}

// literal is the length of the string or bytes that s begins with.
func literal(s string) int {
	end := byte('>')
	if s[0] == '"' {
		end = '"'
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && end == '"':
			i++
		case s[i] == end:
			return i + 1
		}
	}
	return len(s)
}

// closing is the length of the structure or list that s begins with.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); {
		switch s[i] {
		case '"', '<':
			i += literal(s[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(s)
}
