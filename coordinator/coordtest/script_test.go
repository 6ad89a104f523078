package coordtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/coordinator"
)

// counter is a shard that counts, and says so a second later.
type counter struct {
	n      int                // Hard.
	waiter coordinator.Ticket // Soft.
	told   []int64            // Soft.
}

func (c *counter) Step(m coordinator.Moment, t coordinator.Ticket, in any) coordinator.Effects {
	if in == "later" {
		c.waiter = t
		return coordinator.Effects{Timers: []coordinator.Timer{{Key: "later", At: m.Now.Add(time.Second)}}}
	}
	return coordinator.Effects{
		Records: []coordinator.Record{{Key: []byte("n"), Value: fmt.Append(nil, c.n+1)}},
		Replies: []coordinator.Reply{{To: t, Body: c.n + 1}},
	}
}

func (c *counter) Refused(_ coordinator.Moment, t coordinator.Ticket, _ any, err error) coordinator.Effects {
	return coordinator.Effects{Replies: []coordinator.Reply{{To: t, Err: err}}}
}

func (c *counter) Fired(coordinator.Moment, any) coordinator.Effects {
	return coordinator.Effects{Replies: []coordinator.Reply{{To: c.waiter, Body: "late"}}}
}

func (c *counter) Replay(_ coordinator.At, r coordinator.Record) error {
	_, err := fmt.Sscan(string(r.Value), &c.n)
	return err
}

func (c *counter) ReplayMarker(int64, int16, bool) {}

func (c *counter) Loaded(coordinator.Moment) coordinator.Effects { return coordinator.Effects{} }

func (c *counter) Published(committed int64) { c.told = append(c.told, committed) }

func counterScript() Script {
	return Script{
		NewShard:   func() coordinator.Shard { return new(counter) },
		Parse:      func(command string) (any, error) { return command, nil },
		ShowRecord: func(r coordinator.Record) string { return fmt.Sprintf("%s=%s", r.Key, r.Value) },
		ShowReply: func(r coordinator.Reply) string {
			if r.Err != nil {
				return r.Err.Error()
			}
			return fmt.Sprint(r.Body)
		},
		ShowTimer: func(key any) string { return key.(string) },
		ShowState: func(s coordinator.Shard) string { return fmt.Sprintf("n=%d\n", s.(*counter).n) },
		ShowSoft:  func(s coordinator.Shard) string { return fmt.Sprintf("told=%v\n", s.(*counter).told) },
	}
}

// TestRun plays a script that uses every command.
func TestRun(t *testing.T) { Run(t, counterScript(), "testdata/counter.script") }

// TestPlayReplacesOutput: what stands in a script does not matter to what comes
// out, so that a wrong line is found.
func TestPlayReplacesOutput(t *testing.T) {
	clean, _ := counterScript().play(t, "count\nstate\n")
	wrong, _ := counterScript().play(t, "count\n  reply to 1: 99\nstate\n  n=7\n  n=8\n")
	if clean != wrong || !strings.Contains(clean, "  reply to 1: 1\n") {
		t.Errorf("%q and %q", clean, wrong)
	}
}
