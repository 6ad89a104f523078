package cli

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// TestProduceToASilentBroker: --timeout ends the waiting for acknowledgements too,
// whether the records never reach the address that the client was told, or reach it
// and are not answered.
func TestProduceToASilentBroker(t *testing.T) {
	for name, tc := range map[string]struct {
		delay   time.Duration // Of a Produce's answer.
		dials   int           // Connections that come about; later ones hang.
		timeout time.Duration
	}{
		"an address that does not answer":         {dials: 1, timeout: 5 * time.Second},
		"a broker that does not acknowledge":      {delay: time.Hour, dials: 100, timeout: 5 * time.Second},
		"the same with the default's half minute": {delay: time.Hour, dials: 100, timeout: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mb := brokertest.Start(t, brokertest.Topic("orders", 1))
				if tc.delay > 0 {
					mb.On(kmsg.Produce).Delay(tc.delay)
				}
				dialled := 0
				dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
					if dialled++; dialled > tc.dials {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return mb.Dial(ctx, network, addr)
				}
				cmd := produceCommand(&app{bootstrap: mb.Addr(), timeout: tc.timeout, dial: dial})
				cmd.SetArgs([]string{"orders"})
				cmd.SetIn(strings.NewReader("a\nb\n"))
				cmd.SetOut(io.Discard)
				var errs strings.Builder
				cmd.SetErr(&errs)
				cmd.SilenceUsage, cmd.SilenceErrors = true, true
				began := time.Now()
				err := cmd.ExecuteContext(t.Context())
				if took := time.Since(began); err == nil || took > tc.timeout*5/4 {
					t.Errorf("%v after %v, want an error after %v", err, took, tc.timeout)
				}
				if err != nil && !strings.Contains(err.Error(), "moldau doctor") {
					t.Errorf("the error %q does not say what to do", err)
				}
				if !strings.Contains(errs.String(), "2 records sent, 0 acknowledged") {
					t.Errorf("printed %q", errs.String())
				}
			})
		})
	}
}
