package config_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/protocol/config"
)

func TestNormalize(t *testing.T) {
	for name, tc := range map[string]struct {
		setting, value string
		want, wantErr  string
	}{
		"number with spaces":      {"retention.ms", " 5 ", "5", ""},
		"number with a plus sign": {"retention.ms", "+5", "5", ""},
		"at the bound":            {"retention.ms", "-1", "-1", ""},
		"below the bound": {
			"retention.ms", "-2", "",
			"Invalid value -2 for configuration retention.ms: Value must be at least -1",
		},
		"not a number": {
			"retention.ms", "soon", "",
			"Invalid value soon for configuration retention.ms: Not a number of type LONG",
		},
		"too large for an int": {
			"segment.bytes", "4294967296", "",
			"Invalid value 4294967296 for configuration segment.bytes: Not a number of type INT",
		},
		"boolean in capitals": {"preallocate", "TRUE", "true", ""},
		"not a boolean": {
			"preallocate", "yes", "",
			"Invalid value yes for configuration preallocate: Expected value to be either true or false",
		},
		"word not listed": {
			"message.timestamp.type", "createtime", "",
			"Invalid value createtime for configuration message.timestamp.type: " +
				"String must be one of: CreateTime, LogAppendTime",
		},
		"list with spaces":     {"cleanup.policy", "compact , delete", "compact,delete", ""},
		"empty list":           {"cleanup.policy", "", "", ""},
		"list with a stranger": {"cleanup.policy", "compact,keep", "", "Invalid value keep for configuration cleanup.policy: String must be one of: compact, delete"},
		"list with a double":   {"cleanup.policy", "delete,delete", "", "Configuration 'cleanup.policy' values must not be duplicated."},
		"gzip level between":   {"compression.gzip.level", "0", "", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		"ratio":                {"min.cleanable.dirty.ratio", "0.25", "0.25", ""},
		"ratio above one":      {"min.cleanable.dirty.ratio", "1.5", "", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
	} {
		t.Run(name, func(t *testing.T) {
			d, ok := config.Topic(tc.setting)
			if !ok {
				t.Fatalf("no setting %s", tc.setting)
			}
			got, err := d.Normalize(tc.value)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || err.Error() != tc.wantErr) {
				t.Fatalf("error %v, want %q", err, tc.wantErr)
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Every default that a table gives must be a value that the setting accepts,
// in the form in which it is shown.
func TestDefaultsAreValid(t *testing.T) {
	for _, defs := range [][]*config.Def{config.Topics(), config.Brokers(), config.Groups()} {
		for _, d := range defs {
			if d.Doc == "" {
				t.Errorf("%s has no documentation", d.Name)
			}
			if d.NoDefault {
				continue
			}
			got, err := d.Normalize(d.Default)
			if err != nil {
				t.Errorf("default of %s: %v", d.Name, err)
			} else if got != d.Default {
				t.Errorf("default of %s is %q, shown as %q", d.Name, d.Default, got)
			}
		}
	}
}

func TestCheckTopic(t *testing.T) {
	defaults := config.Layers{}.TopicValues()
	if _, err := config.CheckTopic(map[string]string{"foo.bar.baz": "1"}, defaults); !errors.As(err, new(*config.UnknownError)) {
		t.Errorf("unknown name: %v", err)
	}
	_, err := config.CheckTopic(map[string]string{"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}, defaults)
	if err == nil || err.Error() != "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)" {
		t.Errorf("lag conflict: %v", err)
	}
	got, err := config.CheckTopic(map[string]string{"cleanup.policy": "compact, delete"}, defaults)
	if diff := cmp.Diff(map[string]string{"cleanup.policy": "compact,delete"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// The strongest layer wins, and broker settings in hours or minutes give a topic
// setting in milliseconds (case O11: KAFKA-17584).
func TestTopicValue(t *testing.T) {
	d, _ := config.Topic("retention.ms")
	l := config.Layers{Static: map[string]string{"log.retention.hours": "1"}}
	steps := []struct {
		name   string
		change func()
		want   string
		source config.Source
	}{
		// Kafka calls the source of a value in other units the default (ConfigHelper).
		{"file in hours", func() {}, "3600000", config.SourceDefault},
		{"minutes beat hours", func() { l.Static["log.retention.minutes"] = "2" }, "120000", config.SourceDefault},
		{"dynamic for all brokers", func() { l.ClusterDefault = map[string]string{"log.retention.ms": "5000"} }, "5000", config.SourceClusterDefault},
		{"dynamic for the broker", func() { l.Broker = map[string]string{"log.retention.ms": "-1"} }, "-1", config.SourceBroker},
		{"the topic's own", func() { l.Topic = map[string]string{"retention.ms": "7"} }, "7", config.SourceTopic},
		{"all taken back", func() {
			l.Topic, l.Broker, l.ClusterDefault = nil, nil, nil
			delete(l.Static, "log.retention.minutes")
		}, "3600000", config.SourceDefault},
		{"nothing set", func() { l.Static = nil }, "604800000", config.SourceDefault},
	}
	for _, s := range steps {
		s.change()
		if got := l.TopicValue(d); got != s.want {
			t.Errorf("%s: %s, want %s", s.name, got, s.want)
		}
		source := config.SourceDefault
		if syn := l.TopicSynonyms(d); len(syn) > 0 {
			source = syn[0].Source
		}
		if source != s.source {
			t.Errorf("%s: from %d, want %d", s.name, source, s.source)
		}
	}
}

func TestParseProperties(t *testing.T) {
	got, err := config.ParseProperties("server.properties", []byte(
		"# comment\n! another\nlisteners=PLAINTEXT://:9092\nlog.dirs : /tmp/a\\\n   ,/tmp/b\nempty=\n"+
			"a.b=${java.home}\nname=caf\\u00e9\nnum.partitions=1\nnum.partitions=3\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"listeners": "PLAINTEXT://:9092", "log.dirs": "/tmp/a,/tmp/b", "empty": "", "a.b": "${java.home}",
		"name": "café", "num.partitions": "3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFormatProperties(t *testing.T) {
	settings := map[string]string{
		"plain": "1@a:9092,b", "empty": "", "a key: odd=#!": " led by a space, and = : # ! inside ",
		"lines": "a\nb\r\tc\fd", "back\\slash": `C:\data\u0041`, "expanded": "${plain}",
		"beyond": "Moldau – Česká, é, \x7f\x01",
	}
	got, err := config.ParseProperties("x", config.FormatProperties(settings))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings, got); diff != "" {
		t.Error(diff)
	}
	if got, want := string(config.FormatProperties(map[string]string{"b": "x:=y", "a": "1"})), "a=1\nb=x:=y\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// FuzzParseProperties: any bytes give settings or an error, never a panic.
func FuzzParseProperties(f *testing.F) {
	f.Add([]byte("a=b\\\n c\nd:e\n"))
	f.Add([]byte("k\\u00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := config.ParseProperties("x", text); err == nil && m == nil {
			t.Fatal("neither settings nor an error")
		}
	})
}

func TestListenerPrefix(t *testing.T) {
	for _, name := range []string{
		"listener.name.internal.ssl.keystore.location",
		"listener.name.sasl-in.scram-sha-256.sasl.jaas.config",
		"node.id",
	} {
		if _, ok := config.Broker(name); !ok {
			t.Errorf("%s is not found", name)
		}
	}
	if _, ok := config.Broker("listener.name.internal.nonsense"); ok {
		t.Error("nonsense is found")
	}
}
