package kafkago

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// kafka-go writes a record, and reads it as a member of a group.
func TestExampleKafkaGo(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 1))
	w := &kafka.Writer{Addr: kafka.TCP(mb.Addrs()...), Topic: "orders", BatchTimeout: time.Millisecond}
	defer w.Close()
	if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte("tea")}); err != nil {
		t.Fatal(err)
	}

	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: mb.Addrs(), Topic: "orders", GroupID: "kitchen", StartOffset: kafka.FirstOffset,
		MaxWait: time.Second / 10, // Close waits as long.
	})
	defer r.Close()
	m, err := r.ReadMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Value) != "tea" {
		t.Errorf("read: %s", m.Value)
	}
}

// The same in a bubble: kafka-go's Dialer and Transport take Dial.
func TestExampleKafkaGoBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 1))
		transport := &kafka.Transport{Dial: mb.Dial}
		defer transport.CloseIdleConnections()
		w := &kafka.Writer{Addr: kafka.TCP(mb.Addrs()...), Topic: "orders", Transport: transport}
		defer w.Close()
		if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte("tea")}); err != nil {
			t.Fatal(err)
		}

		r := kafka.NewReader(kafka.ReaderConfig{
			Brokers: mb.Addrs(), Topic: "orders", Dialer: &kafka.Dialer{DialFunc: mb.Dial},
		})
		defer r.Close()
		m, err := r.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Value) != "tea" {
			t.Errorf("read: %s", m.Value)
		}
	})
}
