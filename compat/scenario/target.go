package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Target is a broker that scenarios are played against.
type Target struct {
	addr     string
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	versions map[int16]kmsg.ApiVersionsResponseApiKey
	answered *answered
	node     int32
	run      string        // Marks the names of this run.
	serial   *atomic.Int64 // Numbers the scenarios of this run.
	restarts *restarts     // Nil if nobody said how.
}

// NewTarget asks the broker at an address what it serves and who it is. It is reached
// by dial, that of a net.Dialer if that is nil.
func NewTarget(ctx context.Context, addr string, dialer func(ctx context.Context, network, addr string) (net.Conn, error)) (*Target, error) {
	t := &Target{
		addr: addr, dial: dialer, versions: make(map[int16]kmsg.ApiVersionsResponseApiKey),
		answered: new(answered), run: strconv.FormatInt(time.Now().UnixMilli(), 36), serial: new(atomic.Int64),
	}
	if t.dial == nil {
		t.dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := dial(ctx, t.dial, t.addr, "moldau-compat")
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	c.answered = t.answered
	resp, err := c.Do(kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return nil, err
	}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		t.versions[k.ApiKey] = k
	}
	if len(t.versions) == 0 {
		return nil, errors.New("the broker advertises no API")
	}
	md := kmsg.NewPtrMetadataRequest()
	md.Version = 1
	md.Topics = []kmsg.MetadataRequestTopic{}
	if resp, err = c.Do(md); err != nil {
		return nil, err
	}
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		t.node = b.NodeID
	}
	return t, nil
}

// Advertised are the APIs that the broker advertises, by key.
func (t *Target) Advertised() []kmsg.ApiVersionsResponseApiKey {
	return slices.SortedFunc(maps.Values(t.versions), func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
}

// Seen are all versions of an API that is advertised, and what the scenarios that were
// played saw of them.
func (t *Target) Seen(k kmsg.ApiVersionsResponseApiKey) []Version {
	return t.answered.between(k.ApiKey, k.MinVersion, k.MaxVersion)
}

// RestartBy says how the broker is stopped and started again, at the same address and
// with its data. Before it is called, scenarios that restart the broker do not apply.
func (t *Target) RestartBy(restart func(ctx context.Context) error) {
	t.restarts = newRestarts(func(ctx context.Context) error {
		if err := restart(ctx); err != nil {
			return err
		}
		return t.answers(ctx)
	})
}

// answers waits until the broker answers.
func (t *Target) answers(ctx context.Context) error {
	for {
		_, err := NewTarget(ctx, t.addr, t.dial)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer after it was restarted: %w", t.addr, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
