// Program clients runs the same end-to-end scripts through many Kafka clients, each as
// its registry has it, against one broker after the other, and prints a matrix.
//
//	clients [flags] moldau apache      bin/moldau of this tree, and the control
//	clients [flags] HOST:PORT          a broker that runs already
//
// README.md tells what the scripts are about. The exit code is 1 where a script fails
// against the first broker and not against the last.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	red, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(2)
	}
	if red > 0 {
		fmt.Fprintf(os.Stderr, "clients: %d scripts fail against the first broker alone\n", red)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	only, script   string
	corrupt        bool
	markdown, json string
}

func parse(args []string) (settings, []string, error) {
	var s settings
	flags := flag.NewFlagSet("clients", flag.ContinueOnError)
	flags.StringVar(&s.only, "only", "", "the clients to run, by name and separated by commas; empty is all")
	flags.StringVar(&s.script, "script", "all", "the script to run")
	flags.BoolVar(&s.corrupt, "corrupt", false, "have every script compare with wrong values: all must fail")
	flags.StringVar(&s.markdown, "markdown", "", "a file to write the matrix into")
	flags.StringVar(&s.json, "json", "", "a file to write all results into")
	if err := flags.Parse(args); err != nil {
		return s, nil, err
	}
	if flags.NArg() == 0 {
		return s, nil, fmt.Errorf("name a broker: moldau, apache or HOST:PORT")
	}
	return s, flags.Args(), nil
}

func run(ctx context.Context, args []string, out, progress io.Writer) (red int, err error) {
	s, brokers, err := parse(args)
	if err != nil {
		return 0, err
	}
	here, err := folder()
	if err != nil {
		return 0, err
	}
	chosen, err := choose(clients(here), s.only)
	if err != nil {
		return 0, err
	}
	report := Report{Corrupt: s.corrupt}
	for _, c := range chosen {
		report.Clients = append(report.Clients, Column{Name: c.name, Version: c.version, Kind: c.kind})
	}
	install(ctx, here, chosen, report.Clients, progress)

	for _, name := range brokers {
		begin := time.Now()
		if err := against(ctx, here, name, s, chosen, &report, progress); err != nil {
			return 0, err
		}
		report.Brokers[len(report.Brokers)-1].Seconds = time.Since(begin).Round(time.Second).Seconds()
	}
	if err := report.write(s.markdown, s.json); err != nil {
		return 0, err
	}
	_, err = io.WriteString(out, report.Markdown())
	return report.Red(), err
}

// against runs all clients against one broker.
func against(ctx context.Context, here, name string, s settings, chosen []client, report *Report, progress io.Writer) error {
	b, err := start(ctx, here, name)
	if err != nil {
		return err
	}
	defer b.stop()
	report.Brokers = append(report.Brokers, Broker{Name: b.name, Version: b.version})
	for i, c := range chosen {
		column := &report.Clients[i]
		if column.NotHad != "" {
			continue
		}
		fmt.Fprintf(progress, "%s: %s %s\n", b.name, c.name, c.version)
		results := c.run(ctx, b.bootstrap, s, filepath.Join(here, ".work"))
		for _, r := range results {
			if r.Error != "" {
				fmt.Fprintf(progress, "    %s: %s\n", r.Script, r.Error)
			}
		}
		column.Results = append(column.Results, results)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// choose returns the clients that are named in only.
func choose(all []client, only string) ([]client, error) {
	if only == "" {
		return all, nil
	}
	var chosen []client
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(c client) bool { return c.name == name })
		if i < 0 {
			var names []string
			for _, c := range all {
				names = append(names, c.name)
			}
			return nil, fmt.Errorf("there is no client %q; there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// folder finds this module, from which the program is run.
func folder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(here, "python", "requirements.txt")); err != nil {
		return "", fmt.Errorf("run this in compat/clients: %w", err)
	}
	return here, nil
}

// write writes the report into files, if they are named.
func (r Report) write(markdown, list string) error {
	if markdown != "" {
		if err := os.WriteFile(markdown, []byte(r.Markdown()), 0o644); err != nil {
			return err
		}
	}
	if list == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(list, append(text, '\n'), 0o644)
}
