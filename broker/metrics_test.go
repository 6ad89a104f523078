package broker

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/config"
)

// TestCoordinatorMetrics: what the coordinators count is in /metrics.
func TestCoordinatorMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address = "127.0.0.1:9644"
		w := start(t, vfs.NewMem(), map[string]string{
			config.AdminListener: address, "transaction.state.log.num.partitions": "2",
		})
		cl := w.client(kgo.TransactionalID("t"))
		defer cl.Close()
		if _, _, err := cl.ProducerID(t.Context()); err != nil {
			t.Fatal(err)
		}
		offsets := make(kadm.Offsets)
		offsets.AddOffset("lines", 0, 7, -1)
		if err := kadm.NewClient(cl).CommitAllOffsets(t.Context(), "g", offsets); err != nil {
			t.Fatal(err)
		}

		web := &http.Client{Transport: &http.Transport{DialContext: w.net.Dial, DisableKeepAlives: true}}
		resp, err := web.Get("http://" + address + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for line := range strings.Lines(string(page)) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				values[name] = value
			}
		}
		for _, name := range []string{"controller", "group", "transaction"} {
			metric := fmt.Sprintf("moldau_coordinator_records_total{coordinator=%q}", name)
			if v := values[metric]; v == "" || v == "0" {
				t.Errorf("%s is %q after the coordinator wrote records", metric, v)
			}
		}
		if t.Failed() {
			t.Logf("%s", page)
		}
		w.end()
	})
}
