package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/config"
)

func configsCommand(a *app) *cobra.Command {
	return group("configs", "Describe and alter settings of topics and brokers", configsDescribe(a), configsAlter(a))
}

// resource is what a settings command is about.
type resource struct {
	topic  string
	broker string
}

func (r *resource) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.topic, "topic", "", "a `topic`")
	c.Flags().StringVar(&r.broker, "broker", "", "a broker's `id`, or all for the defaults of every broker")
}

// brokers are the ids for kadm: none is every broker.
func (r resource) brokers() ([]int32, error) {
	switch {
	case (r.topic == "") == (r.broker == ""):
		return nil, usage("name one thing: --topic or --broker")
	case r.topic != "" || r.broker == "all":
		return nil, nil
	}
	id, err := strconv.ParseInt(r.broker, 10, 32)
	if err != nil {
		return nil, usage("--broker %s: a broker's id is a number; all is every broker", r.broker)
	}
	return []int32{int32(id)}, nil
}

func configsDescribe(a *app) *cobra.Command {
	var r resource
	var all bool
	c := &cobra.Command{
		Use: "describe", Short: "Show settings: those that somebody set, or all", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ids, err := r.brokers()
			if err != nil {
				return err
			}
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				var got kadm.ResourceConfigs
				if r.topic != "" {
					got, err = adm.DescribeTopicConfigs(ctx, r.topic)
				} else {
					got, err = adm.DescribeBrokerConfigs(ctx, ids...)
				}
				if err != nil {
					return err
				}
				t := newTable("SETTING", "VALUE", "SOURCE")
				for _, rc := range got {
					if rc.Err != nil {
						return missing("topic", rc.Name, rc.Err)
					}
					slices.SortFunc(rc.Configs, func(x, y kadm.Config) int { return strings.Compare(x.Key, y.Key) })
					for _, c := range rc.Configs {
						if all || c.Source != kmsg.ConfigSourceDefaultConfig {
							t.add(c.Key, c.MaybeValue(), strings.ToLower(c.Source.String()))
						}
					}
				}
				return a.print(cmd, t)
			})
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&all, "all", false, "show defaults too")
	return a.withFormat(c)
}

func configsAlter(a *app) *cobra.Command {
	var r resource
	var set, unset []string
	c := &cobra.Command{
		Use: "alter", Short: "Set settings, or take them back to their defaults", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ids, err := r.brokers()
			if err != nil {
				return err
			}
			changes, err := alterations(set, unset)
			if err != nil {
				return err
			}
			if len(changes) == 0 {
				return usage("nothing to change: give --set or --unset")
			}
			return a.ask(cmd, func(ctx context.Context, adm admin) error {
				var got kadm.AlterConfigsResponses
				if r.topic != "" {
					got, err = adm.AlterTopicConfigs(ctx, changes, r.topic)
				} else {
					got, err = adm.AlterBrokerConfigs(ctx, changes, ids...)
				}
				if err != nil {
					return err
				}
				var errs []error
				for _, resp := range got {
					if resp.Err != nil {
						errs = append(errs, failure("settings were not changed", resp.Err, resp.ErrMessage))
					}
				}
				return errors.Join(errs...)
			})
		},
	}
	r.flags(c)
	c.Flags().StringArrayVar(&set, "set", nil, "a setting as `key=value` (may be repeated)")
	c.Flags().StringArrayVar(&unset, "unset", nil, "a `key` to take back to its default (may be repeated)")
	return c
}

// configCommand lists what this release knows; it asks no broker.
func configCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "config [NAME...]",
		Short: "List every setting that this release knows, and what it does with each",
		RunE: func(cmd *cobra.Command, names []string) error {
			t := newTable("SETTING", "OF", "CLASS", "DEFAULT", "DOCUMENTATION")
			found := map[string]bool{}
			for _, kind := range []struct {
				of   string
				defs []*config.Def
			}{{"broker", config.Brokers()}, {"topic", config.Topics()}, {"group", config.Groups()}} {
				for _, d := range kind.defs {
					if len(names) > 0 && !slices.Contains(names, d.Name) {
						continue
					}
					found[d.Name] = true
					var value any = d.Default
					if d.NoDefault {
						value = nil
					}
					t.add(d.Name, kind.of, d.Class.String(), value, d.Doc)
				}
			}
			for _, name := range names {
				if !found[name] {
					return &NotThereError{"there is no setting " + name}
				}
			}
			return a.print(cmd, t)
		},
	}
	return a.withFormat(c)
}
