package brokertest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// franz-go writes, and what it wrote is looked at with no consumer.
func TestExampleFranzGoProduce(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1))
	client, err := kgo.NewClient(kgo.SeedBrokers(mb.Addrs()...), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	if err := client.ProduceSync(t.Context(), kgo.StringRecord("tea")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if records := mb.Records("orders"); string(records[0].Value) != "tea" {
		t.Errorf("ordered: %s", records[0].Value)
	}
}

// franz-go reads what was there before it came.
func TestExampleFranzGoConsume(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Records("orders", brokertest.Record{Value: []byte("tea")}))
	client, err := kgo.NewClient(
		kgo.SeedBrokers(mb.Addrs()...),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumerGroup("kitchen"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	fetches := client.PollFetches(t.Context())
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	if records := fetches.Records(); string(records[0].Value) != "tea" {
		t.Errorf("read: %s", records[0].Value)
	}
}

// In a bubble an hour takes no time. The client needs Dial, because the network
// is in memory there.
func TestExampleFranzGoBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1, "retention.ms=60000", "segment.ms=10000"),
			brokertest.Config("log.retention.check.interval.ms=30000"))
		client, err := kgo.NewClient(
			kgo.SeedBrokers(mb.Addrs()...),
			kgo.Dialer(mb.Dial),
			kgo.DefaultProduceTopic("orders"),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()

		client.ProduceSync(t.Context(), kgo.StringRecord("tea"))
		time.Sleep(time.Hour)
		client.ProduceSync(t.Context(), kgo.StringRecord("coffee"))
		time.Sleep(time.Minute / 2)
		if records := mb.Records("orders"); len(records) != 1 || string(records[0].Value) != "coffee" {
			t.Errorf("after an hour: %v", records)
		}
	})
}

// A producer is to survive that the leader moves twice. The client waits some
// seconds before it asks for the leader again: a bubble does not.
func TestExampleFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		moved := mb.On(kmsg.Produce).Times(2).Fail(kerr.NotLeaderForPartition.Code)

		client, err := kgo.NewClient(
			kgo.SeedBrokers(mb.Addrs()...), kgo.Dialer(mb.Dial), kgo.DefaultProduceTopic("orders"))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if err := client.ProduceSync(t.Context(), kgo.StringRecord("tea")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if n := len(mb.Records("orders")); n != 1 || moved.Count() != 2 {
			t.Errorf("%d records after %d failures", n, moved.Count())
		}
	})
}

// The answer to a group's commit is changed on its way.
func TestExampleHandle(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Records("orders", brokertest.Record{Value: []byte("tea")}))
	mb.On(kmsg.OffsetCommit).Handle(func(ctx context.Context, r *brokertest.Request) (kmsg.Response, error) {
		resp, err := r.Serve(ctx) // Carried out.
		if err != nil {
			return nil, err
		}
		for _, topic := range resp.(*kmsg.OffsetCommitResponse).Topics {
			for i := range topic.Partitions {
				topic.Partitions[i].ErrorCode = kerr.RebalanceInProgress.Code
			}
		}
		return resp, nil
	})

	client, err := kgo.NewClient(
		kgo.SeedBrokers(mb.Addrs()...),
		kgo.ConsumeTopics("orders"), kgo.ConsumerGroup("kitchen"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	records := client.PollFetches(t.Context()).Records()
	if err := client.CommitRecords(t.Context(), records...); err == nil {
		t.Error("the commit went well, against what it was told")
	}
}

// The machine loses power, with what was not fsynced, and comes back.
func TestExampleCrash(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1), brokertest.Config("log.flush.interval.messages=1"))
	mb.Produce("orders", brokertest.Record{Value: []byte("tea")})
	mb.Crash()
	mb.Restart()
	if n := len(mb.Records("orders")); n != 1 {
		t.Errorf("%d records", n)
	}
}

// One broker for many tests, new for each of them.
func TestExampleReset(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1))
	for _, drink := range []string{"tea", "coffee"} {
		t.Run(drink, func(t *testing.T) {
			mb.Reset()
			mb.Produce("orders", brokertest.Record{Value: []byte(drink)})
			if records := mb.Records("orders"); len(records) != 1 {
				t.Errorf("%v", records)
			}
		})
	}
}
