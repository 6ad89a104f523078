package coordinator_test

import (
	"log/slog"
	"testing"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// BenchmarkAsk is one input to an idle shard, and to one that all posters share.
// The log is in memory: what is measured is the runtime.
func BenchmarkAsk(b *testing.B) {
	rt := coordinator.New(coordinator.Options{
		Name:     "toy",
		NewShard: func(int32) coordinator.Shard { return newToy() },
		Logger:   slog.New(slog.DiscardHandler),
	})
	defer rt.Close()
	rt.Elect(0, 1, coordtest.NewLog())
	if err := rt.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	ask := func(b *testing.B, in any) {
		if _, err := rt.Ask(b.Context(), 0, in); err != nil {
			b.Error(err)
		}
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask(b, get{"a"})
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask(b, put{"a", "1"})
		}
	})
	b.Run("contended read", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ask(b, get{"a"})
			}
		})
	})
}
