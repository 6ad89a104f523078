package coordtest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/coordinator"
)

var update = flag.Bool("update", false, "rewrite the output in scripts instead of comparing with it")

// Update says whether the flag -update was given, for a test that has more golden
// files than scripts.
func Update() bool { return *update }

// Script says how the commands of a script reach a shard, and how what it does
// is shown.
type Script struct {
	// NewShard makes an empty shard.
	NewShard func() coordinator.Shard
	// Parse makes an input of a command that is not one of the script's own.
	Parse func(command string) (any, error)
	// ShowRecord, ShowReply and ShowTimer print one line each. ShowReply may be
	// given a nil body together with an error.
	ShowRecord func(coordinator.Record) string
	ShowReply  func(coordinator.Reply) string
	ShowTimer  func(key any) string
	// ShowSend prints a message of the shard in one line. Needed only if it sends.
	ShowSend func(message any) string
	// ShowState prints the hard state: all that the log says. Lines end in \n.
	ShowState func(coordinator.Shard) string
	// ShowSoft prints what is not in the log, for the command soft. Optional.
	ShowSoft func(coordinator.Shard) string
}

// Run plays the script in the file at path.
//
// A line that begins in the first column is a command; the indented lines below
// it are what came of it, and are compared (with -update, rewritten). A timer that
// goes off n times in a row, with nothing in between, is one line that ends in xn.
// Empty lines and those that begin with # say nothing. The commands are
//
//	tick 10s     let time pass; timers go off at their times
//	hold         keep records uncommitted from now on
//	commit       commit all records
//	release      commit all records, and from now on all at once
//	refuse TEXT  the next append is refused
//	failover     load the log into a new shard
//	state        print the hard state
//	soft         print the rest
//
// and whatever Parse knows. Every script is played twice and must print the same
// both times, and at the end a new shard that replays the log must have the same
// hard state.
func Run(t *testing.T, s Script, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, m := s.play(t, string(raw))
	if again, _ := s.play(t, string(raw)); again != got {
		t.Fatalf("%s: the second run printed something else:\n%s", path, cmp.Diff(got, again))
	}
	if live, replayed := s.ShowState(m.Shard()), s.ShowState(m.Replayed()); live != replayed {
		t.Errorf("%s: replaying the log gives another state (-live +replayed):\n%s", path, cmp.Diff(live, replayed))
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(raw), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites):\n%s", path, diff)
	}
}

// play runs the commands and returns the script with its output renewed.
func (s Script) play(t *testing.T, text string) (string, *Machine) {
	t.Helper()
	var out strings.Builder
	var due string // The last line, if it is of a timer.
	var times int
	flush := func() {
		if times > 1 {
			due += fmt.Sprintf(" x%d", times)
		}
		if times > 0 {
			fmt.Fprintf(&out, "  %s\n", due)
		}
		due, times = "", 0
	}
	show := func(e Event) {
		if e.Due != nil {
			if line := "due " + s.ShowTimer(e.Due); line != due {
				flush()
				due = line
			}
			times++
			return
		}
		flush()
		switch {
		case e.Record != nil:
			fmt.Fprintf(&out, "  record %d %s\n", e.Offset, s.ShowRecord(*e.Record))
		case e.Reply != nil:
			fmt.Fprintf(&out, "  reply to %d: %s\n", e.Reply.To, s.ShowReply(*e.Reply))
		case e.Send != nil:
			fmt.Fprintf(&out, "  send %s\n", s.ShowSend(e.Send))
		}
	}
	m := NewMachine(s.NewShard, 1)
	m.OnEvent = show
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			continue // Old output.
		case line == "", strings.HasPrefix(line, "#"):
			fmt.Fprintln(&out, line)
			continue
		}
		fmt.Fprintln(&out, line)
		if err := s.command(m, line, &out); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		flush()
	}
	return out.String(), m
}

func (s Script) command(m *Machine, line string, out *strings.Builder) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "tick":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}
		m.Tick(d)
	case "hold":
		m.Log.Hold()
	case "commit":
		m.Commit()
	case "release":
		m.Log.Release()
		m.Commit()
	case "refuse":
		m.Log.Fail(&coordinator.RefusedError{Err: errors.New(rest)})
	case "failover":
		m.Failover()
	case "state":
		indent(out, s.ShowState(m.Shard()))
	case "soft":
		indent(out, s.ShowSoft(m.Shard()))
	default:
		in, err := s.Parse(line)
		if err != nil {
			return err
		}
		m.Do(in)
	}
	return nil
}

// indent prints lines as output.
func indent(out *strings.Builder, lines string) {
	for l := range strings.Lines(lines) {
		fmt.Fprintf(out, "  %s", l)
	}
}
