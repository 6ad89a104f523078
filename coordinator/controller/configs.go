package controller

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

// Settings that the controller itself acts on.
const (
	minInsyncReplicas     = "min.insync.replicas"
	uncleanLeaderElection = "unclean.leader.election.enable"
)

// nodeConfig is the settings of this node alone.
func (s *Shard) nodeConfig() map[string]string {
	return s.config(ConfigResource{KindBroker, strconv.Itoa(int(s.cfg.NodeID))})
}

// topicValue is the value that a topic's setting has.
func (s *Shard) topicValue(topic, key string) string {
	return s.cfg.Schema.TopicValue(key, s.config(ConfigResource{KindTopic, topic}), s.nodeConfig(), s.clusterConfig())
}

// Alteration is one change of one setting.
type Alteration struct {
	Key   string
	Op    kmsg.IncrementalAlterConfigOp
	Value *string // Nil is null.
}

// CheckAlterations checks the changes of one resource's settings as far as that needs
// no knowledge of settings, nor of who asks: INVALID_REQUEST for a key that is there
// twice, and for a null value of anything but a deletion. Brokers do so before they ask
// for a right, and the controller, who cannot know that one did, again.
func CheckAlterations(ops []Alteration) *Refusal {
	seen := make(map[string]bool, len(ops))
	var null []string
	for _, op := range ops {
		if seen[op.Key] {
			return refuse(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		seen[op.Key] = true
		if op.Value == nil && op.Op != kmsg.IncrementalAlterConfigOpDelete {
			null = append(null, op.Key)
		}
	}
	if null != nil {
		return refuse(kerr.InvalidRequest, "Null value not supported for : %s", strings.Join(null, ", "))
	}
	return nil
}

// newTopicConfigs checks a new topic's settings and makes their records. set is the
// settings that the topic will have.
func (s *Shard) newTopicConfigs(t *kmsg.CreateTopicsRequestTopic) (recs []metadata.Record, set map[string]string, refusal *Refusal) {
	var ops []Alteration
	var null []string
	for _, c := range t.Configs {
		if c.Value == nil {
			null = append(null, c.Name)
		}
		// A name given twice has its last value.
		ops = slices.DeleteFunc(ops, func(o Alteration) bool { return o.Key == c.Name })
		ops = append(ops, Alteration{c.Name, kmsg.IncrementalAlterConfigOpSet, c.Value})
	}
	if null != nil {
		return nil, nil, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(null, ","))
	}
	r := ConfigResource{KindTopic, t.Topic}
	recs, after, refusal := s.alter(r, ops)
	return recs, after, refusal
}

// alter applies alterations to a resource's settings: the records, and the settings
// there will be. Whether the resource exists is the caller's question.
func (s *Shard) alter(r ConfigResource, ops []Alteration) ([]metadata.Record, map[string]string, *Refusal) {
	before := s.config(r)
	after := map[string]string{}
	maps.Copy(after, before)
	var recs []metadata.Record
	for _, op := range ops {
		if s.cfg.Schema.Forgotten(r.Kind, op.Key) {
			continue
		}
		old, had := before[op.Key]
		value, refusal := s.altered(r.Kind, op, old, had)
		if refusal != nil {
			return nil, nil, refusal
		}
		// A broker's setting is written even if it stays the same: it makes brokers
		// read files again that the value names.
		same := value == nil && !had || value != nil && had && *value == old
		if !same || r.Kind == KindBroker {
			recs = append(recs, &metadata.Config{ResourceType: int8(r.Kind), ResourceName: r.Name, Name: op.Key, Value: value})
		}
	}
	return recs, after, s.checkAltered(r, recs, before, after)
}

// altered is the value that one alteration gives; nil is none.
func (s *Shard) altered(kind ConfigKind, op Alteration, old string, had bool) (*string, *Refusal) {
	switch op.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		return op.Value, nil
	case kmsg.IncrementalAlterConfigOpDelete:
		return nil, nil
	}
	word := "APPEND"
	if op.Op == kmsg.IncrementalAlterConfigOpSubtract {
		word = "SUBTRACT"
	}
	if !s.cfg.Schema.IsList(kind, op.Key) {
		return nil, refuse(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", word, op.Key)
	}
	if !had {
		old = s.cfg.Schema.Default(kind, op.Key)
	}
	items := slices.DeleteFunc(splitComma(old), func(v string) bool { return v == "" })
	for _, v := range splitComma(*op.Value) {
		i := slices.Index(items, v)
		switch {
		case word == "APPEND" && i < 0:
			items = append(items, v)
		case word == "SUBTRACT" && i >= 0:
			items = slices.Delete(items, i, i+1)
		}
	}
	return new(strings.Join(items, ",")), nil
}

// splitComma splits as Java's String.split does: empty parts at the end are dropped,
// unless the whole is empty.
func splitComma(s string) []string {
	parts := strings.Split(s, ",")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// checkAltered applies the records to after, and checks what comes of it.
func (s *Shard) checkAltered(r ConfigResource, recs []metadata.Record, before, after map[string]string) *Refusal {
	for _, rec := range recs {
		c := rec.(*metadata.Config)
		elrBound := c.Name == minInsyncReplicas && r.Kind == KindBroker && s.elr()
		switch {
		case elrBound && r.Name != "":
			return refuse(kerr.InvalidConfig, "Broker-level %s cannot be altered while ELR is enabled.", minInsyncReplicas)
		case elrBound && c.Value == nil:
			return refuse(kerr.InvalidConfig, "Cluster-level %s cannot be removed while ELR is enabled.", minInsyncReplicas)
		case c.Value == nil:
			delete(after, c.Name)
		case utf16Len(*c.Value) > math.MaxInt16:
			return refuse(kerr.InvalidConfig,
				"The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", math.MaxInt16)
		default:
			after[c.Name] = *c.Value
		}
	}
	if refusal := checkResourceName(r); refusal != nil {
		return refusal
	}
	err := s.cfg.Schema.Check(r, before, after)
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal
	}
	return refuse(kerr.InvalidConfig, "%s", err.Error())
}

// utf16Len is how long Java says a string is.
func utf16Len(s string) int {
	n := 0
	for _, c := range s {
		if n++; c > 0xffff {
			n++
		}
	}
	return n
}

func checkResourceName(r ConfigResource) *Refusal {
	switch r.Kind {
	case KindTopic:
		if r.Name == "" {
			return refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if why := CheckTopicName(r.Name); why != "" {
			return refuse(kerr.InvalidTopicException, "%s", why)
		}
	case KindBroker:
		if r.Name == "" {
			return nil
		}
		if id, err := strconv.ParseInt(r.Name, 10, 32); err != nil {
			return refuse(kerr.InvalidRequest, "Unable to parse broker name as a base 10 number.")
		} else if id < 0 {
			return refuse(kerr.InvalidRequest, "Invalid negative broker ID.")
		}
	case KindGroup:
		if r.Name == "" {
			return refuse(kerr.InvalidRequest, "Default group resources are not allowed.")
		}
	}
	return nil
}

// checkExists says that a resource whose settings change must be there.
func (s *Shard) checkExists(r ConfigResource) *Refusal {
	switch r.Kind {
	case KindTopic:
		if _, ok := s.topics.Get(r.Name); !ok {
			return refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", r.Name)
		}
	case KindBroker:
		if r.Name == "" {
			return nil
		}
		id, _ := strconv.ParseInt(r.Name, 10, 32) // Checked with the name.
		_, broker := s.brokers.Get(int32(id))
		_, controller := s.controllers.Get(int32(id))
		if !broker && !controller && !slices.Contains(s.cfg.Voters(), int32(id)) {
			return refuse(kerr.BrokerIDNotRegistered, "No node with id %d found.", id)
		}
	}
	return nil
}

// resourceChange is one resource of a request, and what is wrong with its form.
type resourceChange struct {
	ConfigResource
	ops     []Alteration
	replace bool // AlterConfigs: what is not named is deleted.
}

// incrementalAlterConfigs serves IncrementalAlterConfigs. Each resource changes as a
// whole or not at all. Brokers' loggers are not served here.
func (s *Shard) incrementalAlterConfigs(_ *step, req *kmsg.IncrementalAlterConfigsRequest) ([]metadata.Record, *kmsg.IncrementalAlterConfigsResponse) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	changes := make([]resourceChange, len(req.Resources))
	for i, r := range req.Resources {
		changes[i].ConfigResource = ConfigResource{ConfigKind(r.ResourceType), r.ResourceName}
		for _, c := range r.Configs {
			changes[i].ops = append(changes[i].ops, Alteration{c.Name, c.Op, c.Value})
		}
	}
	recs, refusals := s.changeConfigs(changes)
	for i, r := range req.Resources {
		rr := kmsg.NewIncrementalAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.ErrorCode, rr.ErrorMessage = refusals[i].code(), refusals[i].text()
		resp.Resources = append(resp.Resources, rr)
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return recs, resp
}

// alterConfigs serves AlterConfigs, which replaces all settings of a resource.
func (s *Shard) alterConfigs(_ *step, req *kmsg.AlterConfigsRequest) ([]metadata.Record, *kmsg.AlterConfigsResponse) {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	changes := make([]resourceChange, len(req.Resources))
	for i, r := range req.Resources {
		changes[i] = resourceChange{ConfigResource: ConfigResource{ConfigKind(r.ResourceType), r.ResourceName}, replace: true}
		for _, c := range r.Configs {
			changes[i].ops = append(changes[i].ops, Alteration{c.Name, kmsg.IncrementalAlterConfigOpSet, c.Value})
		}
	}
	recs, refusals := s.changeConfigs(changes)
	for i, r := range req.Resources {
		rr := kmsg.NewAlterConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.ErrorCode, rr.ErrorMessage = refusals[i].code(), refusals[i].text()
		resp.Resources = append(resp.Resources, rr)
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return recs, resp
}

// changeConfigs decides about the resources of a request, one refusal for each.
func (s *Shard) changeConfigs(changes []resourceChange) ([]metadata.Record, []*Refusal) {
	times := map[ConfigResource]int{}
	for _, c := range changes {
		times[c.ConfigResource]++
	}
	refusals := make([]*Refusal, len(changes))
	var recs []metadata.Record
	for i, c := range changes {
		if times[c.ConfigResource] > 1 {
			refusals[i] = refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
			continue
		}
		var r []metadata.Record
		if r, refusals[i] = s.changeConfig(c); refusals[i] == nil {
			recs = append(recs, r...)
		}
	}
	recs = append(recs, s.clearELR(recs)...)
	if len(recs) > maxRecords {
		recs = nil
		for i := range refusals {
			refusals[i] = refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation.")
		}
	}
	return recs, refusals
}

func (s *Shard) changeConfig(c resourceChange) ([]metadata.Record, *Refusal) {
	if refusal := c.checkForm(); refusal != nil {
		return nil, refusal
	}
	if c.replace {
		for _, key := range slices.Sorted(maps.Keys(s.config(c.ConfigResource))) {
			if !slices.ContainsFunc(c.ops, func(o Alteration) bool { return o.Key == key }) {
				c.ops = append(c.ops, Alteration{Key: key, Op: kmsg.IncrementalAlterConfigOpDelete})
			}
		}
	}
	recs, _, refusal := s.alter(c.ConfigResource, c.ops)
	if refusal == nil {
		refusal = s.checkExists(c.ConfigResource)
	}
	return recs, refusal
}

// checkForm checks a resource as far as that needs no knowledge of settings.
func (c *resourceChange) checkForm() *Refusal {
	if refusal := CheckAlterations(c.ops); refusal != nil {
		return refusal
	}
	switch c.Kind {
	case KindTopic, KindBroker, KindClientMetrics, KindGroup:
	default:
		return refuse(kerr.InvalidRequest, "Unknown resource type %d", c.Kind)
	}
	for _, op := range c.ops {
		if op.Op < kmsg.IncrementalAlterConfigOpSet || op.Op > kmsg.IncrementalAlterConfigOpSubtract {
			// Kafka's controller runs into a null here and answers just this.
			return refuseSilent(kerr.UnknownServerError)
		}
	}
	return nil
}

// clearELR makes the eligible leaders be forgotten where the bound changes that they
// were found with.
func (s *Shard) clearELR(recs []metadata.Record) []metadata.Record {
	var out []metadata.Record
	for _, r := range recs {
		c, ok := r.(*metadata.Config)
		if !ok || c.Name != minInsyncReplicas || !s.elr() {
			continue
		}
		clear := &metadata.ClearELR{}
		if ConfigKind(c.ResourceType) == KindTopic {
			clear.TopicName = c.ResourceName
		}
		out = append(out, clear)
	}
	return out
}
