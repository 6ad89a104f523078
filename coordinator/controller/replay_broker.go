package controller

import (
	"fmt"
	"slices"

	"github.com/moldau-broker/moldau/protocol/metadata"
)

func (j *journal) applyBroker(r metadata.Record) error {
	switch r := r.(type) {
	case *metadata.RegisterBroker:
		j.setBroker(&Broker{
			ID: r.BrokerID, Epoch: r.BrokerEpoch, Incarnation: r.IncarnationID,
			Endpoints: endpoints(r.EndPoints), Rack: r.Rack,
			Fenced: r.Fenced, ShuttingDown: r.InControlledShutdown,
			Features: featureRanges(r.Features), Dirs: r.LogDirs, Cordoned: r.CordonedLogDirs,
			registered: j.end - 1,
		})
		return nil
	case *metadata.UnregisterBroker:
		if _, err := j.brokerAt(r.BrokerID, r.BrokerEpoch); err != nil {
			return err
		}
		j.brokers.Delete(r.BrokerID)
		j.changes.broker(r.BrokerID)
		return nil
	case *metadata.FenceBroker:
		return j.changeBroker(&metadata.BrokerRegistrationChange{BrokerID: r.ID, BrokerEpoch: r.Epoch, Fenced: metadata.Fence})
	case *metadata.UnfenceBroker:
		return j.changeBroker(&metadata.BrokerRegistrationChange{BrokerID: r.ID, BrokerEpoch: r.Epoch, Fenced: metadata.Unfence})
	case *metadata.BrokerRegistrationChange:
		return j.changeBroker(r)
	}
	panic(fmt.Sprintf("BUG: %s is not about brokers", r.Key()))
}

func (j *journal) setBroker(b *Broker) {
	j.brokers.Set(b.ID, b)
	j.changes.broker(b.ID)
}

// brokerAt finds a broker of an epoch.
func (j *journal) brokerAt(id int32, epoch int64) (*Broker, error) {
	b, ok := j.brokers.Get(id)
	if !ok {
		return nil, fmt.Errorf("broker %d is not registered", id)
	}
	if b.Epoch != epoch {
		return nil, fmt.Errorf("broker %d has the epoch %d, not %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (j *journal) changeBroker(r *metadata.BrokerRegistrationChange) error {
	b, err := j.brokerAt(r.BrokerID, r.BrokerEpoch)
	if err != nil {
		return err
	}
	n := *b
	switch r.Fenced {
	case metadata.FenceAsBefore:
	case metadata.Fence:
		n.Fenced = true
	case metadata.Unfence:
		n.Fenced = false
	default:
		return fmt.Errorf("fenced is %d", r.Fenced)
	}
	switch r.InControlledShutdown {
	case 0:
	case metadata.ShutdownBegins:
		n.ShuttingDown = true
	default:
		return fmt.Errorf("in controlled shutdown is %d", r.InControlledShutdown)
	}
	if len(r.LogDirs) > 0 {
		n.Dirs = r.LogDirs
	}
	if r.CordonedLogDirs != nil {
		n.Cordoned = r.CordonedLogDirs
	}
	j.setBroker(&n)
	return nil
}

func endpoints(in []metadata.Endpoint) []Endpoint {
	var out []Endpoint
	for _, e := range in {
		out = append(out, Endpoint{Listener: e.Name, Host: e.Host, Port: e.Port, Protocol: e.SecurityProtocol})
	}
	return out
}

func featureRanges(in []metadata.FeatureRange) map[string]FeatureRange {
	out := make(map[string]FeatureRange, len(in))
	for _, f := range in {
		out[f.Name] = FeatureRange{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	return out
}

// hasDir reports whether a replica in this directory of the broker can be used.
func (b *Broker) hasDir(dir [16]byte) bool {
	switch dir {
	case dirUnassigned, dirMigrating:
		return true
	case dirLost:
		return false
	}
	// A broker registered before directories were in the metadata has none.
	return len(b.Dirs) == 0 || slices.Contains(b.Dirs, dir)
}

// takesReplicas reports whether a new replica may be put on the broker.
func (b *Broker) takesReplicas() bool {
	if len(b.Cordoned) == 0 {
		return true
	}
	return slices.ContainsFunc(b.Dirs, func(d [16]byte) bool { return !slices.Contains(b.Cordoned, d) })
}

// defaultDir is the directory that a new replica on a broker is in, as far as the
// controller can know: a broker of several chooses itself.
func (s *state) defaultDir(broker int32) [16]byte {
	b, ok := s.brokers.Get(broker)
	switch {
	case !s.level.Directories():
		return dirMigrating
	case !ok:
		return dirUnassigned
	case len(b.Dirs) == 0:
		return dirMigrating
	case len(b.Dirs) == 1:
		return b.Dirs[0]
	}
	return dirUnassigned
}
