package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	against = flag.String("against", "moldau", "the broker under test: moldau, built from this tree, or apache, the control")
	lines   = flag.Int("lines", 20_000, "how many lines go through every client")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	removeBinary()
	removeClasses()
	os.Exit(code)
}

// newBroker returns a stopped broker of the kind that -against names.
func newBroker(t *testing.T) Broker {
	t.Helper()
	switch *against {
	case "moldau":
		return NewMoldau(t, "--set", "group.initial.rebalance.delay.ms=0")
	case "apache":
		return NewApache(t)
	default:
		t.Fatalf("-against %s: use moldau or apache", *against)
		return nil
	}
}

// admin returns an admin client that ends with the test.
func admin(t *testing.T, addr string) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// createTopic creates a topic on a single broker, with segments small enough that
// even the short text fills several.
func createTopic(t *testing.T, adm *kadm.Client, topic string, partitions int32) {
	t.Helper()
	size := "1048576"
	if _, err := adm.CreateTopic(t.Context(), partitions, 1, map[string]*string{"segment.bytes": &size}, topic); err != nil {
		t.Fatal(err)
	}
}

// records returns how many records a topic holds.
func records(ctx context.Context, adm *kadm.Client, topic string) (int64, error) {
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	if err := ends.Error(); err != nil {
		return 0, fmt.Errorf("end offsets of %s: %w", topic, err)
	}
	var sum int64
	ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
	return sum, nil
}
