package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusals is a topic in the answer: its code and message.
type refusal struct {
	Code    int16
	Message string
}

// TestCreateTopicsErrors holds codes and messages to those that Apache Kafka 4.2.2
// answered to the same requests, with one broker whose id is 1.
func TestCreateTopicsErrors(t *testing.T) {
	ones := map[int32][]int32{0: {1}, 1: {1}, 2: {1}}
	for name, tc := range map[string]struct {
		topic kmsg.CreateTopicsRequestTopic
		want  refusal
	}{
		"collides":                        {newTopic("golden_one", 1, 1), refusal{17, "Topic 'golden_one' collides with existing topic: golden.one"}},
		"exists":                          {newTopic("golden.one", 1, 1), refusal{36, "Topic 'golden.one' already exists."}},
		"no name":                         {newTopic("", 1, 1), refusal{17, "Topic name is invalid: the empty string is not allowed"}},
		"parent directory":                {newTopic("..", 1, 1), refusal{17, "Topic name is invalid: '..' is not allowed"}},
		"a space":                         {newTopic("sp ace", 1, 1), refusal{17, "Topic name is invalid: 'sp ace' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"}},
		"250 characters":                  {newTopic(strings.Repeat("x", 250), 1, 1), refusal{17, "Topic name is invalid: the length of '" + strings.Repeat("x", 250) + "' is longer than the max allowed length 249"}},
		"no partitions (A05)":             {newTopic("zero", 0, 1), refusal{37, "Number of partitions was set to an invalid non-positive value."}},
		"minus two partitions":            {newTopic("minus", -2, 1), refusal{37, "Number of partitions was set to an invalid non-positive value."}},
		"no replicas":                     {newTopic("rfzero", 1, 0), refusal{38, "Replication factor must be larger than 0, or -1 to use the default value."}},
		"more replicas than brokers(A05)": {newTopic("rf3", 1, 3), refusal{38, "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered."}},
		"unknown setting (A25)":           {newTopic("unknowncfg", 1, 1, "foo.bar.baz=1"), refusal{40, "Unknown topic config name: foo.bar.baz"}},
		"null value (A07)":                {newTopic("nullcfg", 1, 1, "retention.ms"), refusal{40, "Null value not supported for topic configs: retention.ms"}},
		"not a number":                    {newTopic("badcfg", 1, 1, "retention.ms=abc"), refusal{40, "Invalid value abc for configuration retention.ms: Not a number of type LONG"}},
		"below the least":                 {newTopic("minisr0", 1, 1, "min.insync.replicas=0"), refusal{40, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"}},
		"the metadata log's name":         {newTopic("__cluster_metadata", 1, 1), refusal{42, "Creation of internal topic __cluster_metadata is prohibited."}},
		"partitions 0 and 2 (A15)":        {assigned("gap", ones, 0, 2), refusal{39, "partitions should be a consecutive 0-based integer sequence"}},
		"partition 0 twice":               {assigned("dupassign", ones, 0, 0), refusal{39, "Found multiple manual partition assignments for partition 0"}},
		"unknown broker":                  {assigned("unkbroker", map[int32][]int32{0: {77}}, 0), refusal{39, "The manual partition assignment includes broker 77, but no such broker is registered."}},
		"broker twice":                    {assigned("twice", map[int32][]int32{0: {1, 1}}, 0), refusal{39, "The manual partition assignment includes the broker 1 more than once."}},
		"no broker":                       {assigned("empty", nil, 0), refusal{39, "The manual partition assignment includes an empty replica list."}},
		"10,001 partitions":               {newTopic("huge", 10001, 1), refusal{44, "Excessively large number of partitions per request."}},
		"2,000,000,000 partitions (A19)":  {newTopic("huge", 2_000_000_000, 1), refusal{44, "Excessively large number of partitions per request."}},
		"10,000 partitions":               {newTopic("huge", 10000, 1), refusal{44, "Unable to perform excessively large batch operation."}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.create(newTopic("golden.one", 3, 1))
			end := c.Log.End()
			resp := ask[*kmsg.CreateTopicsResponse](c, createRequest(tc.topic))
			got := refusal{resp.Topics[0].ErrorCode, text(resp.Topics[0].ErrorMessage)}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-kafka +got)\n%s", diff)
			}
			if rt := resp.Topics[0]; rt.NumPartitions != -1 || rt.ReplicationFactor != -1 || rt.TopicID != [16]byte{} {
				t.Errorf("a refused topic has %d partitions, %d replicas, id %x", rt.NumPartitions, rt.ReplicationFactor, rt.TopicID)
			}
			if c.Log.End() != end {
				t.Error("a refused topic left records")
			}
		})
	}
}

func TestCreateTopicsAssignmentAndCounts(t *testing.T) {
	c := newCluster(t, 1)
	ones := map[int32][]int32{0: {1}}
	factor, count := assigned("rfset", ones, 0), assigned("partset", ones, 0)
	factor.ReplicationFactor, count.NumPartitions = 1, 1
	resp := ask[*kmsg.CreateTopicsResponse](c, createRequest(factor, count))
	for i, want := range []refusal{
		{42, "A manual partition assignment was specified, but replication factor was not set to -1."},
		{42, "A manual partition assignment was specified, but numPartitions was not set to -1."},
	} {
		if got := (refusal{resp.Topics[i].ErrorCode, text(resp.Topics[i].ErrorMessage)}); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestCreateTopicsDuplicates: a topic named twice is answered once, last.
func TestCreateTopicsDuplicates(t *testing.T) {
	c := newCluster(t, 1)
	resp := ask[*kmsg.CreateTopicsResponse](c, createRequest(newTopic("dup", 1, 1), newTopic("ok", 1, 1), newTopic("dup", 1, 1)))
	var got []refusal
	for _, rt := range resp.Topics {
		got = append(got, refusal{rt.ErrorCode, rt.Topic + " " + text(rt.ErrorMessage)})
	}
	if diff := cmp.Diff([]refusal{{0, "ok <null>"}, {42, "dup Duplicate topic name."}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestCreateTopicsDefaults: -1 and -1 are the broker's defaults (A05), and the
// answer tells them.
func TestCreateTopicsDefaults(t *testing.T) {
	c := newCluster(t, 3, func(cfg *Config) { cfg.NumPartitions, cfg.ReplicationFactor = 4, 2 })
	resp := ask[*kmsg.CreateTopicsResponse](c, createRequest(newTopic("t", -1, -1, "retention.ms=5")))
	rt := resp.Topics[0]
	if rt.ErrorCode != 0 || rt.NumPartitions != 4 || rt.ReplicationFactor != 2 {
		t.Fatalf("%+v", rt)
	}
	topic, ok := c.image().Topic("t")
	if !ok || len(topic.Partitions) != 4 || topic.ID != rt.TopicID {
		t.Fatalf("topic %+v, %v", topic, ok)
	}
	if byID, ok := c.image().TopicByID(rt.TopicID); !ok || byID != topic {
		t.Error("the topic is not found by its id")
	}
	for _, p := range topic.Partitions {
		if len(p.Replicas) != 2 || p.Replicas[0] == p.Replicas[1] || p.Leader != p.Replicas[0] || !cmp.Equal(p.ISR, p.Replicas) {
			t.Errorf("partition %+v", p)
		}
	}
	if len(rt.Configs) != 34 {
		t.Errorf("%d settings are answered, Kafka 4.2 answers 34", len(rt.Configs))
	}
	for _, c := range rt.Configs {
		want := map[string]string{"retention.ms": "5 1", "min.insync.replicas": "1 3", "segment.bytes": "1073741824 5"}[c.Name]
		if got := text(c.Value) + " " + string(rune('0'+c.Source)); want != "" && got != want {
			t.Errorf("%s is %s, want %s", c.Name, got, want)
		}
	}
	if got := c.image().Config(KindTopic, "t"); !cmp.Equal(got, map[string]string{"retention.ms": "5"}) {
		t.Errorf("settings %v", got)
	}
}

func TestCreateTopicsHidesSettings(t *testing.T) {
	c := newCluster(t, 1)
	resp := askAs[*kmsg.CreateTopicsResponse](c, Request{
		Body: createRequest(newTopic("t", 2, 1)), Describable: func(string) bool { return false },
	})
	if rt := resp.Topics[0]; rt.ErrorCode != 0 || rt.ConfigErrorCode != 29 || rt.NumPartitions != -1 || rt.ReplicationFactor != -1 || len(rt.Configs) != 0 {
		t.Errorf("%+v", rt)
	}
}

func TestCreateTopicsValidateOnly(t *testing.T) {
	c := newCluster(t, 1)
	req := createRequest(newTopic("t", 2, 1))
	req.ValidateOnly = true
	end := c.Log.End()
	if rt := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0]; rt.ErrorCode != 0 || rt.NumPartitions != 2 {
		t.Errorf("%+v", rt)
	}
	if c.Log.End() != end {
		t.Error("validating left records")
	}
}

// TestTopicIDs draws many ids: they are UUIDs of version 4, and no text of one
// begins with a dash.
func TestTopicIDs(t *testing.T) {
	c := newCluster(t, 1)
	seen := map[[16]byte]bool{}
	req := createRequest()
	for i := range 2000 {
		req.Topics = append(req.Topics, newTopic("t"+strings.Repeat("x", i/50)+string(rune('A'+i%50)), 1, 1))
	}
	for _, rt := range ask[*kmsg.CreateTopicsResponse](c, createRequest(uniqueNames(req.Topics)...)).Topics {
		id := rt.TopicID
		if rt.ErrorCode != 0 || id[6]>>4 != 4 || id[8]>>6 != 2 || id[0]>>2 == 62 || seen[id] {
			t.Fatalf("%+v", rt)
		}
		seen[id] = true
	}
}

func uniqueNames(topics []kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsRequestTopic {
	seen := map[string]bool{}
	var out []kmsg.CreateTopicsRequestTopic
	for _, t := range topics {
		if CheckTopicName(t.Topic) == "" && !seen[t.Topic] {
			seen[t.Topic] = true
			out = append(out, t)
		}
	}
	return out
}

// TestDeleteTopics compares with Apache Kafka 4.2.2, which shuffles its answers.
func TestDeleteTopics(t *testing.T) {
	c := newCluster(t, 1)
	c.create(newTopic("a", 2, 1, "retention.ms=5"), newTopic("b", 1, 1), newTopic("c", 1, 1))
	b, _ := c.image().Topic("b")
	third, _ := c.image().Topic("c")
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	add := func(name *string, id [16]byte) {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic, rt.TopicID = name, id
		req.Topics = append(req.Topics, rt)
	}
	var none [16]byte
	add(new("nosuch"), none)
	add(nil, [16]byte{1})
	add(nil, none)
	add(new("x"), [16]byte{2})
	add(new("dd"), none)
	add(new("dd"), none)
	add(nil, [16]byte{3})
	add(nil, [16]byte{3})
	add(new("a"), none)
	add(nil, b.ID)
	add(nil, third.ID) // Named by its name as well.
	add(new("c"), none)
	resp := ask[*kmsg.DeleteTopicsResponse](c, req)
	var got []refusal
	for _, rt := range resp.Topics {
		got = append(got, refusal{rt.ErrorCode, text(rt.Topic) + ": " + text(rt.ErrorMessage)})
	}
	want := []refusal{
		{3, "nosuch: This server does not host this topic-partition."},
		{100, "<null>: This server does not host this topic ID."},
		{42, "<null>: Neither topic name nor id were specified."},
		{42, "x: You may not specify both topic name and topic id."},
		{42, "dd: Duplicate topic name."},
		{42, "<null>: Duplicate topic id."},
		{0, "a: <null>"},
		{0, "b: <null>"},
		{42, "c: The provided topic name maps to an ID that was already supplied."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-kafka +got)\n%s", diff)
	}
	im := c.image()
	if _, ok := im.Topic("a"); ok || im.TopicCount() != 1 || im.Config(KindTopic, "a") != nil {
		t.Errorf("%d topics are left, settings %v", im.TopicCount(), im.Config(KindTopic, "a"))
	}
	c.create(newTopic("a", 1, 1)) // The name is free again.
}

func TestDeleteTopicsDisabled(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) { cfg.NoTopicDeletion = true })
	for version, want := range map[int16]int16{2: 42, 3: 73, 6: 73} {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = version
		if version < 6 {
			req.TopicNames = []string{"a"}
		} else {
			rt := kmsg.NewDeleteTopicsRequestTopic()
			rt.Topic = new("a")
			req.Topics = append(req.Topics, rt)
		}
		if got := ask[*kmsg.DeleteTopicsResponse](c, req).Topics; len(got) != 1 || got[0].ErrorCode != want {
			t.Errorf("version %d: %+v, want %d", version, got, want)
		}
	}
}
