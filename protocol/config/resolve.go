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
	SourceClientMetrics  Source = 7
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
	Source Source
}

// BrokerSynonyms lists the values of a broker setting, strongest first, as
// DescribeConfigs does: names that mean the same in other units
// (log.retention.ms, .minutes, .hours) stand in the list only behind a value of
// the setting's own name.
func (l Layers) BrokerSynonyms(name string) []Entry {
	all := l.entries(brokerSynonyms(name))
	for i, e := range all {
		if e.Name == name {
			return all[i:]
		}
	}
	return nil
}

// TopicSynonyms lists the values of a topic setting, strongest first, as
// DescribeConfigs does: the topic's own, then those of the broker setting that
// gives the default.
func (l Layers) TopicSynonyms(d *Def) []Entry {
	var out []Entry
	if v, ok := l.Topic[d.Name]; ok {
		out = append(out, Entry{Name: d.Name, Value: v, Source: SourceTopic})
	}
	if len(d.Synonyms) > 0 {
		out = append(out, l.BrokerSynonyms(d.Synonyms[0].Name)...)
	}
	return out
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
// unit.
func (l Layers) TopicValue(d *Def) string {
	if v, ok := l.Topic[d.Name]; ok {
		return v
	}
	names := make([]string, len(d.Synonyms))
	for i, syn := range d.Synonyms {
		names[i] = syn.Name
	}
	entries := l.entries(names)
	if len(entries) == 0 {
		return d.Default
	}
	first := entries[0]
	for _, syn := range d.Synonyms {
		if syn.Name == first.Name && syn.Factor != 1 {
			if n, err := strconv.ParseInt(first.Value, 10, 64); err == nil {
				if n >= 0 {
					n *= syn.Factor
				}
				return strconv.FormatInt(n, 10)
			}
		}
	}
	return first.Value
}

// BrokerValue is the value that a broker setting has; null is "".
func (l Layers) BrokerValue(d *Def) string {
	if entries := l.BrokerSynonyms(d.Name); len(entries) > 0 {
		return entries[0].Value
	}
	return d.Default
}

// TopicValues answers the values of a topic's settings.
func (l Layers) TopicValues() Values {
	return func(name string) string {
		d, ok := Topic(name)
		if !ok {
			panic("BUG: no topic setting " + name)
		}
		return l.TopicValue(d)
	}
}

// BrokerValues answers the values of a broker's settings.
func (l Layers) BrokerValues() Values {
	return func(name string) string {
		d, ok := Broker(name)
		if !ok {
			panic("BUG: no broker setting " + name)
		}
		return l.BrokerValue(d)
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
