package kafkatools

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// A host that does not resolve is warned about once, and the tool goes on with the
// others.
func TestUnresolvableHost(t *testing.T) {
	addr := brokertest.Start(t, brokertest.Topic("orders", 1)).Addr()
	for _, line := range []string{
		"kafka-topics --list",
		"kafka-topics --describe --topic orders",
		"kafka-configs --describe --entity-type topics",
		"kafka-consumer-groups --list",
		"kafka-get-offsets",
		"kafka-broker-api-versions",
		"kafka-metadata-quorum describe --status",
		"kafka-console-producer --topic orders",
		"kafka-console-consumer --topic orders --timeout-ms 0",
	} {
		words := strings.Fields(line)
		servers := []string{"--bootstrap-server", "nowhere.invalid:9092," + addr}
		var errs bytes.Buffer
		e := &Env{In: strings.NewReader(""), Out: io.Discard, Err: &errs}
		code := Run(t.Context(), e, words[0], append(servers, words[1:]...))
		if n := strings.Count(errs.String(), "Couldn't resolve server nowhere.invalid:9092"); n != 1 || code != 0 {
			t.Errorf("%s: exit code %d, %d warnings, want 0 and 1: %s", line, code, n, &errs)
		}
	}
}
