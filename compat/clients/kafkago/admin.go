package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

// ask makes a request with a time limit; of names the errors in its answer.
func ask[Q, A any](do func(context.Context, Q) (A, error), request Q, of func(A) error) (A, error) {
	ctx, cancel := within()
	defer cancel()
	answer, err := do(ctx, request)
	if err == nil {
		err = of(answer)
	}
	return answer, err
}

func first(errs map[string]error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *client) Committed(group, topic string, partition int) (int64, error) {
	answer, err := ask(c.kafka.OffsetFetch,
		&kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {partition}}},
		func(a *kafka.OffsetFetchResponse) error { return a.Error })
	if err != nil {
		return 0, err
	}
	at := answer.Topics[topic][0]
	return at.CommittedOffset, at.Error
}

func (c *client) list(topic string, request kafka.OffsetRequest) (kafka.PartitionOffsets, error) {
	answer, err := ask(c.kafka.ListOffsets,
		&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: {request}}},
		func(a *kafka.ListOffsetsResponse) error { return a.Topics[topic][0].Error })
	if err != nil {
		return kafka.PartitionOffsets{}, err
	}
	return answer.Topics[topic][0], nil
}

func (c *client) Offsets(topic string, partition int) (begin, end int64, err error) {
	at, err := c.list(topic, kafka.FirstOffsetOf(partition))
	if err != nil {
		return 0, 0, err
	}
	begin = at.FirstOffset
	at, err = c.list(topic, kafka.LastOffsetOf(partition))
	return begin, at.LastOffset, err
}

func (c *client) OffsetForTime(topic string, partition int, ms int64) (int64, error) {
	at, err := c.list(topic, kafka.OffsetRequest{Partition: partition, Timestamp: ms})
	if err != nil {
		return 0, err
	}
	for offset := range at.Offsets {
		return offset, nil
	}
	return -1, nil
}

func (c *client) CreateTopic(topic string, partitions int, config map[string]string) error {
	request := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
	for k, v := range config {
		request.ConfigEntries = append(request.ConfigEntries, kafka.ConfigEntry{ConfigName: k, ConfigValue: v})
	}
	_, err := ask(c.kafka.CreateTopics, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{request}},
		func(a *kafka.CreateTopicsResponse) error { return first(a.Errors) })
	return err
}

func (c *client) topics() ([]kafka.Topic, error) {
	answer, err := ask(c.kafka.Metadata, &kafka.MetadataRequest{}, func(*kafka.MetadataResponse) error { return nil })
	if err != nil {
		return nil, err
	}
	return answer.Topics, nil
}

func (c *client) Topics() ([]string, error) {
	topics, err := c.topics()
	var names []string
	for _, t := range topics {
		names = append(names, t.Name)
	}
	return names, err
}

func (c *client) Partitions(topic string) (int, error) {
	topics, err := c.topics()
	i := slices.IndexFunc(topics, func(t kafka.Topic) bool { return t.Name == topic })
	if err != nil || i < 0 {
		return 0, err
	}
	return len(topics[i].Partitions), nil
}

func (c *client) Config(topic, name string) (string, error) {
	answer, err := ask(c.kafka.DescribeConfigs,
		&kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
			{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{name}},
		}},
		func(a *kafka.DescribeConfigsResponse) error { return a.Resources[0].Error })
	if err != nil {
		return "", err
	}
	if found := answer.Resources[0].ConfigEntries; len(found) == 1 {
		return found[0].ConfigValue, nil
	}
	return "", fmt.Errorf("there is not one entry that is named %s", name)
}

func (c *client) AlterConfig(topic, name, value string) error {
	_, err := ask(c.kafka.IncrementalAlterConfigs,
		&kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet}},
		}}},
		func(a *kafka.IncrementalAlterConfigsResponse) error { return a.Resources[0].Error })
	return err
}

func (c *client) AddPartitions(topic string, total int) error {
	_, err := ask(c.kafka.CreatePartitions,
		&kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(total)}}},
		func(a *kafka.CreatePartitionsResponse) error { return first(a.Errors) })
	return err
}

func (c *client) DeleteRecords(string, int, int64) error {
	return script.NotApplicable("kafka-go deletes no records")
}

func (c *client) Groups() ([]string, error) {
	answer, err := ask(c.kafka.ListGroups, &kafka.ListGroupsRequest{},
		func(a *kafka.ListGroupsResponse) error { return a.Error })
	if err != nil {
		return nil, err
	}
	var names []string
	for _, g := range answer.Groups {
		names = append(names, g.GroupID)
	}
	return names, nil
}

func (c *client) DeleteGroup(group string) error {
	_, err := ask(c.kafka.DeleteGroups, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}},
		func(a *kafka.DeleteGroupsResponse) error { return first(a.Errors) })
	return err
}

func (c *client) DeleteTopic(topic string) error {
	_, err := ask(c.kafka.DeleteTopics, &kafka.DeleteTopicsRequest{Topics: []string{topic}},
		func(a *kafka.DeleteTopicsResponse) error { return first(a.Errors) })
	return err
}

func (c *client) ErrorName(err error) string {
	if failed := kafka.WriteErrors(nil); errors.As(err, &failed) && len(failed) > 0 {
		err = failed[0]
	}
	switch {
	case errors.Is(err, kafka.MessageSizeTooLarge):
		return "MESSAGE_TOO_LARGE"
	case errors.Is(err, kafka.TopicAlreadyExists):
		return "TOPIC_ALREADY_EXISTS"
	}
	return strings.TrimSpace(err.Error())
}

func (c *client) Fenced(error) bool { return false }
