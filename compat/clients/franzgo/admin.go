package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// committed keeps the error of a commit.
func committed(failed *error) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		*failed = err
		if err == nil {
			*failed = kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
		}
	}
}

// addOffset adds an offset of a group to the open transaction, as kgo's
// GroupTransactSession does for one client that consumes and produces.
func (p *producer) addOffset(ctx context.Context, group, member string, generation int32, topic string, partition int, offset int64) error {
	id, epoch, err := p.cl.ProducerID(ctx)
	if err != nil {
		return err
	}
	txn, _ := p.cl.OptValue(kgo.TransactionalID).(string)
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = txn, id, epoch, group
	added, err := add.RequestWith(ctx, p.cl)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(added.ErrorCode); err != nil {
		return err
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = txn, id, epoch, group
	commit.MemberID, commit.Generation = member, generation
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = topic
	at := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	at.Partition, at.Offset = int32(partition), offset
	t.Partitions = append(t.Partitions, at)
	commit.Topics = append(commit.Topics, t)
	answer, err := commit.RequestWith(ctx, p.cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}

func (c *client) Committed(group, topic string, partition int) (int64, error) {
	ctx, cancel := within()
	defer cancel()
	all, err := c.admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, err
	}
	at, _ := all.Lookup(topic, int32(partition))
	return at.At, at.Err
}

func (c *client) Offsets(topic string, partition int) (begin, end int64, err error) {
	ctx, cancel := within()
	defer cancel()
	starts, err := c.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	ends, err := c.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	s, _ := starts.Lookup(topic, int32(partition))
	e, _ := ends.Lookup(topic, int32(partition))
	if s.Err != nil {
		return 0, 0, s.Err
	}
	return s.Offset, e.Offset, e.Err
}

func (c *client) OffsetForTime(topic string, partition int, ms int64) (int64, error) {
	ctx, cancel := within()
	defer cancel()
	found, err := c.admin.ListOffsetsAfterMilli(ctx, ms, topic)
	if err != nil {
		return 0, err
	}
	at, _ := found.Lookup(topic, int32(partition))
	if at.Timestamp == -1 {
		return -1, at.Err // kadm answers with the end where there is none.
	}
	return at.Offset, at.Err
}

func (c *client) CreateTopic(topic string, partitions int, config map[string]string) error {
	ctx, cancel := within()
	defer cancel()
	entries := map[string]*string{}
	for k, v := range config {
		entries[k] = &v
	}
	answer, err := c.admin.CreateTopic(ctx, int32(partitions), 1, entries, topic)
	if err == nil {
		err = answer.Err
	}
	return err
}

func (c *client) Topics() ([]string, error) {
	ctx, cancel := within()
	defer cancel()
	topics, err := c.admin.ListTopics(ctx)
	return topics.Names(), err
}

func (c *client) Partitions(topic string) (int, error) {
	ctx, cancel := within()
	defer cancel()
	topics, err := c.admin.ListTopics(ctx, topic)
	return len(topics[topic].Partitions), err
}

func (c *client) Config(topic, name string) (string, error) {
	ctx, cancel := within()
	defer cancel()
	all, err := c.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, entry := range all[0].Configs {
		if entry.Key == name {
			return entry.MaybeValue(), all[0].Err
		}
	}
	return "", all[0].Err
}

func (c *client) AlterConfig(topic, name, value string) error {
	ctx, cancel := within()
	defer cancel()
	answers, err := c.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: name, Value: &value}}, topic)
	if err == nil {
		err = answers[0].Err
	}
	return err
}

func (c *client) AddPartitions(topic string, total int) error {
	ctx, cancel := within()
	defer cancel()
	answers, err := c.admin.UpdatePartitions(ctx, total, topic)
	if err == nil {
		err = answers.Error()
	}
	return err
}

func (c *client) DeleteRecords(topic string, partition int, before int64) error {
	ctx, cancel := within()
	defer cancel()
	at := kadm.Offsets{}
	at.AddOffset(topic, int32(partition), before, -1)
	answers, err := c.admin.DeleteRecords(ctx, at)
	if err == nil {
		err = answers.Error()
	}
	return err
}

func (c *client) Groups() ([]string, error) {
	ctx, cancel := within()
	defer cancel()
	groups, err := c.admin.ListGroups(ctx)
	return groups.Groups(), err
}

func (c *client) DeleteGroup(group string) error {
	ctx, cancel := within()
	defer cancel()
	answer, err := c.admin.DeleteGroup(ctx, group)
	if err == nil {
		err = answer.Err
	}
	return err
}

func (c *client) DeleteTopic(topic string) error {
	ctx, cancel := within()
	defer cancel()
	answer, err := c.admin.DeleteTopic(ctx, topic)
	if err == nil {
		err = answer.Err
	}
	return err
}
