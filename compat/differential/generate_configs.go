package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

var configActions = []action{
	{kmsg.DescribeConfigs, 3, (*gen).describeConfigs},
	{kmsg.AlterConfigs, 1, (*gen).alterConfigs},
	{kmsg.IncrementalAlterConfigs, 3, (*gen).incrementalAlterConfigs},
}

// setting is a name and values that a topic may have and may not.
type setting struct {
	name      string
	good, bad []string
}

var settings = []setting{
	{"cleanup.policy", []string{"delete", "compact", "compact,delete", "delete"}, []string{"none of them", "delete;compact"}},
	{"retention.ms", []string{"-1", "172800000", "604800000"}, []string{"-2", "long", "1.5"}},
	{"retention.bytes", []string{"-1", "1000000"}, []string{"x"}},
	{"max.message.bytes", []string{"300", "100000"}, []string{"-1", "99999999999"}},
	{"message.timestamp.type", []string{"CreateTime", "LogAppendTime"}, []string{"LocalTime", "createtime"}},
	{"compression.type", []string{"producer", "gzip", "uncompressed", "lz4", "zstd", "snappy"}, []string{"rar"}},
	{"min.insync.replicas", []string{"1", "2"}, []string{"0"}},
	{"segment.bytes", []string{"1048576", "2000000"}, []string{"-5", "many"}},
	{"message.timestamp.before.max.ms", []string{"9223372036854775807", "1000"}, []string{"-1"}},
	{"message.timestamp.after.max.ms", []string{"3600000"}, []string{"-1"}},
	{"delete.retention.ms", []string{"0", "86400000"}, []string{"-1"}},
	{"unclean.leader.election.enable", []string{"true", "false"}, []string{"maybe"}},
	{"preallocate", []string{"false"}, []string{"2"}},
	{"index.interval.bytes", []string{"0", "4096"}, []string{"-1"}},
	{"min.cleanable.dirty.ratio", []string{"0.5", "0", "1"}, []string{"1.5", "-0.1"}},
	{"flush.messages", []string{"1", "9223372036854775807"}, []string{"0"}},
	{"local.retention.ms", []string{"-2", "1000"}, []string{"-3"}},
	{"remote.storage.enable", []string{"false"}, []string{"perhaps"}},
	{"no.such.setting", nil, []string{"1"}},
}

func (g *gen) settingValue(bad bool) (string, *string) {
	for {
		s := pick(g, settings...)
		values := s.good
		if bad {
			values = s.bad
		}
		if len(values) == 0 {
			continue
		}
		value := pick(g, values...)
		if bad && g.one(6) {
			return s.name, nil
		}
		return s.name, &value
	}
}

func (g *gen) topicSetting(bad bool) kmsg.CreateTopicsRequestTopicConfig {
	c := kmsg.NewCreateTopicsRequestTopicConfig()
	c.Name, c.Value = g.settingValue(bad)
	return c
}

// resource draws what is described or altered: most often a topic.
func (g *gen) resource() (kmsg.ConfigResourceType, string) {
	if g.one(20) {
		return pick(g, kmsg.ConfigResourceType(0), 3, 99), "x"
	}
	if g.one(20) {
		return kmsg.ConfigResourceTypeBroker, pick(g, "!2", "!x", "!-1")
	}
	return kmsg.ConfigResourceTypeTopic, g.topic()
}

func (g *gen) describeConfigs() {
	type asked struct {
		kind  kmsg.ConfigResourceType
		name  string
		names []string
	}
	resources := some(g, 2, func() asked {
		var a asked
		a.kind, a.name = g.resource()
		if !g.one(3) {
			a.names = unique(some(g, 4, func() string { n, _ := g.settingValue(g.one(10)); return n }))
		}
		return a
	})
	synonyms, docs := g.one(2), g.one(4)
	g.ask(kmsg.DescribeConfigs, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.IncludeSynonyms, req.IncludeDocumentation = synonyms, docs
		for _, a := range resources {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = a.kind, v.name(a.name), a.names
			req.Resources = append(req.Resources, r)
		}
		return req
	}, nil)
}

func (g *gen) alterConfigs() {
	kind, name := g.resource()
	validate := g.one(5)
	var configs []kmsg.AlterConfigsRequestResourceConfig
	for range g.IntN(3) {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		c.Name, c.Value = g.settingValue(g.one(6))
		configs = append(configs, c)
	}
	g.ask(kmsg.AlterConfigs, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrAlterConfigsRequest()
		req.ValidateOnly = validate
		r := kmsg.NewAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.Configs = kind, v.name(name), configs
		req.Resources = append(req.Resources, r)
		return req
	}, nil)
}

func (g *gen) incrementalAlterConfigs() {
	type asked struct {
		kind    kmsg.ConfigResourceType
		name    string
		configs []kmsg.IncrementalAlterConfigsRequestResourceConfig
	}
	resources := some(g, 2, func() (a asked) {
		a.kind, a.name = g.resource()
		for range 1 + g.IntN(2) {
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Value = g.settingValue(g.one(6))
			c.Op = kmsg.IncrementalAlterConfigOpSet
			if g.one(3) {
				c.Op = pick(g, kmsg.IncrementalAlterConfigOpDelete, kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract)
			}
			a.configs = append(a.configs, c)
		}
		return a
	})
	if len(resources) == 2 && resources[0].name == resources[1].name {
		resources = resources[:1] // Naming one twice is a scenario of its own.
	}
	validate := g.one(5)
	g.ask(kmsg.IncrementalAlterConfigs, func(v *view, _ int16) kmsg.Request {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.ValidateOnly = validate
		for _, a := range resources {
			r := kmsg.NewIncrementalAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.Configs = a.kind, v.name(a.name), a.configs
			req.Resources = append(req.Resources, r)
		}
		return req
	}, nil)
}
