package moldau

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// casesPage is the table of what other brokers got wrong and of what holds it here.
const casesPage = "docs/reports/0004-cases.md"

// caseAreas are the areas of cases and their last numbers; all numbers are odd.
var caseAreas = map[string]int{"P": 19, "F": 23, "G": 23, "T": 21, "A": 25, "ST": 15, "C": 13, "O": 19}

var (
	caseRow    = regexp.MustCompile(`(?m)^\| ([A-Z]+\d\d) \|(.*)\|(.*)\|(.*)\|(.*)\|$`)
	caseRef    = regexp.MustCompile(`"case ([A-Z]+\d\d)"`)
	scenarioID = regexp.MustCompile(`\{ID: "([a-z0-9.-]+)"`)
	goTest     = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// heldCase is a row of the table: its case, what it names, and the remark.
type heldCase struct {
	id, remark string
	names      []string
}

func heldCases(text string) (rows []heldCase) {
	for _, m := range caseRow.FindAllStringSubmatch(text, -1) {
		row := heldCase{id: m[1], remark: strings.TrimSpace(m[5])}
		for _, name := range quoted.FindAllStringSubmatch(m[4], -1) {
			row.names = append(row.names, name[1])
		}
		rows = append(rows, row)
	}
	return rows
}

// scenarioCases reads the scenarios of a tree from their source, since the root of the
// tree imports nothing, and returns the cases that each one's references name.
func scenarioCases(t *testing.T, root string) map[string][]string {
	t.Helper()
	cases := map[string][]string{}
	for _, path := range glob(t, root, "compat/scenarios/*/*.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for line := range strings.Lines(read(t, path)) {
			id := scenarioID.FindStringSubmatch(line)
			if id == nil {
				continue
			}
			cases[id[1]] = []string{}
			for _, c := range caseRef.FindAllStringSubmatch(line, -1) {
				cases[id[1]] = append(cases[id[1]], c[1])
			}
		}
	}
	return cases
}

func glob(t *testing.T, root, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wrongCases says what is wrong with a table of cases in a tree.
func wrongCases(t *testing.T, root, table string) (wrong []string) {
	t.Helper()
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	missing := map[string]bool{}
	for area, last := range caseAreas {
		for n := 1; n <= last; n += 2 {
			missing[fmt.Sprintf("%s%02d", area, n)] = true
		}
	}
	scenarios := scenarioCases(t, root)
	told := map[string][]string{} // Scenario to cases, by the table.
	for _, row := range heldCases(table) {
		if !missing[row.id] {
			complain("%s is in the table twice, or is no case", row.id)
		}
		delete(missing, row.id)
		if len(row.names) == 0 && !strings.Contains(row.remark, "Does not apply") {
			complain("%s is held by nothing", row.id)
		}
		for _, name := range row.names {
			folder, test, isTest := strings.Cut(name, " ")
			_, isScenario := scenarios[name]
			switch {
			case isTest:
				if !slices.Contains(testsOf(t, root, folder), test) {
					complain("%s: there is no %s in %s", row.id, test, folder)
				}
			case strings.Contains(name, "/"):
				if text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name))); err != nil || !strings.Contains(string(text), row.id) {
					complain("%s: there is no %s that names it", row.id, name)
				}
			case isScenario:
				told[name] = append(told[name], row.id)
			default:
				complain("%s: there is no scenario %s", row.id, name)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		complain("%s is not in the table", id)
	}
	for _, id := range slices.Sorted(maps.Keys(scenarios)) {
		if said := scenarios[id]; !slices.Equal(sorted(said), sorted(told[id])) {
			complain("scenario %s refers to cases %v, the table names it for %v", id, said, told[id])
		}
	}
	return wrong
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// testsOf are the names of the tests of one folder.
func testsOf(t *testing.T, root, folder string) (names []string) {
	t.Helper()
	for _, path := range glob(t, root, folder+"/*_test.go") {
		for _, m := range goTest.FindAllStringSubmatch(read(t, path), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// TestCasesAreHeld keeps the table from rotting: what it names exists.
func TestCasesAreHeld(t *testing.T) {
	for _, w := range wrongCases(t, ".", read(t, filepath.FromSlash(casesPage))) {
		t.Errorf("%s: %s", casesPage, w)
	}
}

// TestWrongCasesSeesRot lays tables over a planted tree of one test, one script and one
// scenario.
func TestWrongCasesSeesRot(t *testing.T) {
	root := t.TempDir()
	write(t, root, "broker/x_test.go", "package broker\n\nfunc TestX(t *testing.T) {}\n")
	write(t, root, "broker/testdata/x.script", "# P03: it is so.\n")
	write(t, root, "compat/scenarios/x/x.go", "\t{ID: \"x.y\", Says: \"So.\", Refs: []string{\"KIP-1\", \"case P05\"}, Run: x},\n")
	var rest strings.Builder
	for area, last := range caseAreas {
		for n := 1; n <= last; n += 2 {
			if id := fmt.Sprintf("%s%02d", area, n); id != "P01" && id != "P03" && id != "P05" {
				fmt.Fprintf(&rest, "| %s | a | b | - | Does not apply. |\n", id)
			}
		}
	}
	sound := [3]string{"| P01 | a | b | `broker TestX` | |\n", "| P03 | a | b | `broker/testdata/x.script` | |\n", "| P05 | a | b | `x.y`<br>`broker TestX` | |\n"}
	for name, tc := range map[string]struct {
		row  int
		text string
		want string // Part of what is said.
	}{
		"nothing":                       {0, sound[0], ""},
		"a test that is gone":           {0, "| P01 | a | b | `broker TestGone` | |\n", "P01: there is no TestGone in broker"},
		"a test of another folder":      {0, "| P01 | a | b | `compat TestX` | |\n", "P01: there is no TestX in compat"},
		"nothing holds it":              {0, "| P01 | a | b | - | |\n", "P01 is held by nothing"},
		"a case that is left out":       {0, "", "P01 is not in the table"},
		"a case twice":                  {0, sound[0] + sound[0], "P01 is in the table twice"},
		"no case":                       {0, sound[0] + "| P02 | a | b | `broker TestX` | |\n", "P02 is in the table twice, or is no case"},
		"a script that is gone":         {1, "| P03 | a | b | `broker/testdata/gone.script` | |\n", "P03: there is no broker/testdata/gone.script"},
		"a script of other cases":       {0, "| P01 | a | b | `broker/testdata/x.script` | |\n", "P01: there is no broker/testdata/x.script that names it"},
		"a scenario that is gone":       {0, "| P01 | a | b | `x.gone` | |\n", "P01: there is no scenario x.gone"},
		"a scenario without the case":   {0, "| P01 | a | b | `x.y` | |\n", "scenario x.y refers to cases [P05], the table names it for [P01 P05]"},
		"a scenario that is not listed": {2, "| P05 | a | b | `broker TestX` | |\n", "scenario x.y refers to cases [P05], the table names it for []"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := sound
			rows[tc.row] = tc.text
			got := strings.Join(wrongCases(t, root, strings.Join(rows[:], "")+rest.String()), "\n")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("said %q, want %q", got, tc.want)
			}
		})
	}
}
