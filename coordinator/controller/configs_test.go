package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// edit is one change in a request: its operation is 0 SET, 1 DELETE, 2 APPEND, 3
// SUBTRACT, as on the wire. A value of "<null>" is null.
type edit struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value string
}

func editRequest(kind ConfigKind, name string, edits ...edit) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(kind), name
	for _, e := range edits {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = e.key, e.op
		if e.value != "<null>" {
			c.Value = &e.value
		}
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// edit changes the settings of a resource and returns how that ended.
func (c *cluster) edit(kind ConfigKind, name string, edits ...edit) refusal {
	c.t.Helper()
	r := ask[*kmsg.IncrementalAlterConfigsResponse](c, editRequest(kind, name, edits...)).Resources[0]
	return refusal{r.ErrorCode, text(r.ErrorMessage)}
}

// TestIncrementalAlterConfigsErrors holds codes and messages to those of Apache
// Kafka 4.2.2.
func TestIncrementalAlterConfigsErrors(t *testing.T) {
	const topic = "golden.one"
	for name, tc := range map[string]struct {
		kind  ConfigKind
		name  string
		edits []edit
		want  refusal
	}{
		"append to a number (A09)":   {KindTopic, topic, []edit{{"retention.ms", 2, "5"}}, refusal{40, "Can't APPEND to key retention.ms because its type is not LIST."}},
		"subtract from a number":     {KindTopic, topic, []edit{{"retention.ms", 3, "5"}}, refusal{40, "Can't SUBTRACT to key retention.ms because its type is not LIST."}},
		"unknown operation":          {KindTopic, topic, []edit{{"retention.ms", 7, "5"}}, refusal{-1, "<null>"}},
		"unknown setting":            {KindTopic, topic, []edit{{"foo.bar", 0, "5"}}, refusal{40, "Unknown topic config name: foo.bar"}},
		"append to unknown":          {KindTopic, topic, []edit{{"foo.bar", 2, "5"}}, refusal{40, "Can't APPEND to key foo.bar because its type is not LIST."}},
		"delete of unknown":          {KindTopic, topic, []edit{{"foo.bar", 1, "<null>"}}, refusal{0, "<null>"}},
		"null to set (A07)":          {KindTopic, topic, []edit{{"retention.ms", 0, "<null>"}}, refusal{42, "Null value not supported for : retention.ms"}},
		"key twice":                  {KindTopic, topic, []edit{{"retention.ms", 0, "1"}, {"retention.ms", 0, "2"}}, refusal{42, "Error due to duplicate config keys"}},
		"unknown topic":              {KindTopic, "nosuch", []edit{{"retention.ms", 0, "1"}}, refusal{3, "The topic 'nosuch' does not exist."}},
		"no topic":                   {KindTopic, "", []edit{{"retention.ms", 0, "1"}}, refusal{42, "Default topic resources are not allowed."}},
		"bad topic":                  {KindTopic, "b ad", []edit{{"retention.ms", 0, "1"}}, refusal{17, "Topic name is invalid: 'b ad' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"}},
		"bad value":                  {KindTopic, topic, []edit{{"retention.ms", 0, "abc"}}, refusal{40, "Invalid value abc for configuration retention.ms: Not a number of type LONG"}},
		"value too long":             {KindTopic, topic, []edit{{"retention.ms", 0, strings.Repeat("1", 32768)}}, refusal{40, "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."}},
		"a broker's ISR bound":       {KindBroker, "1", []edit{{"min.insync.replicas", 0, "1"}}, refusal{40, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."}},
		"no ISR bound":               {KindBroker, "", []edit{{"min.insync.replicas", 1, "<null>"}}, refusal{40, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."}},
		"setting that cannot change": {KindBroker, "", []edit{{"node.id", 0, "4"}}, refusal{42, "Cannot update these configs dynamically: Set(node.id)"}},
		"unknown broker setting":     {KindBroker, "", []edit{{"nosuch.config", 0, "4"}}, refusal{0, "<null>"}},
		"unknown broker":             {KindBroker, "7", []edit{{"log.cleaner.threads", 0, "1"}}, refusal{102, "No node with id 7 found."}},
		"interval too short":         {KindClientMetrics, "sub1", []edit{{"interval.ms", 0, "1"}}, refusal{42, "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"}},
		"unknown client metric":      {KindClientMetrics, "sub1", []edit{{"nosuch", 0, "1"}}, refusal{42, "Unknown client metrics configuration: nosuch"}},
		"no subscription":            {KindClientMetrics, "", []edit{{"interval.ms", 0, "1000"}}, refusal{42, "Subscription name can't be empty"}},
		"append to a match":          {KindClientMetrics, "sub1", []edit{{"match", 2, "client_id=a"}}, refusal{40, "Can't APPEND to key match because its type is not LIST."}},
		"unknown group setting":      {KindGroup, "g1", []edit{{"nosuch", 0, "1"}}, refusal{40, "Unknown group config name: nosuch"}},
		"no group":                   {KindGroup, "", []edit{{"consumer.session.timeout.ms", 0, "45000"}}, refusal{42, "Default group resources are not allowed."}},
		"unknown kind":               {3, "g1", []edit{{"nosuch", 0, "1"}}, refusal{42, "Unknown resource type 3"}},
		"throttled replicas":         {KindTopic, topic, []edit{{"follower.replication.throttled.replicas", 2, "0:1,1:1"}}, refusal{0, "<null>"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.create(newTopic(topic, 1, 1))
			end := c.Log.End()
			got := c.edit(tc.kind, tc.name, tc.edits...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-kafka +got)\n%s", diff)
			}
			if got.Code != 0 && c.Log.End() != end {
				t.Error("a refused change left records")
			}
		})
	}
}

// TestAppendAndSubtract is A09: lists change by their items, numbers do not.
func TestAppendAndSubtract(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("t", 1, 1, "cleanup.policy=compact"))
	for _, step := range []struct {
		edit edit
		want string
	}{
		{edit{"cleanup.policy", 2, "delete"}, "compact,delete"},
		{edit{"cleanup.policy", 2, "delete,compact"}, "compact,delete"},
		{edit{"cleanup.policy", 3, "delete"}, "compact"},
		{edit{"cleanup.policy", 3, "delete"}, "compact"},
		{edit{"cleanup.policy", 1, "<null>"}, ""},
		{edit{"cleanup.policy", 2, "compact"}, "delete,compact"}, // The default comes first.
	} {
		if got := c.edit(KindTopic, "t", step.edit); got.Code != 0 {
			t.Fatalf("%+v: %v", step.edit, got)
		}
		if got := c.image().Config(KindTopic, "t")["cleanup.policy"]; got != step.want {
			t.Errorf("after %+v it is %q, want %q", step.edit, got, step.want)
		}
	}
}

// TestAlterIsAllOrNothing: one bad setting keeps a resource as it was, and another
// resource of the request changes.
func TestAlterIsAllOrNothing(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("a", 1, 1), newTopic("b", 1, 1))
	req := editRequest(KindTopic, "a", edit{"retention.ms", 0, "5"}, edit{"segment.bytes", 0, "x"})
	req.Resources = append(req.Resources, editRequest(KindTopic, "b", edit{"retention.ms", 0, "6"}).Resources...)
	resp := ask[*kmsg.IncrementalAlterConfigsResponse](c, req)
	if resp.Resources[0].ErrorCode != 40 || resp.Resources[1].ErrorCode != 0 {
		t.Errorf("%+v", resp.Resources)
	}
	if a, b := c.image().Config(KindTopic, "a"), c.image().Config(KindTopic, "b"); a != nil || b["retention.ms"] != "6" {
		t.Errorf("settings %v and %v", a, b)
	}
}

func TestResourceTwice(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("a", 1, 1))
	req := editRequest(KindTopic, "a", edit{"retention.ms", 0, "5"})
	req.Resources = append(req.Resources, req.Resources[0])
	for _, r := range ask[*kmsg.IncrementalAlterConfigsResponse](c, req).Resources {
		if got := (refusal{r.ErrorCode, text(r.ErrorMessage)}); got != (refusal{42, "Each resource must appear at most once."}) {
			t.Errorf("%v", got)
		}
	}
}

// TestAlterConfigsReplaces: the old request takes back what it does not name.
func TestAlterConfigsReplaces(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("t", 1, 1, "retention.ms=5", "segment.bytes=1048576"))
	alter := func(validate bool, name, key, value string) refusal {
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Version, req.ValidateOnly = 2, validate
		r := kmsg.NewAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		cfg := kmsg.NewAlterConfigsRequestResourceConfig()
		cfg.Name = key
		if value != "<null>" {
			cfg.Value = &value
		}
		r.Configs = append(r.Configs, cfg)
		req.Resources = append(req.Resources, r)
		rr := ask[*kmsg.AlterConfigsResponse](c, req).Resources[0]
		return refusal{rr.ErrorCode, text(rr.ErrorMessage)}
	}
	for _, step := range []struct {
		validate         bool
		name, key, value string
		want             refusal
	}{
		{true, "t", "flush.ms", "9", refusal{0, "<null>"}},
		{false, "t", "foo", "1", refusal{40, "Unknown topic config name: foo"}},
		{false, "t", "retention.ms", "<null>", refusal{42, "Null value not supported for : retention.ms"}},
		{false, "nosuch", "retention.ms", "1", refusal{3, "The topic 'nosuch' does not exist."}},
	} {
		if got := alter(step.validate, step.name, step.key, step.value); got != step.want {
			t.Errorf("%s=%s: %v, want %v", step.key, step.value, got, step.want)
		}
		if got := c.image().Config(KindTopic, "t"); len(got) != 2 {
			t.Errorf("after %s=%s the settings are %v", step.key, step.value, got)
		}
	}
	if got := alter(false, "t", "flush.ms", "9"); got.Code != 0 {
		t.Fatal(got)
	}
	if got := c.image().Config(KindTopic, "t"); !cmp.Equal(got, map[string]string{"flush.ms": "9"}) {
		t.Errorf("settings %v", got)
	}
}

// TestBrokerConfigs: a broker's setting is written even if it stays the same.
func TestBrokerConfigs(t *testing.T) {
	c := newCluster(t, 1)
	for range 2 {
		end := c.Log.End()
		if got := c.edit(KindBroker, "1", edit{"log.cleaner.threads", 0, "2"}); got.Code != 0 {
			t.Fatal(got)
		}
		if c.Log.End() != end+1 {
			t.Errorf("%d records, want 1", c.Log.End()-end)
		}
	}
	if got := c.image().Config(KindBroker, "1"); got["log.cleaner.threads"] != "2" {
		t.Errorf("settings %v", got)
	}
}

// TestMinISRChangeForgetsELR: the eligible leaders were found with another bound.
func TestMinISRChangeForgetsELR(t *testing.T) {
	c := newCluster(t, 2)
	c.create(newTopic("t", 1, 2, "min.insync.replicas=2"))
	follower := c.partition("t", 0).Replicas[1]
	c.beat(follower, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true })
	if got := c.partition("t", 0).ELR; !cmp.Equal(got, []int32{follower}) {
		t.Fatalf("ELR %v, want %d", got, follower)
	}
	if got := c.edit(KindTopic, "t", edit{"min.insync.replicas", 0, "1"}); got.Code != 0 {
		t.Fatal(got)
	}
	if got := c.partition("t", 0).ELR; len(got) != 0 {
		t.Errorf("ELR %v is still there", got)
	}
}

// TestUpdateFeaturesErrors holds messages to those of Apache Kafka 4.2.2.
func TestUpdateFeatures(t *testing.T) {
	const failed = "The update failed for all features since the following feature had an error: "
	for name, tc := range map[string]struct {
		feature string
		level   int16
		kind    int8
		want    refusal
	}{
		"unknown":               {"nosuch.feature", 1, 1, refusal{95, failed + "Invalid update version 1 for feature nosuch.feature. Local controller 1 does not support this feature."}},
		"too new":               {"transaction.version", 9, 1, refusal{95, failed + "Invalid update version 9 for feature transaction.version. Local controller 1 only supports versions 0-2"}},
		"down as an upgrade":    {"transaction.version", 1, 1, refusal{95, failed + "Invalid update version 1 for feature transaction.version. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."}},
		"down":                  {"transaction.version", 1, 2, refusal{0, "<null>"}},
		"below zero":            {"transaction.version", -1, 2, refusal{95, failed + "Invalid update version -1 for feature transaction.version. A feature version cannot be less than 0."}},
		"metadata one down":     {"metadata.version", 28, 2, refusal{0, "<null>"}},
		"metadata far down":     {"metadata.version", 7, 2, refusal{95, failed + "Unsupported metadata.version downgrade from 29 to 7. Refusing to perform the requested downgrade because it might delete metadata information."}},
		"metadata unsafely":     {"metadata.version", 7, 3, refusal{95, failed + "Unsupported metadata.version downgrade from 29 to 7. Unsafe metadata downgrade is not supported in this version."}},
		"metadata too new":      {"metadata.version", 40, 1, refusal{95, failed + "Invalid update version 40 for feature metadata.version. Local controller 1 only supports versions 7-29"}},
		"unknown kind":          {"group.version", 1, 7, refusal{95, failed + "Invalid update version 1 for feature group.version. The controller does not support the given upgrade type."}},
		"same level, downgrade": {"transaction.version", 2, 2, refusal{0, "<null>"}},
		"same level, upgrade":   {"transaction.version", 2, 1, refusal{0, "<null>"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			req := kmsg.NewPtrUpdateFeaturesRequest()
			req.Version = 2
			f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			f.Feature, f.MaxVersionLevel, f.UpgradeType = tc.feature, tc.level, tc.kind
			req.FeatureUpdates = append(req.FeatureUpdates, f)
			before := c.image().Feature(tc.feature)
			resp := ask[*kmsg.UpdateFeaturesResponse](c, req)
			if got := (refusal{resp.ErrorCode, text(resp.ErrorMessage)}); got != tc.want {
				t.Errorf("got  %v\nwant %v", got, tc.want)
			}
			want := before
			if tc.want.Code == 0 {
				want = tc.level
			}
			if got := c.image().Feature(tc.feature); got != want {
				t.Errorf("level %d, want %d", got, want)
			}
		})
	}
}
