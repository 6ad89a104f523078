package config

import (
	"maps"
	"slices"
	"strings"
)

var brokerDefs = described(index(slices.Concat(
	networkTable(), logTable(), coordinatorTable(), clusterTable(), securityTable(), otherTable(), ownTable(),
)), topicDefs)

// Broker finds a broker setting by its name; `listener.name.<listener>.` in
// front of a name is looked through.
func Broker(name string) (*Def, bool) {
	d, ok := brokerDefs.byName[baseName(name)]
	return d, ok
}

// Brokers lists the broker settings by name.
func Brokers() []*Def { return brokerDefs.sorted }

// baseName takes off the prefix of a setting for one listener, and of one SASL
// mechanism within it.
func baseName(name string) string {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return name
	}
	_, base, ok := strings.Cut(rest, ".")
	if !ok {
		return name
	}
	if i := strings.Index(base, "sasl."); i > 0 {
		return base[i:]
	}
	return base
}

// removed are broker settings of Kafka before 4.0. Old files still set them;
// Kafka 4 warns about a name it does not know, and so do we.
var removed = map[string]bool{
	"advertised.host.name":                    true,
	"advertised.port":                         true,
	"broker.id.generation.enable":             true,
	"delegation.token.master.key":             true,
	"host.name":                               true,
	"inter.broker.protocol.version":           true,
	"jmx.port":                                true,
	"leader.imbalance.per.broker.percentage":  true,
	"log.message.downconversion.enable":       true,
	"log.message.format.version":              true,
	"log.message.timestamp.difference.max.ms": true,
	"offsets.commit.required.acks":            true,
	"port":                                    true,
	"reserved.broker.max.id":                  true,
}

// Removed reports whether a broker setting is one that Kafka had before 4.0.
func Removed(name string) bool {
	return removed[name] || strings.HasPrefix(name, "zookeeper.")
}

// plugins are the settings of Kafka's own plugins, which Kafka's list of broker
// settings lacks, by a prefix of their names: each plugin reads them for itself. There
// are no such plugins here.
var plugins = []struct{ prefix, plugin string }{
	{"super.users", "an authorizer"},
	{"allow.everyone.if.no.acl.found", "an authorizer"},
	{"metrics.jmx.", "metrics by JMX"},
	{"remote.log.metadata.", "tiered storage"},
	{"rlmm.config.", "tiered storage"},
	{"rsm.config.", "tiered storage"},
}

// Plugin names the plugin of Kafka's that a setting is for; empty if it is for none.
func Plugin(name string) string {
	for _, p := range plugins {
		if strings.HasPrefix(name, p.prefix) {
			return p.plugin
		}
	}
	return ""
}

// Secures reports whether a broker setting is one of TLS or SASL, which counts for
// listeners that have either.
func Secures(name string) bool {
	base := baseName(name)
	return strings.HasPrefix(base, "ssl.") || strings.HasPrefix(base, "sasl.")
}

// Names of Moldau's own broker settings.
const (
	ProduceValidation = "moldau.produce.validation"
	AdminListener     = "moldau.admin.listener"
	AutoCreateWait    = "moldau.auto.create.topics.wait"
)

// ownTable lists the settings that Kafka does not have. They are few, and each
// is a deliberate difference (docs/deviations.md).
func ownTable() []*Def {
	return []*Def{
		{
			Name: ProduceValidation, Type: String, Default: "full", Class: Works,
			Doc: "How a produced batch is checked: full reads every record, as Kafka does; " +
				"header trusts the client beyond header and checksum.",
			check: oneOf("full", "header"),
		},
		{
			Name: AdminListener, Type: String, Default: "", Class: Works,
			Doc: "The address, as HOST:PORT, of metrics, health and profiles over HTTP; empty serves none.",
		},
		{
			Name: AutoCreateWait, Type: Boolean, Default: "true", Class: Works,
			Doc: "Whether a Metadata request that makes a topic is answered with it. If not, the answer is " +
				"UNKNOWN_TOPIC_OR_PARTITION and the client comes again, as with Kafka.",
		},
	}
}

// table is a set of definitions, by name and in order.
type table struct {
	byName map[string]*Def
	sorted []*Def
}

func index(defs []*Def) table {
	t := table{byName: make(map[string]*Def, len(defs))}
	for _, d := range defs {
		if t.byName[d.Name] != nil {
			panic("BUG: two definitions of the setting " + d.Name)
		}
		t.byName[d.Name] = d
		if !d.Internal {
			t.sorted = append(t.sorted, d)
		}
	}
	slices.SortFunc(t.sorted, func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
	return t
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// described gives the broker settings that are the defaults of topic settings
// the topic settings' sentence.
func described(brokers, topics table) table {
	for _, t := range topics.byName {
		for _, syn := range t.Synonyms {
			d := brokers.byName[syn.Name]
			if d == nil {
				panic("BUG: the topic setting " + t.Name + " names the broker setting " + syn.Name + ", which is not defined")
			}
			if d.Doc == "" {
				d.Doc = "Default of the topic setting " + t.Name + ": " + strings.ToLower(t.Doc[:1]) + t.Doc[1:]
			}
		}
	}
	return brokers
}
