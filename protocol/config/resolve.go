package config

import (
	"fmt"
	"strconv"
	"time"
)

// Source says which layer a value comes from, with the number that
// DescribeConfigs answers.
type Source int8

// The layers, weakest last; SourceDefault is always there.
const (
	SourceTopic          Source = 1
	SourceBroker         Source = 2 // Dynamic, of one broker.
	SourceClusterDefault Source = 3 // Dynamic, of every broker.
	SourceStatic         Source = 4 // server.properties, flags, environment.
	SourceDefault        Source = 5
	SourceGroup          Source = 8
)

// Layers are the settings that somebody set, in the places where one can.
// A nil map is an empty layer. Read only.
type Layers struct {
	Topic          map[string]string // Of one topic.
	Broker         map[string]string // Dynamic, of this broker.
	ClusterDefault map[string]string // Dynamic, of every broker.
	Static         map[string]string // Of the broker's file.
}

// Entry is one value that a setting has, or would have if stronger layers were
// taken away.
type Entry struct {
	Name   string // The setting's name in that layer: a topic setting's synonyms have others.
	Value  string
	Null   bool
	Source Source
}

// BrokerEntries lists the values of a broker setting, strongest first. Names
// that mean the same in other units (log.retention.ms, .minutes, .hours) are
// looked at too, as Kafka does.
func (l Layers) BrokerEntries(d *Def) []Entry {
	return l.entries(brokerSynonyms(d.Name))
}

// TopicEntries lists the values of a topic setting, strongest first.
func (l Layers) TopicEntries(d *Def) []Entry {
	var out []Entry
	if v, ok := l.Topic[d.Name]; ok {
		out = append(out, Entry{Name: d.Name, Value: v, Source: SourceTopic})
	}
	if len(d.Synonyms) == 0 {
		return append(out, Entry{Name: d.Name, Value: d.Default, Null: d.NoDefault, Source: SourceDefault})
	}
	names := make([]string, len(d.Synonyms))
	for i, syn := range d.Synonyms {
		names[i] = syn.Name
	}
	return append(out, l.entries(names)...)
}

func (l Layers) entries(names []string) []Entry {
	var out []Entry
	add := func(layer map[string]string, source Source) {
		for _, name := range names {
			if v, ok := layer[name]; ok {
				out = append(out, Entry{Name: name, Value: v, Source: source})
			}
		}
	}
	add(l.Broker, SourceBroker)
	add(l.ClusterDefault, SourceClusterDefault)
	add(l.Static, SourceStatic)
	for _, name := range names {
		if d, ok := Broker(name); ok && !d.NoDefault {
			out = append(out, Entry{Name: name, Value: d.Default, Source: SourceDefault})
		}
	}
	return out
}

// TopicValue is the value that a topic setting has, in the topic setting's
// unit, and where it comes from.
func (l Layers) TopicValue(d *Def) (string, Source) {
	entries := l.TopicEntries(d)
	if len(entries) == 0 {
		return d.Default, SourceDefault
	}
	first := entries[0]
	if first.Source == SourceTopic {
		return first.Value, first.Source
	}
	for _, syn := range d.Synonyms {
		if syn.Name == first.Name && syn.Factor != 1 {
			if n, err := strconv.ParseInt(first.Value, 10, 64); err == nil {
				if n >= 0 {
					n *= syn.Factor
				}
				return strconv.FormatInt(n, 10), first.Source
			}
		}
	}
	return first.Value, first.Source
}

// BrokerValue is the value that a broker setting has; null is "".
func (l Layers) BrokerValue(d *Def) (string, Source) {
	entries := l.BrokerEntries(d)
	for _, e := range entries {
		// A synonym in another unit gives the value of its own name only.
		if e.Name == d.Name {
			return e.Value, e.Source
		}
	}
	return d.Default, SourceDefault
}

// TopicValues answers the values of a topic's settings.
func (l Layers) TopicValues() Values {
	return func(name string) string {
		d, ok := Topic(name)
		if !ok {
			panic("BUG: no topic setting " + name)
		}
		v, _ := l.TopicValue(d)
		return v
	}
}

// BrokerValues answers the values of a broker's settings.
func (l Layers) BrokerValues() Values {
	return func(name string) string {
		d, ok := Broker(name)
		if !ok {
			panic("BUG: no broker setting " + name)
		}
		v, _ := l.BrokerValue(d)
		return v
	}
}

// brokerSynonyms lists the names whose values stand in for a broker setting's.
func brokerSynonyms(name string) []string {
	for _, names := range [][]string{
		{"log.roll.ms", "log.roll.hours"},
		{"log.roll.jitter.ms", "log.roll.jitter.hours"},
		{"log.retention.ms", "log.retention.minutes", "log.retention.hours"},
	} {
		for _, n := range names {
			if n == name {
				return names
			}
		}
	}
	if name == "log.flush.interval.ms" {
		return []string{name, "log.flush.scheduler.interval.ms"}
	}
	return []string{name}
}

// Values answers the value of a setting by its name. The values were checked
// when they were set, so a value that cannot be read is a BUG.
type Values func(name string) string

// Int reads a whole number.
func (v Values) Int(name string) int64 {
	n, err := strconv.ParseInt(v(name), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: setting %s has the value %q: %v", name, v(name), err))
	}
	return n
}

// Float reads a number.
func (v Values) Float(name string) float64 {
	n, err := strconv.ParseFloat(v(name), 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: setting %s has the value %q: %v", name, v(name), err))
	}
	return n
}

// Bool reads true or false.
func (v Values) Bool(name string) bool { return v(name) == "true" }

// Millis reads a number of milliseconds; one too large for a Duration is the
// longest Duration.
func (v Values) Millis(name string) time.Duration {
	n := v.Int(name)
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if n > most {
		return 1<<63 - 1
	}
	return time.Duration(n) * time.Millisecond
}
