package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/IBM/sarama"
)

func (c *client) Committed(group, topic string, partition int) (int64, error) {
	answer, err := c.admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {int32(partition)}})
	if err != nil {
		return 0, err
	}
	block := answer.GetBlock(topic, int32(partition))
	if block.Err != sarama.ErrNoError {
		return 0, block.Err
	}
	return block.Offset, nil
}

func (c *client) Offsets(topic string, partition int) (begin, end int64, err error) {
	if begin, err = c.sarama.GetOffset(topic, int32(partition), sarama.OffsetOldest); err != nil {
		return 0, 0, err
	}
	end, err = c.sarama.GetOffset(topic, int32(partition), sarama.OffsetNewest)
	return begin, end, err
}

func (c *client) OffsetForTime(topic string, partition int, ms int64) (int64, error) {
	return c.sarama.GetOffset(topic, int32(partition), ms)
}

func (c *client) CreateTopic(topic string, partitions int, config map[string]string) error {
	entries := map[string]*string{}
	for k, v := range config {
		entries[k] = &v
	}
	return c.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: entries}, false)
}

func (c *client) Topics() ([]string, error) {
	topics, err := c.admin.ListTopics()
	return slices.Collect(maps.Keys(topics)), err
}

func (c *client) Partitions(topic string) (int, error) {
	found, err := c.admin.DescribeTopics([]string{topic})
	if err != nil {
		return 0, err
	}
	return len(found[0].Partitions), nil
}

func (c *client) Config(topic, name string) (string, error) {
	found, err := c.admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{name}})
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d entries are named %s", len(found), name)
	}
	return found[0].Value, nil
}

func (c *client) AlterConfig(topic, name, value string) error {
	return c.admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{name: &value}, false)
}

func (c *client) AddPartitions(topic string, total int) error {
	return c.admin.CreatePartitions(topic, int32(total), nil, false)
}

func (c *client) DeleteRecords(topic string, partition int, before int64) error {
	return c.admin.DeleteRecords(topic, map[int32]int64{int32(partition): before})
}

func (c *client) Groups() ([]string, error) {
	groups, err := c.admin.ListConsumerGroups()
	return slices.Collect(maps.Keys(groups)), err
}

func (c *client) DeleteGroup(group string) error { return c.admin.DeleteConsumerGroup(group) }
func (c *client) DeleteTopic(topic string) error { return c.admin.DeleteTopic(topic) }
