// Command moldau-compat says how much like Apache Kafka a broker is.
//
//	moldau-compat --bootstrap HOST:PORT [--area AREA] [--case ID] [--against HOST:PORT] [--format table|json|junit|html] [--restart COMMAND]
//
// It plays the scenarios of package compat against the broker and prints what did
// not pass and a percentage per area. With --against it plays them against a
// second broker too and prints only what differs. The exit code is 0 when nothing
// failed (or differs), 1 when something did, 2 when the question was wrong.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/compat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errFailed says that something failed that has been printed.
var errFailed = errors.New("scenarios failed")

// options are the flags.
type options struct {
	bootstrap, against, format string
	name, againstName          string
	release                    string
	restart, againstRestart    string
	areas, cases               []string
	parallel                   int
	strict, quick, list        bool
	failFast                   bool
}

func run(ctx context.Context, args []string, out, progress io.Writer) int {
	var o options
	cmd := &cobra.Command{
		Use:           "moldau-compat --bootstrap HOST:PORT",
		Short:         "How much like Apache Kafka is this broker?",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.play(cmd.Context(), out, progress) },
	}
	f := cmd.Flags()
	f.StringVar(&o.bootstrap, "bootstrap", "", "the broker's HOST:PORT")
	f.StringVar(&o.against, "against", "", "the HOST:PORT of a second broker: print what differs")
	f.StringVar(&o.name, "name", "", "what the report calls the broker, instead of its address")
	f.StringVar(&o.againstName, "against-name", "", "what it calls the second one")
	f.StringVar(&o.format, "format", "table", "table, json, junit or html (one page for a browser)")
	f.StringSliceVar(&o.areas, "area", nil, "only scenarios of these areas")
	f.StringSliceVar(&o.cases, "case", nil, "only scenarios whose id is or begins with one of these")
	f.IntVar(&o.parallel, "parallel", 8, "how many scenarios run at once")
	f.BoolVar(&o.strict, "strict", false, "count deliberate differences as failures (for Apache Kafka)")
	f.StringVar(&o.release, "release", "", "the Kafka `release` to be like, as 3.9: leave out what Kafka does only since a later one")
	f.StringVar(&o.restart, "restart", "", "a shell `command` that stops the broker and starts it again with its data: play what restarts it too")
	f.StringVar(&o.againstRestart, "against-restart", "", "such a `command` for the second broker")
	f.BoolVar(&o.quick, "quick", false, "leave out what takes seconds")
	f.BoolVar(&o.failFast, "fail-fast", false, "begin no scenario after one has failed")
	f.BoolVar(&o.list, "list", false, "print the scenarios and play none")
	cmd.AddCommand(fuzzCommand(out))
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(progress)
	switch err := cmd.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, errFailed):
		return 1
	default:
		fmt.Fprintln(progress, "moldau-compat:", err)
		return 2
	}
}

func (o options) play(ctx context.Context, out, progress io.Writer) error {
	scenarios := o.choose(compat.Scenarios())
	switch {
	case len(scenarios) == 0:
		return errors.New("no scenario has such an area or id; --list prints all")
	case o.list:
		return list(out, scenarios)
	case o.bootstrap == "":
		return errors.New("--bootstrap HOST:PORT is needed")
	case o.release != "" && !compat.ValidRelease(o.release):
		return fmt.Errorf("--release %s: want a release of Kafka, as 3.9", o.release)
	case !slices.Contains([]string{"table", "json", "junit", "html"}, o.format):
		return fmt.Errorf("--format %s: want table, json, junit or html", o.format)
	}
	report, err := o.runner(o.name, o.bootstrap, o.restart, progress).Run(ctx, scenarios)
	if err != nil {
		return err
	}
	if o.against != "" {
		other, err := o.runner(o.againstName, o.against, o.againstRestart, progress).Run(ctx, scenarios)
		if err != nil {
			return err
		}
		return o.differences(out, report, other)
	}
	write := map[string]func(io.Writer) error{"table": report.WriteTable, "json": report.WriteJSON, "junit": report.WriteJUnit, "html": func(w io.Writer) error { return report.WriteHTML(w, nil) }}[o.format]
	if err := write(out); err != nil {
		return err
	}
	if report.Failed() {
		return errFailed
	}
	return nil
}

// choose keeps the scenarios that the flags ask for.
func (o options) choose(all []compat.Scenario) []compat.Scenario {
	return slices.DeleteFunc(all, func(s compat.Scenario) bool {
		named := slices.ContainsFunc(o.cases, func(id string) bool { return s.ID == id || strings.HasPrefix(s.ID, id+".") })
		return len(o.areas) > 0 && !slices.Contains(o.areas, s.Area()) || len(o.cases) > 0 && !named
	})
}

func list(out io.Writer, scenarios []compat.Scenario) error {
	for _, s := range scenarios {
		if _, err := fmt.Fprintf(out, "%s\n    %s%s\n", s.ID, s.Says, since(s)); err != nil {
			return err
		}
	}
	return nil
}

// since names the release that first does what a scenario says, if it is told.
func since(s compat.Scenario) string {
	if s.Since == "" {
		return ""
	}
	return " (since Kafka " + s.Since + ")"
}

func (o options) runner(name, addr, restart string, progress io.Writer) compat.Runner {
	r := compat.Runner{Name: name, Bootstrap: addr, Parallel: o.parallel, Strict: o.strict, Quick: o.quick, FailFast: o.failFast, Release: o.release}
	if restart != "" {
		r.Restart = func(ctx context.Context) error { return shell(ctx, restart) }
	}
	if f, ok := progress.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			r.Progress = func(done, all int, res compat.Result) {
				fmt.Fprintf(f, "\r\033[K%d of %d  %s", done, all, res.ID)
				if done == all {
					fmt.Fprint(f, "\r\033[K")
				}
			}
		}
	}
	return r
}

// shell runs a command of the user's and says what it printed if it fails.
func shell(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.WaitDelay = time.Second // What it leaves behind, a broker for one, may keep its output open.
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w\n%s", command, err, printed.Bytes())
	}
	return nil
}

func (o options) differences(out io.Writer, here, there *compat.Report) error {
	ds := here.Differences(there)
	var err error
	switch o.format {
	case "json":
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(ds)
	case "html":
		err = here.WriteHTML(out, there)
	default:
		_, err = io.WriteString(out, differencesTable(here, there, ds))
	}
	if err == nil && len(ds) > 0 {
		return errFailed
	}
	return err
}

func differencesTable(here, there *compat.Report, ds []compat.Difference) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintf(&b, "%s\n    %s: %s %s\n    %s: %s %s\n", d.ID, here.Broker(), d.Here, d.HereWhy, there.Broker(), d.There, d.ThereWhy)
	}
	fmt.Fprintf(&b, "%d of %d scenarios end differently\n", len(ds), len(here.Results))
	return b.String()
}
