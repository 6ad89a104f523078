package brokertest_test

import (
	"testing"

	"github.com/IBM/sarama"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// sarama writes a record, and reads it.
func TestExampleSarama(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1))
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	client, err := sarama.NewClient(mb.Addrs(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	tea := &sarama.ProducerMessage{Topic: "orders", Value: sarama.StringEncoder("tea")}
	if _, _, err := producer.SendMessage(tea); err != nil {
		t.Fatal(err)
	}

	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition("orders", 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	defer partition.Close()
	if got := <-partition.Messages(); string(got.Value) != "tea" {
		t.Errorf("read: %s", got.Value)
	}
}
