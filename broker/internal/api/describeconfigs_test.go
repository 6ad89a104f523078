package api

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol/config"
	record "github.com/moldau-broker/moldau/protocol/metadata"
)

// TestDescribeConfigs: settings with the layer that their value is from, and those that it
// could be from.
func TestDescribeConfigs(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	for _, c := range []record.Config{
		{ResourceType: 2, ResourceName: "t", Name: "retention.ms", Value: kmsg.StringPtr("60000")},
		{ResourceType: 32, ResourceName: "g", Name: "consumer.session.timeout.ms", Value: kmsg.StringPtr("50000")},
	} {
		n.commit(&c)
	}
	n.Layers = func(*controller.Image) config.Layers {
		return config.Layers{
			Broker:         map[string]string{"log.retention.ms": "70000"},
			ClusterDefault: map[string]string{"log.retention.ms": "80000", "log.segment.bytes": "1048576"},
			Static:         map[string]string{"log.retention.ms": "90000", "ssl.key.password": "secret"},
		}
	}
	n.Logger = slog.New(slog.NewTextHandler(&strings.Builder{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for name, tc := range map[string]struct {
		kind     kmsg.ConfigResourceType
		resource string
		names    []string
		synonyms bool
		want     string
	}{
		"a topic's own":          {kmsg.ConfigResourceTypeTopic, "t", []string{"retention.ms"}, true, `{Resources:[{ErrorMessage:"" ResourceType:TOPIC ResourceName:"t" Configs:[{Name:"retention.ms" Value:"60000" Source:DYNAMIC_TOPIC_CONFIG ConfigSynonyms:[{Name:"retention.ms" Value:"60000" Source:DYNAMIC_TOPIC_CONFIG} {Name:"log.retention.ms" Value:"70000" Source:DYNAMIC_BROKER_CONFIG} {Name:"log.retention.ms" Value:"80000" Source:DYNAMIC_DEFAULT_BROKER_CONFIG} {Name:"log.retention.ms" Value:"90000" Source:STATIC_BROKER_CONFIG} {Name:"log.retention.hours" Value:"168" Source:DEFAULT_CONFIG}] ConfigType:LONG}]}]}`},
		"a topic's default":      {kmsg.ConfigResourceTypeTopic, "t", []string{"cleanup.policy", "retention.ms"}, false, `{Resources:[{ErrorMessage:"" ResourceType:TOPIC ResourceName:"t" Configs:[{Name:"cleanup.policy" Value:"delete" Source:DEFAULT_CONFIG ConfigType:LIST} {Name:"retention.ms" Value:"60000" Source:DYNAMIC_TOPIC_CONFIG ConfigType:LONG}]}]}`},
		"no such topic":          {kmsg.ConfigResourceTypeTopic, "none", nil, false, `{Resources:[{UNKNOWN_TOPIC_OR_PARTITION ErrorMessage:"" ResourceType:TOPIC ResourceName:"none"}]}`},
		"no name":                {kmsg.ConfigResourceTypeTopic, "no name/", nil, false, `{Resources:[{INVALID_TOPIC_EXCEPTION ErrorMessage:"Topic name is invalid: 'no name/' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'" ResourceType:TOPIC ResourceName:"no name/"}]}`},
		"this broker":            {kmsg.ConfigResourceTypeBroker, "1", []string{"log.retention.ms", "log.segment.bytes", "broker.rack"}, true, `{Resources:[{ErrorMessage:"" ResourceType:BROKER ResourceName:"1" Configs:[{Name:"broker.rack" ReadOnly:true Source:DEFAULT_CONFIG ConfigType:STRING} {Name:"log.retention.ms" Value:"70000" Source:DYNAMIC_BROKER_CONFIG ConfigSynonyms:[{Name:"log.retention.ms" Value:"70000" Source:DYNAMIC_BROKER_CONFIG} {Name:"log.retention.ms" Value:"80000" Source:DYNAMIC_DEFAULT_BROKER_CONFIG} {Name:"log.retention.ms" Value:"90000" Source:STATIC_BROKER_CONFIG} {Name:"log.retention.hours" Value:"168" Source:DEFAULT_CONFIG}] ConfigType:LONG} {Name:"log.segment.bytes" Value:"1048576" Source:DYNAMIC_DEFAULT_BROKER_CONFIG ConfigSynonyms:[{Name:"log.segment.bytes" Value:"1048576" Source:DYNAMIC_DEFAULT_BROKER_CONFIG} {Name:"log.segment.bytes" Value:"1073741824" Source:DEFAULT_CONFIG}] ConfigType:INT}]}]}`},
		"a password":             {kmsg.ConfigResourceTypeBroker, "1", []string{"ssl.key.password"}, true, `{Resources:[{ErrorMessage:"" ResourceType:BROKER ResourceName:"1" Configs:[{Name:"ssl.key.password" Source:STATIC_BROKER_CONFIG IsSensitive:true ConfigSynonyms:[{Name:"ssl.key.password" Source:STATIC_BROKER_CONFIG}] ConfigType:PASSWORD}]}]}`},
		"all brokers":            {kmsg.ConfigResourceTypeBroker, "", []string{"log.retention.ms", "log.segment.bytes", "broker.rack"}, true, `{Resources:[{ErrorMessage:"" ResourceType:BROKER Configs:[{Name:"log.retention.ms" Value:"80000" Source:DYNAMIC_DEFAULT_BROKER_CONFIG ConfigSynonyms:[{Name:"log.retention.ms" Value:"80000" Source:DYNAMIC_DEFAULT_BROKER_CONFIG}] ConfigType:LONG} {Name:"log.segment.bytes" Value:"1048576" Source:DYNAMIC_DEFAULT_BROKER_CONFIG ConfigSynonyms:[{Name:"log.segment.bytes" Value:"1048576" Source:DYNAMIC_DEFAULT_BROKER_CONFIG}] ConfigType:INT}]}]}`},
		"another broker":         {kmsg.ConfigResourceTypeBroker, "2", nil, false, `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1 or empty string, but received 2" ResourceType:BROKER ResourceName:"2"}]}`},
		"no broker":              {kmsg.ConfigResourceTypeBroker, "x", nil, false, `{Resources:[{INVALID_REQUEST ErrorMessage:"Broker id must be an integer, but it is: x" ResourceType:BROKER ResourceName:"x"}]}`},
		"a group":                {kmsg.ConfigResourceTypeGroupConfig, "g", []string{"consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"}, true, `{Resources:[{ErrorMessage:"" ResourceType:GROUP_CONFIG ResourceName:"g" Configs:[{Name:"consumer.heartbeat.interval.ms" Value:"5000" Source:DEFAULT_CONFIG ConfigSynonyms:[{Name:"consumer.heartbeat.interval.ms" Value:"5000" Source:DEFAULT_CONFIG}] ConfigType:INT} {Name:"consumer.session.timeout.ms" Value:"50000" Source:GROUP_CONFIG ConfigSynonyms:[{Name:"consumer.session.timeout.ms" Value:"50000" Source:GROUP_CONFIG}] ConfigType:INT}]}]}`},
		"no group":               {kmsg.ConfigResourceTypeGroupConfig, "", nil, false, `{Resources:[{INVALID_REQUEST ErrorMessage:"Group name must not be empty" ResourceType:GROUP_CONFIG}]}`},
		"client metrics":         {kmsg.ConfigResourceTypeClientMetrics, "c", []string{"interval.ms"}, true, `{Resources:[{ErrorMessage:"" ResourceType:CLIENT_METRICS ResourceName:"c" Configs:[{Name:"interval.ms" Value:"300000" Source:DEFAULT_CONFIG ConfigType:INT}]}]}`},
		"no client metrics":      {kmsg.ConfigResourceTypeClientMetrics, "", nil, false, `{Resources:[{INVALID_REQUEST ErrorMessage:"Client metrics subscription name must not be empty" ResourceType:CLIENT_METRICS}]}`},
		"a logger":               {kmsg.ConfigResourceTypeBrokerLogger, "1", nil, false, `{Resources:[{ErrorMessage:"" ResourceType:BROKER_LOGGER ResourceName:"1" Configs:[{Name:"root" Value:"WARN" Source:DYNAMIC_BROKER_LOGGER_CONFIG}]}]}`},
		"another logger":         {kmsg.ConfigResourceTypeBrokerLogger, "2", nil, false, `{Resources:[{INVALID_REQUEST ErrorMessage:"Unexpected broker id, expected 1 but received 2" ResourceType:BROKER_LOGGER ResourceName:"2"}]}`},
		"loggers of no broker":   {kmsg.ConfigResourceTypeBrokerLogger, "", nil, false, `{Resources:[{INVALID_REQUEST ErrorMessage:"Broker id must not be empty" ResourceType:BROKER_LOGGER}]}`},
		"a setting that is none": {kmsg.ConfigResourceTypeTopic, "t", []string{"none"}, false, `{Resources:[{ErrorMessage:"" ResourceType:TOPIC ResourceName:"t"}]}`},
	} {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Version, req.IncludeSynonyms = 4, tc.synonyms
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: tc.kind, ResourceName: tc.resource, ConfigNames: tc.names}}
		if diff := cmp.Diff(tc.want, shownAll(ask(t, n.Env, req))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestDescribeConfigsOfNoKind: one resource of no known kind refuses all of a request.
func TestDescribeConfigsOfNoKind(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}, {ResourceType: 3, ResourceName: "odd"}}
	const why = `INVALID_REQUEST ErrorMessage:"This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."`
	want := `{Resources:[{` + why + ` ResourceType:TOPIC ResourceName:"t"} {` + why + ` ResourceType:UNKNOWN ResourceName:"odd"}]}`
	if diff := cmp.Diff(want, shownAll(ask(t, n.Env, req))); diff != "" {
		t.Error(diff)
	}
}

// TestDocumentationOfConfigs is told to who asks.
func TestDocumentationOfConfigs(t *testing.T) {
	env := rightsNode(t)
	for _, asked := range []bool{false, true} {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Version, req.IncludeDocumentation = 4, asked
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t", ConfigNames: []string{"retention.ms"}}}
		c := ask(t, env, req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs[0]
		if told := c.Documentation != nil && *c.Documentation != ""; told != asked {
			t.Errorf("asked %v, told %v", asked, told)
		}
	}
}
