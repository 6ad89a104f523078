package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

func (c *cluster) feature(name string, level int16, kind int8, adjust ...func(*kmsg.UpdateFeaturesRequest)) refusal {
	c.t.Helper()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 2
	req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: name, MaxVersionLevel: level, UpgradeType: kind}}
	for _, f := range adjust {
		f(req)
	}
	resp := ask[*kmsg.UpdateFeaturesResponse](c, req)
	return refusal{resp.ErrorCode, text(resp.ErrorMessage)}
}

// TestBootstrapLevels: what a new cluster finalizes follows from its
// metadata.version, as Kafka's formatter has it.
func TestBootstrapLevels(t *testing.T) {
	for level, want := range map[metadata.Level]string{
		21: "metadata.version=21",
		22: "metadata.version=22 group.version=1",
		24: "metadata.version=24 group.version=1 transaction.version=2",
		26: "metadata.version=26 eligible.leader.replicas.version=1 group.version=1 transaction.version=2",
		28: "metadata.version=28 eligible.leader.replicas.version=1 group.version=1 share.version=1 transaction.version=2",
		29: "metadata.version=29 eligible.leader.replicas.version=1 group.version=1 share.version=1 streams.version=1 transaction.version=2",
	} {
		var got string
		for _, r := range Bootstrap(level) {
			f := r.(*metadata.FeatureLevel)
			if got += f.Name + "=" + string(rune('0'+f.FeatureLevel)) + " "; f.Name == metadata.FeatureMetadataVersion {
				got = "metadata.version=" + string([]rune{rune('0' + f.FeatureLevel/10), rune('0' + f.FeatureLevel%10)}) + " "
			}
		}
		if got != want+" " {
			t.Errorf("level %d: %s, want %s", level, got, want)
		}
	}
}

// TestELRBegins: going over to eligible leaders makes the ISR bound the same for
// all brokers first.
func TestELRBegins(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) {
		cfg.Bootstrap = slices.DeleteFunc(Bootstrap(metadata.Level42IV1), func(r metadata.Record) bool {
			return r.(*metadata.FeatureLevel).Name == metadata.FeatureELR
		})
		cfg.MinInsyncReplicas = 2
	})
	if c.image().ELR() || c.image().Config(KindBroker, "") != nil {
		t.Fatal("it began with ELR")
	}
	if got := c.edit(KindBroker, "1", edit{"min.insync.replicas", 0, "3"}, edit{"log.cleaner.threads", 0, "2"}); got.Code != 0 {
		t.Fatal(got)
	}
	if got := c.feature(metadata.FeatureELR, 1, upgrade); got.Code != 0 {
		t.Fatal(got)
	}
	if !c.image().ELR() || c.image().Features()[metadata.FeatureELR] != 1 {
		t.Error("it has not begun")
	}
	if got := c.image().Config(KindBroker, ""); !cmp.Equal(got, map[string]string{"min.insync.replicas": "2"}) {
		t.Errorf("of all brokers: %v", got)
	}
	if got := c.image().Config(KindBroker, "1"); !cmp.Equal(got, map[string]string{"log.cleaner.threads": "2"}) {
		t.Errorf("of broker 1: %v", got)
	}
}

// TestWithoutELR: the last member of an ISR stays in it, fenced or not.
func TestWithoutELR(t *testing.T) {
	c := newCluster(t, 2)
	if got := c.feature(metadata.FeatureELR, 0, safeDowngrade); got.Code != 0 {
		t.Fatal(got)
	}
	c.create(assigned("t", map[int32][]int32{0: {1, 2}}, 0))
	fence := func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true }
	c.beat(1, fence)
	if p := c.partition("t", 0); p.Leader != 2 || !cmp.Equal(p.ISR, []int32{2}) {
		t.Fatalf("%+v", p)
	}
	c.beat(2, fence)
	if p := c.partition("t", 0); p.Leader != -1 || !cmp.Equal(p.ISR, []int32{2}) || p.ELR != nil || p.LastKnownELR != nil {
		t.Fatalf("%+v", p)
	}
	c.beat(1)
	if p := c.partition("t", 0); p.Leader != -1 {
		t.Fatalf("a broker that may lack records leads: %+v", p)
	}
	c.beat(2)
	if p := c.partition("t", 0); p.Leader != 2 || p.Recovering {
		t.Errorf("%+v", p)
	}
}

func TestFeaturesOfOtherNodes(t *testing.T) {
	const failed = "The update failed for all features since the following feature had an error: "
	t.Run("a broker's", func(t *testing.T) {
		c := newCluster(t, 1)
		c.feature(metadata.FeatureGroup, 0, safeDowngrade)
		req := registration(2, 1)
		req.Features = slices.DeleteFunc(req.Features, func(f kmsg.BrokerRegistrationRequestFeature) bool { return f.Name == metadata.FeatureGroup })
		if resp := ask[*kmsg.BrokerRegistrationResponse](c, req); resp.ErrorCode != 0 {
			t.Fatal(resp)
		}
		want := refusal{95, failed + "Invalid update version 1 for feature group.version. Broker 2 does not support this feature."}
		if got := c.feature(metadata.FeatureGroup, 1, upgrade); got != want {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
	t.Run("a controller's that has not registered", func(t *testing.T) {
		c := newCluster(t, 1, func(cfg *Config) { cfg.Voters = func() []int32 { return []int32{1, 2} } })
		want := refusal{95, failed + "Invalid update version 1 for feature transaction.version. controller 2 has not registered, and may not support this feature"}
		if got := c.feature(metadata.FeatureTransaction, 1, safeDowngrade); got != want {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		req := kmsg.NewPtrControllerRegistrationRequest()
		req.ControllerID, req.IncarnationID = 2, [16]byte{7}
		req.Listeners = []kmsg.ControllerRegistrationRequestListener{{Name: "CONTROLLER", Host: "c2.example", Port: 9093}}
		req.Features = []kmsg.ControllerRegistrationRequestFeature{{Name: metadata.FeatureTransaction, MaxSupportedVersion: 2}}
		if resp := ask[*kmsg.ControllerRegistrationResponse](c, req); resp.ErrorCode != 0 {
			t.Fatal(resp)
		}
		for ctl := range c.image().Controllers() {
			if ctl.ID != 2 || ctl.Endpoints[0].Host != "c2.example" || ctl.Features[metadata.FeatureTransaction].Max != 2 {
				t.Errorf("%+v", ctl)
			}
		}
		if got := c.feature(metadata.FeatureTransaction, 1, safeDowngrade); got.Code != 0 {
			t.Error(got)
		}
	})
}

// TestUpdateFeaturesIsAllOrNothing, and validating changes nothing. Version 1
// answers each feature.
func TestUpdateFeaturesIsAllOrNothing(t *testing.T) {
	c := newCluster(t, 1)
	end := c.Log.End()
	c.feature(metadata.FeatureTransaction, 1, safeDowngrade, func(r *kmsg.UpdateFeaturesRequest) {
		r.FeatureUpdates = append(r.FeatureUpdates, kmsg.UpdateFeaturesRequestFeatureUpdate{Feature: "nosuch", MaxVersionLevel: 1, UpgradeType: upgrade})
	})
	c.feature(metadata.FeatureTransaction, 1, safeDowngrade, func(r *kmsg.UpdateFeaturesRequest) { r.ValidateOnly = true })
	if c.Log.End() != end {
		t.Error("records were written")
	}
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 0
	req.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: metadata.FeatureTransaction, MaxVersionLevel: 1, AllowDowngrade: true}}
	if resp := ask[*kmsg.UpdateFeaturesResponse](c, req); resp.ErrorCode != 0 || len(resp.Results) != 1 || resp.Results[0].Feature != metadata.FeatureTransaction {
		t.Errorf("%+v", resp)
	}
}

// TestELRNeedsItsLevel: a feature that depends on another is refused without it.
func TestELRNeedsItsLevel(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) { cfg.Bootstrap = Bootstrap(22) })
	got := c.feature(metadata.FeatureELR, 1, upgrade)
	want := refusal{95, "The update failed for all features since the following feature had an error: " +
		"Invalid update version 1 for feature eligible.leader.replicas.version. " +
		"eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23"}
	if got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := c.feature(metadata.FeatureMetadataVersion, 29, upgrade); got.Code != 0 || c.image().Level() != metadata.Level42IV1 {
		t.Errorf("%v, level %s", got, c.image().Level())
	}
}
