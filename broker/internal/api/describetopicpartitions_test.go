package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDescribeTopicPartitions is case O17: pages tell each partition once, and a
// cursor that cannot be is refused for each topic.
func TestDescribeTopicPartitions(t *testing.T) {
	n := newNode(t, 1)
	n.topic("a", 1, 3)
	n.topic("c", 2, 2)
	type place struct {
		topic     string
		partition int32
	}
	for name, tc := range map[string]struct {
		ask    []string
		cursor *place
		limit  int32
		want   []place
		next   *place
		code   int16 // Of every topic.
	}{
		"both":                             {[]string{"c", "a"}, nil, 10, []place{{"a", 0}, {"a", 1}, {"a", 2}, {"c", 0}, {"c", 1}}, nil, 0},
		"a page ends in a topic":           {[]string{"a", "c"}, nil, 2, []place{{"a", 0}, {"a", 1}}, &place{"a", 2}, 0},
		"the next page":                    {[]string{"a", "c"}, &place{"a", 2}, 2, []place{{"a", 2}, {"c", 0}}, &place{"c", 1}, 0},
		"the last page":                    {[]string{"a", "c"}, &place{"c", 1}, 2, []place{{"c", 1}}, nil, 0},
		"a page ends with a topic":         {[]string{"a", "c"}, nil, 3, []place{{"a", 0}, {"a", 1}, {"a", 2}}, &place{"c", 0}, 0},
		"a limit of nothing":               {[]string{"a"}, nil, 0, []place{{"a", 0}}, &place{"a", 1}, 0},
		"a negative limit":                 {[]string{"a"}, nil, -5, []place{{"a", 0}}, &place{"a", 1}, 0},
		"a cursor at a topic not asked":    {[]string{"a"}, &place{"c", 0}, 10, nil, nil, kerr.InvalidRequest.Code},
		"a cursor between topics asked":    {[]string{"a", "c"}, &place{"b", 0}, 10, nil, nil, kerr.InvalidRequest.Code},
		"a cursor at a negative partition": {[]string{"a"}, &place{"a", -1}, 10, nil, nil, kerr.InvalidRequest.Code},
		"all, and a cursor between topics": {nil, &place{"b", 1}, 10, []place{{"c", 0}, {"c", 1}}, nil, 0},
		"all, and a negative partition":    {nil, &place{"a", -1}, 10, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = tc.limit
			for _, topic := range tc.ask {
				req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: topic})
			}
			if tc.cursor != nil {
				req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: tc.cursor.topic, Partition: tc.cursor.partition}
			}
			resp := ask(t, n.Env, req).(*kmsg.DescribeTopicPartitionsResponse)
			var got []place
			for _, rt := range resp.Topics {
				if rt.ErrorCode != tc.code {
					t.Errorf("%s: error %d, want %d", *rt.Topic, rt.ErrorCode, tc.code)
				}
				for _, p := range rt.Partitions {
					got = append(got, place{*rt.Topic, p.Partition})
				}
			}
			if tc.code != 0 && len(resp.Topics) != len(tc.ask) {
				t.Errorf("%d topics are refused of %d", len(resp.Topics), len(tc.ask))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			switch next := resp.NextCursor; {
			case (next == nil) != (tc.next == nil):
				t.Errorf("the next cursor is %v, want %v", next, tc.next)
			case next != nil && *tc.next != place{next.Topic, next.Partition}:
				t.Errorf("the next cursor is %v, want %v", *next, *tc.next)
			}
		})
	}
}
