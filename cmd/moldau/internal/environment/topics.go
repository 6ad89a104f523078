package environment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/moldau-broker/moldau/broker"
)

// parseTopics reads wurstmeister's KAFKA_CREATE_TOPICS:
//
//	name[:partitions[:replicas[:cleanup.policy]]],...
//
// An empty part is the broker's default. The separator is a comma unless another
// is set, and white space around an item is nothing, so that a file may have one
// item a line.
func parseTopics(text, separator string) ([]broker.Topic, error) {
	if separator == "" {
		separator = ","
	}
	var topics []broker.Topic
	for _, item := range strings.Split(text, separator) {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		t, err := parseTopic(item)
		if err != nil {
			return nil, err
		}
		topics = append(topics, t)
	}
	return topics, nil
}

func parseTopic(item string) (broker.Topic, error) {
	bad := func(why string) (broker.Topic, error) {
		return broker.Topic{}, fmt.Errorf("KAFKA_CREATE_TOPICS: %q: %s; write NAME:PARTITIONS:REPLICAS:POLICY, "+
			"for example orders:3:1:compact", item, why)
	}
	parts := strings.Split(item, ":")
	if len(parts) > 4 {
		return bad("there are more than four parts")
	}
	t := broker.Topic{Name: strings.TrimSpace(parts[0])}
	if t.Name == "" {
		return bad("the name is empty")
	}
	numbers := [2]int64{}
	for i, bits := range []int{32, 16} {
		if len(parts) < i+2 || strings.TrimSpace(parts[i+1]) == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(parts[i+1]), 10, bits)
		if err != nil || n < 1 {
			return bad(parts[i+1] + " is not a number from 1 on")
		}
		numbers[i] = n
	}
	t.Partitions, t.Replicas = int32(numbers[0]), int16(numbers[1])
	if len(parts) == 4 && strings.TrimSpace(parts[3]) != "" {
		t.Configs = map[string]string{"cleanup.policy": strings.TrimSpace(parts[3])}
	}
	return t, nil
}
