package kafkatools

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// describe shows the settings of one entity, or of all of a kind.
func (t *configTool) describe(ctx context.Context) error {
	kind := t.types[0]
	singular := strings.TrimSuffix(kind, "s")
	there, err := t.entities(ctx, kind)
	if err != nil {
		return err
	}
	names := there
	if len(t.names) > 0 {
		names = t.names[:1]
		if kind == "topics" {
			if why := invalidTopicName(names[0]); why != "" {
				return &failure{errorsPackage + "InvalidTopicException", why}
			}
		}
		if !t.o.has("all") && !slices.Contains(there, names[0]) {
			fmt.Fprintf(t.e.Out, "The %s '%s' doesn't exist and doesn't have dynamic config.\n", singular, names[0])
			return nil
		}
	}
	for _, name := range names {
		switch {
		case name == "":
			fmt.Fprintf(t.e.Out, "Default configs for %s in the cluster are:\n", kind)
		case t.o.has("all"):
			fmt.Fprintf(t.e.Out, "All configs for %s %s are:\n", singular, name)
		default:
			fmt.Fprintf(t.e.Out, "Dynamic configs for %s %s are:\n", singular, name)
		}
		resp, err := t.ask(ctx, kind, name)
		if err != nil {
			return err
		}
		slices.SortFunc(resp.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return strings.Compare(a.Name, b.Name) })
		for _, c := range resp.Configs {
			if t.o.has("all") || c.Source == sourceOf(kind, name) {
				fmt.Fprintf(t.e.Out, "  %s=%s sensitive=%t synonyms={%s}\n", c.Name, deref(c.Value, "null"), c.IsSensitive, synonyms(c.ConfigSynonyms))
			}
		}
	}
	return nil
}

func synonyms(of []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym) string {
	out := make([]string, len(of))
	for i, s := range of {
		out[i] = fmt.Sprintf("%s:%s=%s", s.Source, s.Name, deref(s.Value, "null"))
	}
	return strings.Join(out, ", ")
}

// ask asks for the settings of one entity, with where each comes from.
func (t *configTool) ask(ctx context.Context, kind, name string) (*kmsg.DescribeConfigsResponseResource, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = entityKinds[kind].resource, name
	req.Resources = append(req.Resources, r)
	resp, err := ask[*kmsg.DescribeConfigsResponse](ctx, t.cl, req)
	if err != nil {
		return nil, err
	}
	if len(resp.Resources) != 1 {
		return nil, fmt.Errorf("the broker answered for %d resources instead of one", len(resp.Resources))
	}
	return &resp.Resources[0], fromBroker(brokerFailure(resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage))
}

// entities are the names of all of a kind. The name of the default is empty.
func (t *configTool) entities(ctx context.Context, kind string) ([]string, error) {
	var names []string
	switch kind {
	case "topics":
		topics, err := t.cl.ListTopicsWithInternal(ctx)
		if err != nil {
			return nil, err
		}
		names = topics.Names()
	case "brokers", "broker-loggers":
		brokers, err := t.cl.ListBrokers(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range brokers {
			names = append(names, strconv.Itoa(int(b.NodeID)))
		}
		names = append(names, "")
	case "groups":
		groups, err := t.cl.ListGroups(ctx)
		if err != nil {
			return nil, err
		}
		names = groups.Groups()
	}
	if kind == "groups" || kind == "client-metrics" {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = []int8{int8(entityKinds[kind].resource)}
		resp, err := ask[*kmsg.ListConfigResourcesResponse](ctx, t.cl, req)
		switch {
		case notServed(err) && kind == "groups":
			if len(t.names) > 0 {
				names = append(names, t.names[0]) // Nobody can say that it has no settings.
			}
		case notServed(err):
			return nil, &failure{errorsPackage + "UnsupportedVersionException", "The node does not support LIST_CONFIG_RESOURCES"}
		case err != nil:
			return nil, err
		default:
			for _, r := range resp.ConfigResources {
				if !slices.Contains(names, r.Name) {
					names = append(names, r.Name)
				}
			}
		}
	}
	return names, nil
}

// invalidTopicName says why a topic cannot have a name, as Kafka's client does
// before it asks; empty if it can.
func invalidTopicName(name string) string {
	switch {
	case name == "":
		return "Topic name is invalid: the empty string is not allowed"
	case name == "." || name == "..":
		return "Topic name is invalid: '" + name + "' is not allowed"
	case len(name) > 249:
		return fmt.Sprintf("Topic name is invalid: the length of '%s' is longer than the max allowed length 249", name)
	}
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return fmt.Sprintf("Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return ""
}
