package controller

import (
	"errors"
	"testing"
)

// TestSchemaChecks covers the kinds of resources that configs_test.go does not go
// through.
func TestSchemaChecks(t *testing.T) {
	for name, tc := range map[string]struct {
		resource      ConfigResource
		before, after map[string]string
		code          int16 // 40 unless the error says otherwise; 0 is no error.
		text          string
	}{
		"client metrics":            {ConfigResource{KindClientMetrics, "s"}, nil, map[string]string{"metrics": "org.apache.kafka", "interval.ms": "3600000", "match": "client_id=a.*,client_source_port=1"}, 0, ""},
		"interval is no number":     {ConfigResource{KindClientMetrics, "s"}, nil, map[string]string{"interval.ms": "x"}, 40, "Invalid value x for configuration interval.ms: Not a number of type INT"},
		"match of nothing known":    {ConfigResource{KindClientMetrics, "s"}, nil, map[string]string{"match": "user=a"}, 40, "Illegal client matching pattern: user=a"},
		"match without a value":     {ConfigResource{KindClientMetrics, "s"}, nil, map[string]string{"match": "client_id"}, 40, "Illegal client matching pattern: client_id"},
		"match is no expression":    {ConfigResource{KindClientMetrics, "s"}, nil, map[string]string{"match": "client_id=("}, 40, "Illegal client matching pattern: client_id=("},
		"group":                     {ConfigResource{KindGroup, "g"}, nil, map[string]string{"consumer.session.timeout.ms": "45000"}, 0, ""},
		"group, at the bound":       {ConfigResource{KindGroup, "g"}, nil, map[string]string{"consumer.session.timeout.ms": "60000"}, 0, ""},
		"group, above the bound":    {ConfigResource{KindGroup, "g"}, nil, map[string]string{"consumer.session.timeout.ms": "60001"}, 40, "consumer.session.timeout.ms is 60001, the broker's group.consumer.max.session.timeout.ms is 60000"},
		"group, below the bound":    {ConfigResource{KindGroup, "g"}, nil, map[string]string{"share.heartbeat.interval.ms": "4999"}, 40, "share.heartbeat.interval.ms is 4999, the broker's group.share.min.heartbeat.interval.ms is 5000"},
		"group, standby replicas":   {ConfigResource{KindGroup, "g"}, nil, map[string]string{"streams.num.standby.replicas": "3"}, 40, "streams.num.standby.replicas is 3, the broker's group.streams.max.standby.replicas is 2"},
		"group, no number":          {ConfigResource{KindGroup, "g"}, nil, map[string]string{"consumer.session.timeout.ms": "x"}, 40, "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT"},
		"one broker's, for all":     {ConfigResource{KindBroker, ""}, nil, map[string]string{"listeners": "PLAINTEXT://a:1"}, 42, "Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)"},
		"one broker's":              {ConfigResource{KindBroker, "1"}, nil, map[string]string{"listeners": "PLAINTEXT://a:1"}, 0, ""},
		"broker, no number":         {ConfigResource{KindBroker, ""}, nil, map[string]string{"log.cleaner.threads": "x"}, 42, "Invalid value x for configuration log.cleaner.threads: Not a number of type INT"},
		"read-only, but there":      {ConfigResource{KindBroker, ""}, map[string]string{"node.id": "4"}, map[string]string{"node.id": "4", "log.cleaner.threads": "2"}, 0, ""},
		"topic settings that clash": {ConfigResource{KindTopic, "t"}, nil, map[string]string{"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}, 40, "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Schema{}.Check(tc.resource, tc.before, tc.after)
			if tc.code == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			code, text := int16(40), ""
			if err != nil {
				text = err.Error()
			}
			if r, ok := errors.AsType[*Refusal](err); ok {
				code, text = r.code(), r.Message
			}
			if code != tc.code || text != tc.text {
				t.Errorf("got  %d %s\nwant %d %s", code, text, tc.code, tc.text)
			}
		})
	}
}

// TestStaticSettings: what the node's file says is the default of topics.
func TestStaticSettings(t *testing.T) {
	s := Schema{Static: map[string]string{"min.insync.replicas": "3", "log.retention.hours": "2"}}
	none := map[string]string(nil)
	for _, tc := range []struct {
		key                    string
		topic, broker, cluster map[string]string
		want                   string
	}{
		{"min.insync.replicas", none, none, none, "3"},
		{"min.insync.replicas", none, none, map[string]string{"min.insync.replicas": "2"}, "2"},
		{"min.insync.replicas", map[string]string{"min.insync.replicas": "1"}, none, none, "1"},
		{"retention.ms", none, none, none, "7200000"},
	} {
		if got := s.TopicValue(tc.key, tc.topic, tc.broker, tc.cluster); got != tc.want {
			t.Errorf("%s of %v, %v, %v is %s, want %s", tc.key, tc.topic, tc.broker, tc.cluster, got, tc.want)
		}
	}
}

// TestDroppedSettings: a setting that Kafka took out in 4.0 is accepted from old
// tools, and not kept.
func TestDroppedSettings(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("t", 1, 1, "message.format.version=2.8", "retention.ms=5"))
	if got := c.image().Config(KindTopic, "t"); len(got) != 1 || got["retention.ms"] != "5" {
		t.Errorf("settings %v", got)
	}
}

// TestGroupSessionsOutlastHeartbeats: what is checked is what would hold, the
// group's own or else the broker's.
func TestGroupSessionsOutlastHeartbeats(t *testing.T) {
	s := Schema{Static: map[string]string{
		"group.consumer.min.session.timeout.ms": "1000", "group.consumer.max.heartbeat.interval.ms": "50000",
	}}
	for name, tc := range map[string]struct {
		after map[string]string
		ok    bool
	}{
		"a short session under the broker's heartbeat": {map[string]string{"consumer.session.timeout.ms": "5000"}, false},
		"a little longer":                          {map[string]string{"consumer.session.timeout.ms": "5001"}, true},
		"a long heartbeat in the broker's session": {map[string]string{"consumer.heartbeat.interval.ms": "45000"}, false},
		"both": {map[string]string{"consumer.session.timeout.ms": "48000", "consumer.heartbeat.interval.ms": "47999"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.Check(ConfigResource{KindGroup, "g"}, nil, tc.after); (err == nil) != tc.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
