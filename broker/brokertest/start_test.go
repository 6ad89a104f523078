package brokertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func BenchmarkStart(b *testing.B) {
	for name, opts := range map[string][]brokertest.Option{
		"sockets": {brokertest.Topic("orders", 3)},
		"memory":  {brokertest.Topic("orders", 3), brokertest.MemoryNetwork()},
		"disk":    {brokertest.Topic("orders", 3), brokertest.Disk()},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				brokertest.Start(b, opts...)
			}
		})
	}
}

func TestStart(t *testing.T) {
	began := time.Now()
	mb := brokertest.Start(t, brokertest.Topic("orders", 3))
	t.Log(time.Since(began))
	mb.Produce("orders", brokertest.Record{Value: []byte("a")}, brokertest.Record{Partition: 2, Value: []byte("b")})
	got := mb.Records("orders")
	if len(got) != 2 || string(got[1].Value) != "b" {
		t.Errorf("read %v", got)
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mb := brokertest.Start(t, brokertest.Topic("orders", 3))
		mb.Produce("orders", brokertest.Record{Value: []byte("a")}, brokertest.Record{Partition: 2, Value: []byte("b")})
		if got := mb.Records("orders"); len(got) != 2 || string(got[1].Value) != "b" {
			t.Errorf("read %v", got)
		}
	})
}
