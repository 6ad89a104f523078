package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/logstore"
)

// membership is this broker as the controller knows it: registered, then kept
// alive by heartbeats, and unfenced once it serves.
type membership struct {
	control   *controlPlane
	settings  *settings
	meta      logstore.Meta
	log       *slog.Logger
	epoch     int64 // Of the registration.
	endpoints []controllerEndpoint
}

// controllerEndpoint is a listener as it is registered.
type controllerEndpoint struct {
	listener, host string
	port           uint16
}

// plaintext is the number of the security protocol PLAINTEXT.
const plaintext = 0

// register tells the controller that this broker is there. previousEpoch is that
// of the last clean stop, -1 if there was none.
func (m *membership) register(ctx context.Context, previousEpoch int64) error {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.Version = 4
	req.BrokerID, req.ClusterID, req.IncarnationID = m.meta.NodeID, m.meta.ClusterID, newID()
	req.PreviousBrokerEpoch = previousEpoch
	req.LogDirs = [][16]byte{m.meta.DirectoryID}
	if m.settings.rack != "" {
		req.Rack = &m.settings.rack
	}
	for _, ep := range m.endpoints {
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = ep.listener, ep.host, ep.port, plaintext
		req.Listeners = append(req.Listeners, l)
	}
	for name, levels := range supportedFeatures() {
		f := kmsg.NewBrokerRegistrationRequestFeature()
		f.Name, f.MinSupportedVersion, f.MaxSupportedVersion = name, levels.Min, levels.Max
		req.Features = append(req.Features, f)
	}
	resp, err := m.control.Ask(ctx, controller.Request{Body: req, Local: true})
	if err != nil {
		return fmt.Errorf("this broker was not registered: %w", err)
	}
	r := resp.(*kmsg.BrokerRegistrationResponse)
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return fmt.Errorf("this broker was not registered: %w", err)
	}
	m.epoch = r.BrokerEpoch
	return nil
}

// beat sends one heartbeat.
func (m *membership) beat(ctx context.Context, wantFence, wantShutdown bool) (*kmsg.BrokerHeartbeatResponse, error) {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = 1
	req.BrokerID, req.BrokerEpoch = m.meta.NodeID, m.epoch
	req.CurrentMetadataOffset = m.control.image.Load().Offset - 1
	req.WantFence, req.WantShutdown = wantFence, wantShutdown
	resp, err := m.control.Ask(ctx, controller.Request{Body: req, Local: true})
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.BrokerHeartbeatResponse)
	return r, kerr.ErrorForCode(r.ErrorCode)
}

// unfence asks to be let in and waits until this broker serves the image in which
// it is.
func (m *membership) unfence(ctx context.Context) error {
	for {
		r, err := m.beat(ctx, false, false)
		if err != nil {
			return fmt.Errorf("the controller does not let this broker in: %w", err)
		}
		if !r.IsFenced {
			m.control.waitApplied(ctx, m.control.image.Load().Offset)
			return ctx.Err()
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keepAlive sends heartbeats until ctx ends.
func (m *membership) keepAlive(ctx context.Context) {
	tick := time.NewTicker(m.settings.values.Millis("broker.heartbeat.interval.ms"))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, err := m.beat(ctx, false, false); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			m.log.Warn("heartbeat to the controller failed", slog.Any("err", err))
		}
	}
}
