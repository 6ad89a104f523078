package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

func topicsCommand(a *app) *cobra.Command {
	return group("topics", "Create, list, describe, alter and delete topics",
		topicsList(a), topicsCreate(a), topicsDescribe(a), topicsAlter(a), topicsDelete(a))
}

func topicsList(a *app) *cobra.Command {
	var internal bool
	c := &cobra.Command{
		Use: "list", Short: "List topics", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				topics, err := adm.ListTopicsWithInternal(ctx)
				if err != nil {
					return err
				}
				t := newTable("TOPIC", "PARTITIONS", "REPLICAS")
				for _, d := range topics.Sorted() {
					if internal || !d.IsInternal {
						t.add(d.Topic, len(d.Partitions), d.Partitions.NumReplicas())
					}
				}
				return a.print(cmd, t)
			})
		},
	}
	c.Flags().BoolVar(&internal, "internal", false, "list Kafka's own topics too")
	return a.withFormat(c)
}

func topicsCreate(a *app) *cobra.Command {
	var partitions int32
	var replicas int16
	var settings []string
	var ifNotExists bool
	c := &cobra.Command{
		Use: "create TOPIC...", Short: "Create topics", Args: atLeastOne("TOPIC"),
		RunE: func(cmd *cobra.Command, names []string) error {
			set, err := pairs("--config", settings)
			if err != nil {
				return err
			}
			configs := map[string]*string{}
			for k, v := range set {
				configs[k] = &v
			}
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				resps, err := adm.CreateTopics(ctx, partitions, replicas, configs, names...)
				if err != nil {
					return err
				}
				var errs []error
				for _, r := range resps.Sorted() {
					switch {
					case ifNotExists && errors.Is(r.Err, kerr.TopicAlreadyExists):
						fmt.Fprintf(cmd.OutOrStdout(), "topic %s is there already\n", r.Topic)
					case r.Err != nil:
						errs = append(errs, failure("topic "+r.Topic+" was not created", r.Err, r.ErrMessage))
					default:
						fmt.Fprintf(cmd.OutOrStdout(), "created topic %s\n", r.Topic)
					}
				}
				return errors.Join(errs...)
			})
		},
	}
	c.Flags().Int32VarP(&partitions, "partitions", "p", -1, "how `many` partitions; -1 is the broker's default")
	c.Flags().Int16VarP(&replicas, "replicas", "r", -1, "how `many` copies of each; -1 is the broker's default")
	c.Flags().StringArrayVarP(&settings, "config", "c", nil, "a setting as `key=value` (may be repeated)")
	c.Flags().BoolVar(&ifNotExists, "if-not-exists", false, "do not fail when the topic is there")
	return c
}

// refusedError is a broker's refusal: its name for the error, and its own words
// instead of the general ones if it had any.
type refusedError struct {
	what    string
	err     error
	message string
}

func (e *refusedError) Error() string {
	if known, ok := errors.AsType[*kerr.Error](e.err); ok && e.message != "" {
		return fmt.Sprintf("%s: %s: %s", e.what, known.Message, e.message)
	}
	return fmt.Sprintf("%s: %v", e.what, e.err)
}

func (e *refusedError) Unwrap() error { return e.err }

func failure(what string, err error, message string) error { return &refusedError{what, err, message} }

// pairs reads key=value flags.
func pairs(flag string, items []string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range items {
		k, v, ok := strings.Cut(item, "=")
		if !ok || k == "" {
			return nil, usage("%s %s: write it as key=value", flag, item)
		}
		out[strings.TrimSpace(k)] = v
	}
	return out, nil
}

func topicsDescribe(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "describe TOPIC...", Short: "Show the partitions of topics", Args: atLeastOne("TOPIC"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				topics, err := adm.ListTopicsWithInternal(ctx, names...)
				if err != nil {
					return err
				}
				starts, err := adm.ListStartOffsets(ctx, names...)
				if err != nil {
					return err
				}
				ends, err := adm.ListEndOffsets(ctx, names...)
				if err != nil {
					return err
				}
				t := newTable("TOPIC", "PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "START", "END")
				for _, d := range topics.Sorted() {
					if d.Err != nil {
						return missing("topic", d.Topic, d.Err)
					}
					for _, p := range d.Partitions.Sorted() {
						start, _ := starts.Lookup(d.Topic, p.Partition)
						end, _ := ends.Lookup(d.Topic, p.Partition)
						t.add(d.Topic, p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, start.Offset, end.Offset)
					}
				}
				return a.print(cmd, t)
			})
		},
	}
	return a.withFormat(c)
}

// missing turns "unknown" errors into one that has an exit code of its own.
func missing(kind, name string, err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.GroupIDNotFound) {
		return &NotThereError{fmt.Sprintf("%s %s does not exist", kind, name)}
	}
	return fmt.Errorf("%s %s: %w", kind, name, err)
}

func topicsAlter(a *app) *cobra.Command {
	var partitions int
	var set, unset []string
	c := &cobra.Command{
		Use: "alter TOPIC...", Short: "Add partitions, change settings", Args: atLeastOne("TOPIC"),
		RunE: func(cmd *cobra.Command, names []string) error {
			changes, err := alterations(set, unset)
			if err != nil {
				return err
			}
			if partitions <= 0 && len(changes) == 0 {
				return usage("nothing to change: give --partitions, --set or --unset")
			}
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				var errs []error
				if partitions > 0 {
					resps, err := adm.UpdatePartitions(ctx, partitions, names...)
					if err != nil {
						return err
					}
					for _, r := range resps.Sorted() {
						if r.Err != nil {
							errs = append(errs, failure("topic "+r.Topic, r.Err, r.ErrMessage))
						}
					}
				}
				if len(changes) > 0 {
					resps, err := adm.AlterTopicConfigs(ctx, changes, names...)
					if err != nil {
						return err
					}
					for _, r := range resps {
						if r.Err != nil {
							errs = append(errs, failure("topic "+r.Name, r.Err, r.ErrMessage))
						}
					}
				}
				return errors.Join(errs...)
			})
		},
	}
	c.Flags().IntVarP(&partitions, "partitions", "p", 0, "how `many` partitions there shall be")
	c.Flags().StringArrayVar(&set, "set", nil, "a setting as `key=value` (may be repeated)")
	c.Flags().StringArrayVar(&unset, "unset", nil, "a `key` to take back to its default (may be repeated)")
	return c
}

// alterations are incremental changes of settings.
func alterations(set, unset []string) ([]kadm.AlterConfig, error) {
	values, err := pairs("--set", set)
	if err != nil {
		return nil, err
	}
	var out []kadm.AlterConfig
	for k, v := range values {
		out = append(out, kadm.AlterConfig{Op: kadm.SetConfig, Name: k, Value: &v})
	}
	for _, k := range unset {
		out = append(out, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: k})
	}
	slices.SortFunc(out, func(x, y kadm.AlterConfig) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

func topicsDelete(a *app) *cobra.Command {
	var ifExists bool
	c := &cobra.Command{
		Use: "delete TOPIC...", Short: "Delete topics and all that is in them", Args: atLeastOne("TOPIC"),
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				resps, err := adm.DeleteTopics(ctx, names...)
				if err != nil {
					return err
				}
				var errs []error
				for _, r := range resps.Sorted() {
					switch {
					case ifExists && errors.Is(r.Err, kerr.UnknownTopicOrPartition):
					case r.Err != nil:
						errs = append(errs, missing("topic", r.Topic, r.Err))
					default:
						fmt.Fprintf(cmd.OutOrStdout(), "deleted topic %s\n", r.Topic)
					}
				}
				return errors.Join(errs...)
			})
		},
	}
	c.Flags().BoolVar(&ifExists, "if-exists", false, "do not fail when the topic is not there")
	return c
}
