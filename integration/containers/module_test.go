package containers

import (
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/kafka"
)

// testcontainers-go's own module starts the image as it starts Confluent's, and a
// client works through it.
func TestModule(t *testing.T) {
	for name, opts := range map[string][]testcontainers.ContainerCustomizer{
		"as it is":          nil,
		"with a cluster id": {kafka.WithClusterID("4L6g3nShT-eMCtK--X86sw")},
		"with topics":       {testcontainers.WithEnv(map[string]string{"KAFKA_CREATE_TOPICS": "numbers:1:1"})},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			c, err := kafka.Run(t.Context(), imageName(), opts...)
			took := time.Since(began)
			if c != nil {
				cleanUp(t, c)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("kafka.Run took %v", took)
			brokers, err := c.Brokers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			produce(t, brokers[0], "numbers", 0, 100)
			consume(t, brokers[0], "numbers", 100)
			toolsWorked(t, logOf(t, c), formatted)

			// The engine kills a container that does not end within ten seconds.
			began = time.Now()
			timeout := stopIn
			if err := c.Stop(t.Context(), &timeout); err != nil {
				t.Fatal(err)
			}
			if log := logOf(t, c); time.Since(began) >= stopIn || !strings.Contains(log, "broker stopped") {
				t.Errorf("the broker did not stop by itself, in %v:\n%s", time.Since(began), log)
			}
		})
	}
}
