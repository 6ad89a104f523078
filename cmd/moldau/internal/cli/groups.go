package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func groupsCommand(a *app) *cobra.Command {
	return group("groups", "List, describe, move and delete consumer groups",
		groupsList(a), groupsDescribe(a), groupsReset(a), groupsDelete(a))
}

func groupsList(a *app) *cobra.Command {
	var states []string
	c := &cobra.Command{
		Use: "list", Short: "List groups", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				groups, err := adm.ListGroups(ctx, states...)
				if err != nil {
					return err
				}
				t := newTable("GROUP", "STATE", "PROTOCOL", "COORDINATOR")
				for _, g := range groups.Sorted() {
					t.add(g.Group, g.State, g.ProtocolType, g.Coordinator)
				}
				return a.print(cmd, t)
			})
		},
	}
	c.Flags().StringSliceVar(&states, "state", nil, "list only groups in these `states`, e.g. Stable,Empty")
	return a.withFormat(c)
}

func groupsDescribe(a *app) *cobra.Command {
	var members bool
	c := &cobra.Command{
		Use: "describe GROUP...", Short: "Show what groups have read and how far they lag", Args: atLeastOne("GROUP"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				lags, err := adm.Lag(ctx, names...)
				if err != nil {
					return err
				}
				for _, g := range lags.Sorted() {
					if err := cmp.Or(g.DescribeErr, g.FetchErr); err != nil {
						return missing("group", g.Group, err)
					}
					if g.State == "Dead" {
						return &NotThereError{fmt.Sprintf("group %s does not exist", g.Group)}
					}
				}
				if members {
					return a.print(cmd, membersTable(lags))
				}
				return a.print(cmd, lagTable(lags))
			})
		},
	}
	c.Flags().BoolVar(&members, "members", false, "show the members instead of the partitions")
	return a.withFormat(c)
}

func lagTable(lags kadm.DescribedGroupLags) *table {
	t := newTable("GROUP", "STATE", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "HOST")
	for _, g := range lags.Sorted() {
		for _, l := range g.Lag.Sorted() {
			var committed, member, host any
			if l.Commit.At >= 0 {
				committed = l.Commit.At
			}
			if l.Member != nil {
				member, host = l.Member.MemberID, l.Member.ClientHost
			}
			t.add(g.Group, g.State, l.Topic, l.Partition, committed, l.End.Offset, l.Lag, member, host)
		}
	}
	return t
}

func membersTable(lags kadm.DescribedGroupLags) *table {
	t := newTable("GROUP", "MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS")
	for _, g := range lags.Sorted() {
		for _, m := range g.Members {
			var instance any
			if m.InstanceID != nil {
				instance = *m.InstanceID
			}
			n := 0
			if c, ok := m.Assigned.AsConsumer(); ok {
				for _, topic := range c.Topics {
					n += len(topic.Partitions)
				}
			}
			t.add(g.Group, m.MemberID, instance, m.ClientID, m.ClientHost, n)
		}
	}
	return t
}

func groupsReset(a *app) *cobra.Command {
	var to string
	var topics []string
	var dryRun bool
	c := &cobra.Command{
		Use:   "reset-offsets GROUP",
		Short: "Move a group, which must have no members, to other offsets",
		Args:  exactly("GROUP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usage("say where to: --to beginning, end, an offset, +N or -N from where it is, or a time (RFC 3339)")
			}
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				return a.resetOffsets(ctx, cmd, adm, args[0], to, topics, dryRun)
			})
		},
	}
	c.Flags().StringVar(&to, "to", "", "`where` to: beginning, end, an offset, +N or -N from where it is, or a time (RFC 3339)")
	c.Flags().StringSliceVar(&topics, "topic", nil, "only these `topics`; default: all that the group has committed")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would be done")
	return a.withFormat(c)
}

func (a *app) resetOffsets(ctx context.Context, cmd *cobra.Command, adm admin, name, to string, topics []string, dryRun bool) error {
	committed, err := adm.FetchOffsets(ctx, name)
	if err != nil {
		return missing("group", name, err)
	}
	if len(topics) == 0 {
		topics = slices.Sorted(maps.Keys(committed))
	}
	if len(topics) == 0 {
		return &NotThereError{fmt.Sprintf("group %s has committed nothing; name topics with --topic", name)}
	}
	first, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return err
	}
	last, err := adm.ListEndOffsets(ctx, topics...)
	if err != nil {
		return err
	}
	if err := first.Error(); err != nil {
		return err
	}
	target, err := resetTarget(ctx, adm, to, topics)
	if err != nil {
		return err
	}
	next := kadm.Offsets{}
	t := newTable("TOPIC", "PARTITION", "FROM", "TO")
	for _, topic := range topics {
		for _, p := range slices.Sorted(maps.Keys(first[topic])) {
			lo, hi := first[topic][p].Offset, last[topic][p].Offset
			at := int64(-1)
			if c, ok := committed.Lookup(topic, p); ok {
				at = c.At
			}
			offset := min(max(target(topic, p, lo, hi, at), lo), hi)
			next.AddOffset(topic, p, offset, -1)
			t.add(topic, p, at, offset)
		}
	}
	if !dryRun {
		if err := adm.CommitAllOffsets(ctx, name, next); err != nil {
			return fmt.Errorf("group %s was not moved: %w; a group with members moves itself: stop them first", name, err)
		}
	}
	return a.print(cmd, t)
}

// resetTarget reads --to.
func resetTarget(ctx context.Context, adm admin, to string, topics []string) (func(topic string, p int32, lo, hi, at int64) int64, error) {
	switch to {
	case "beginning":
		return func(_ string, _ int32, lo, _, _ int64) int64 { return lo }, nil
	case "end":
		return func(_ string, _ int32, _, hi, _ int64) int64 { return hi }, nil
	}
	if n, err := strconv.ParseInt(to, 10, 64); err == nil {
		if to[0] == '+' || to[0] == '-' {
			return func(_ string, _ int32, lo, _, at int64) int64 { return max(at, lo) + n }, nil
		}
		return func(string, int32, int64, int64, int64) int64 { return n }, nil
	}
	when, err := time.Parse(time.RFC3339, to)
	if err != nil {
		return nil, usage("--to %s: use beginning, end, an offset, +N, -N, or a time as 2006-01-02T15:04:05Z", to)
	}
	byTime, err := adm.ListOffsetsAfterMilli(ctx, when.UnixMilli(), topics...)
	if err != nil {
		return nil, err
	}
	return func(topic string, p int32, _, hi, _ int64) int64 {
		if at, ok := byTime.Lookup(topic, p); ok && at.Offset >= 0 {
			return at.Offset
		}
		return hi
	}, nil
}

func groupsDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delete GROUP...", Short: "Delete groups that have no members, and what they committed", Args: atLeastOne("GROUP"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				resps, err := adm.DeleteGroups(ctx, names...)
				if err != nil {
					return err
				}
				var errs []error
				for _, r := range resps.Sorted() {
					if r.Err != nil {
						errs = append(errs, missing("group", r.Group, r.Err))
						continue
					}
					fmt.Fprintf(cmd.OutOrStdout(), "deleted group %s\n", r.Group)
				}
				return errors.Join(errs...)
			})
		},
	}
}
