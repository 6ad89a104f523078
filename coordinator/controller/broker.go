package controller

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/protocol/metadata"
)

// session is what is known of a broker from its heartbeats.
type session struct {
	epoch   int64     // Of the broker that it is about.
	contact time.Time // Of the last heartbeat; zero: none yet.
	offset  int64     // The last offset of the metadata log that the broker has applied.
	// shutdown is the last offset of what moved the broker's leaderships away; -1 if
	// it is not shutting down.
	shutdown int64
	fencing  bool // The session ended, and fencing the broker takes several steps.
}

// sessionKey is the timer of a broker's session.
type sessionKey struct{ id int32 }

// session returns the session of a broker, a new one for a new epoch.
func (s *Shard) session(b *Broker) *session {
	ses := s.sessions[b.ID]
	if ses == nil || ses.epoch != b.Epoch {
		ses = &session{epoch: b.Epoch, offset: -1, shutdown: -1}
		s.sessions[b.ID] = ses
	}
	return ses
}

// valid reports whether the session still runs.
func (ses *session) valid(now time.Time, timeout time.Duration) bool {
	return !ses.contact.IsZero() && now.Before(ses.contact.Add(timeout))
}

// checkEpoch finds the broker that a request comes from, if it is still the one.
func (s *Shard) checkEpoch(id int32, epoch int64) (*Broker, *Refusal) {
	b, ok := s.brokers.Get(id)
	if !ok {
		return nil, refuse(kerr.StaleBrokerEpoch, "No broker registration found for broker id %d", id)
	}
	if b.Epoch != epoch {
		return nil, refuse(kerr.StaleBrokerEpoch, "Expected broker epoch %d, but got broker epoch %d", b.Epoch, epoch)
	}
	return b, nil
}

// joining is a registration that takes more than one step: its last incarnation is
// in very many ISRs.
type joining struct {
	ticket coordinator.Ticket
	req    *kmsg.BrokerRegistrationRequest
	local  bool
}

// joinKey is the timer that goes on with a registration.
type joinKey struct{ id int32 }

// join registers a broker, in this step or by the ones that follow it.
func (s *Shard) join(st *step, j joining) ([]metadata.Record, []coordinator.Reply) {
	id := j.req.BrokerID
	var replies []coordinator.Reply
	if other, ok := s.joining[id]; ok && other.ticket != j.ticket {
		resp := other.req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
		resp.ErrorCode, resp.BrokerEpoch = kerr.DuplicateBrokerRegistration.Code, -1
		replies = append(replies, coordinator.Reply{To: other.ticket, Body: resp})
	}
	st.local = j.local
	recs, resp := s.registerBroker(st, j.req)
	if resp == nil {
		s.joining[id] = j
		st.timer(joinKey{id}, st.Now)
		return recs, replies
	}
	delete(s.joining, id)
	return recs, append(replies, coordinator.Reply{To: j.ticket, Body: resp})
}

// registerBroker serves BrokerRegistration. A new incarnation is fenced until its
// heartbeats say that it has caught up; its epoch is the offset of its records. A nil
// answer says that there is more to clean up first: ask again.
func (s *Shard) registerBroker(st *step, req *kmsg.BrokerRegistrationRequest) ([]metadata.Record, *kmsg.BrokerRegistrationResponse) {
	resp := req.ResponseKind().(*kmsg.BrokerRegistrationResponse)
	existing, _ := s.brokers.Get(req.BrokerID)
	refusal := s.checkRegistration(st, existing, req)
	if refusal != nil {
		resp.ErrorCode, resp.BrokerEpoch = refusal.code(), -1
		return nil, resp
	}
	b := &Broker{
		ID: req.BrokerID, Epoch: st.NextOffset, Incarnation: req.IncarnationID,
		Rack: req.Rack, Fenced: true, Features: map[string]FeatureRange{}, Dirs: req.LogDirs,
	}
	for _, l := range req.Listeners {
		b.Endpoints = append(b.Endpoints, Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port, Protocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		b.Features[f.Name] = FeatureRange{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	var recs []metadata.Record
	if existing != nil && existing.Incarnation == req.IncarnationID {
		b.Epoch, b.Fenced, b.ShuttingDown = existing.Epoch, existing.Fenced, existing.ShuttingDown
	} else {
		clean := existing != nil && req.Version >= 3 && req.PreviousBrokerEpoch == existing.Epoch
		var done bool
		if recs, done = s.forget(req.BrokerID, clean); !done {
			return recs, nil // Not yet.
		}
		delete(s.sessions, req.BrokerID)
		st.timer(sessionKey{req.BrokerID}, time.Time{})
	}
	resp.BrokerEpoch = b.Epoch
	// The registration comes last: a broker that finds itself registered can rely on
	// what its last incarnation left being cleaned up.
	return append(recs, b.record(s.level)), resp
}

// checkRegistration says why a broker may not register.
func (s *Shard) checkRegistration(st *step, existing *Broker, req *kmsg.BrokerRegistrationRequest) *Refusal {
	if req.ClusterID != s.cfg.ClusterID {
		return refuse(kerr.InconsistentClusterID, "Expected cluster ID %s, but got cluster ID %s", s.cfg.ClusterID, req.ClusterID)
	}
	own := st.local && req.BrokerID == s.cfg.NodeID
	if existing != nil && existing.Incarnation != req.IncarnationID && !own && s.session(existing).valid(st.Now, s.cfg.SessionTimeout) {
		return refuse(kerr.DuplicateBrokerRegistration, "Another broker is registered with that broker id.")
	}
	if req.IsMigratingZkBroker {
		return refuse(kerr.BrokerIDNotRegistered, "Controller does not support registering ZK brokers.")
	}
	if refusal := s.checkDirs(req); refusal != nil {
		return refusal
	}
	return s.checkBrokerFeatures(req)
}

func (s *Shard) checkDirs(req *kmsg.BrokerRegistrationRequest) *Refusal {
	if !s.level.Directories() {
		return nil
	}
	if len(req.LogDirs) == 0 {
		return refuse(kerr.InvalidRegistration, "No directories specified in request")
	}
	for i, dir := range req.LogDirs {
		switch {
		case reservedDir(dir):
			return refuse(kerr.InvalidRegistration, "Reserved directory ID in request")
		case slices.Contains(req.LogDirs[:i], dir):
			return refuse(kerr.InvalidRegistration, "Duplicate directory ID in request")
		}
		for b := range values(s.brokers) {
			if b.ID != req.BrokerID && slices.Contains(b.Dirs, dir) {
				return refuse(kerr.InvalidRegistration, "Broker %d is already registered with directory %x", b.ID, dir)
			}
		}
	}
	return nil
}

// checkBrokerFeatures says which finalized level a broker does not support.
func (s *Shard) checkBrokerFeatures(req *kmsg.BrokerRegistrationRequest) *Refusal {
	offered := map[string]FeatureRange{}
	for _, f := range req.Features {
		offered[f.Name] = FeatureRange{f.MinSupportedVersion, f.MaxSupportedVersion}
	}
	check := func(name string, level int16) *Refusal {
		r := offered[name]
		if r.contains(level) {
			return nil
		}
		return refuse(kerr.UnsupportedVersion, "Unable to register because the broker does not support finalized version %d of %s. "+
			"The broker wants a version between %d and %d, inclusive.", level, name, r.Min, r.Max)
	}
	for _, f := range req.Features {
		level := s.feature(f.Name)
		if f.Name == metadata.FeatureKRaftVersion {
			level = s.cfg.KRaftVersion()
		}
		if refusal := check(f.Name, level); refusal != nil {
			return refusal
		}
	}
	if _, ok := offered[metadata.FeatureMetadataVersion]; !ok {
		return refuse(kerr.InvalidRegistration, "Request features do not contain '%s'", metadata.FeatureMetadataVersion)
	}
	for name, level := range s.features.Scan {
		if refusal := check(name, level); refusal != nil {
			return refusal
		}
	}
	return check(metadata.FeatureKRaftVersion, s.cfg.KRaftVersion())
}

// control is where a broker stands with the controller.
type control int8

const (
	controlFenced control = iota
	controlUnfenced
	controlShutdown // Its leaderships are moved away.
	controlStop     // Fenced, and it may stop.
)

// heartbeat serves BrokerHeartbeat.
func (s *Shard) heartbeat(st *step, req *kmsg.BrokerHeartbeatRequest) ([]metadata.Record, *kmsg.BrokerHeartbeatResponse) {
	resp := req.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	b, refusal := s.checkEpoch(req.BrokerID, req.BrokerEpoch)
	if refusal != nil {
		resp.ErrorCode, resp.IsFenced = refusal.code(), true
		return nil, resp
	}
	ses := s.session(b)
	ses.contact = st.Now
	current := s.standing(b, ses)
	next := s.nextStanding(current, b, ses, req)
	recs, next := s.enter(st, current, next, b)
	ses.offset = req.CurrentMetadataOffset
	if s.level.Directories() {
		recs = append(recs, s.dirsOffline(b, req.OfflineLogDirs)...)
	}
	if req.CordonedLogDirs != nil && s.level.RegisterBrokerVersion() >= 4 && !slices.Equal(req.CordonedLogDirs, b.Cordoned) {
		recs = append(recs, &metadata.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, CordonedLogDirs: req.CordonedLogDirs})
	}
	switch next {
	case controlShutdown:
		if len(recs) > 0 || ses.shutdown < 0 {
			ses.shutdown = st.NextOffset + int64(len(recs)) - 1
		}
		fallthrough
	case controlUnfenced:
		st.timer(sessionKey{b.ID}, st.Now.Add(s.cfg.SessionTimeout))
	default:
		ses.shutdown = -1
		st.timer(sessionKey{b.ID}, time.Time{})
	}
	if next == controlStop {
		// It goes, and its successor need not wait for the session to end.
		ses.contact = time.Time{}
	}
	resp.IsCaughtUp = req.CurrentMetadataOffset >= b.registered
	resp.IsFenced = next == controlFenced || next == controlStop
	resp.ShouldShutdown = next == controlStop
	return recs, resp
}

func (s *Shard) standing(b *Broker, ses *session) control {
	switch {
	case ses.shutdown >= 0:
		return controlShutdown
	case b.Fenced:
		return controlFenced
	}
	return controlUnfenced
}

// nextStanding is where a broker stands after a heartbeat.
func (s *Shard) nextStanding(current control, b *Broker, ses *session, req *kmsg.BrokerHeartbeatRequest) control {
	switch current {
	case controlFenced:
		switch {
		case req.WantShutdown:
			return controlStop
		case !req.WantFence && req.CurrentMetadataOffset >= b.registered:
			return controlUnfenced
		}
		return controlFenced
	case controlUnfenced:
		switch {
		case req.WantFence && req.WantShutdown:
			return controlStop
		case req.WantFence:
			return controlFenced
		case req.WantShutdown && s.leads(b.ID):
			return controlShutdown
		case req.WantShutdown:
			return controlStop
		}
		return controlUnfenced
	}
	// It may stop once it leads nothing and every other broker has seen that.
	if s.leads(b.ID) || ses.shutdown > s.lowestOffset() {
		return controlShutdown
	}
	return controlStop
}

// enter makes the records of a change of standing, and says where the broker stands
// with them: where it stood, if there is more to do first.
func (s *Shard) enter(st *step, current, next control, b *Broker) ([]metadata.Record, control) {
	switch {
	case next == controlShutdown:
		return s.moveAway(b), next
	case next == current, b.Fenced && next == controlStop:
		return nil, next
	case next == controlUnfenced:
		return s.unfence(st, b), next
	}
	recs, done := s.fence(b)
	if !done {
		next = current
	}
	return recs, next
}

// lowestOffset is what every active broker that is not shutting down has applied.
func (s *Shard) lowestOffset() int64 {
	lowest := int64(1<<63 - 1)
	for b := range values(s.brokers) {
		if ses := s.session(b); !b.Fenced && ses.shutdown < 0 {
			lowest = min(lowest, ses.offset)
		}
	}
	return lowest
}

// dirsOffline makes replicas in directories that failed leave their ISRs.
func (s *Shard) dirsOffline(b *Broker, offline [][16]byte) []metadata.Record {
	online := slices.DeleteFunc(slices.Clone(b.Dirs), func(d [16]byte) bool { return slices.Contains(offline, d) })
	if len(online) == len(b.Dirs) {
		return nil
	}
	u := noUpheaval()
	u.remove = b.ID
	recs, done := s.follow(u, func(p *Partition) bool {
		dir, assigned := p.directory(b.ID)
		return assigned && slices.Contains(offline, dir) && slices.Contains(b.Dirs, dir)
	})
	if len(online) == 0 || !done {
		// A broker without a directory stops; a record cannot say that none is left.
		// Where there is more to do, the next heartbeat says the same again.
		return recs
	}
	return append(recs, &metadata.BrokerRegistrationChange{BrokerID: b.ID, BrokerEpoch: b.Epoch, LogDirs: online})
}

// lateAlarm is how much later than due a timer may go off until it is the controller
// that must have slept: then heartbeats wait behind it, and the brokers get time to
// be heard.
const lateAlarm = time.Second

// sessionDue fences a broker that was not heard of for a whole session. One broker
// per step: the next one is looked at with what this one's going has changed.
func (s *Shard) sessionDue(st *step, key sessionKey) []metadata.Record {
	b, ok := s.brokers.Get(key.id)
	if !ok || b.Fenced {
		return nil
	}
	ses := s.session(b)
	due := ses.contact.Add(s.cfg.SessionTimeout)
	switch {
	case st.Now.Before(due):
		st.timer(key, due)
		return nil
	case st.Now.Sub(due) > lateAlarm && !ses.fencing:
		ses.contact = st.Now.Add(lateAlarm - s.cfg.SessionTimeout)
		st.timer(key, st.Now.Add(lateAlarm))
		return nil
	}
	recs, done := s.fence(b)
	if ses.fencing = !done; !done {
		st.timer(key, st.Now)
		return recs
	}
	ses.shutdown = -1
	return recs
}

// unregisterBroker serves UnregisterBroker.
func (s *Shard) unregisterBroker(st *step, req *kmsg.UnregisterBrokerRequest) ([]metadata.Record, *kmsg.UnregisterBrokerResponse) {
	resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
	b, ok := s.brokers.Get(req.BrokerID)
	if !ok {
		refusal := refuse(kerr.BrokerIDNotRegistered, "Broker ID %d is not currently registered", req.BrokerID)
		resp.ErrorCode, resp.ErrorMessage = refusal.code(), refusal.text()
		return nil, resp
	}
	u := noUpheaval()
	u.remove = b.ID
	recs, done := s.follow(u, inISROrELR(b.ID))
	if !done {
		refusal := refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation.")
		resp.ErrorCode, resp.ErrorMessage = refusal.code(), refusal.text()
		return nil, resp
	}
	st.timer(sessionKey{b.ID}, time.Time{})
	return append(recs, &metadata.UnregisterBroker{BrokerID: b.ID, BrokerEpoch: b.Epoch}), resp
}

// registerController serves ControllerRegistration.
func (s *Shard) registerController(_ *step, req *kmsg.ControllerRegistrationRequest) ([]metadata.Record, *kmsg.ControllerRegistrationResponse) {
	resp := req.ResponseKind().(*kmsg.ControllerRegistrationResponse)
	if s.level < metadata.Level37IV0 {
		refusal := refuse(kerr.UnsupportedVersion, "The current MetadataVersion is too old to support controller registrations.")
		resp.ErrorCode, resp.ErrorMessage = refusal.code(), refusal.text()
		return nil, resp
	}
	r := &metadata.RegisterController{ControllerID: req.ControllerID, IncarnationID: req.IncarnationID}
	for _, l := range req.Listeners {
		r.EndPoints = append(r.EndPoints, metadata.Endpoint{Name: l.Name, Host: l.Host, Port: l.Port, SecurityProtocol: l.SecurityProtocol})
	}
	for _, f := range req.Features {
		r.Features = append(r.Features, metadata.FeatureRange{
			Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion,
		})
	}
	return []metadata.Record{r}, resp
}

// ProducerIDBlock is how many producer ids a broker gets at once.
const ProducerIDBlock = 1000

// allocateProducerIDs serves AllocateProducerIds.
func (s *Shard) allocateProducerIDs(_ *step, req *kmsg.AllocateProducerIDsRequest) ([]metadata.Record, *kmsg.AllocateProducerIDsResponse) {
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	if _, refusal := s.checkEpoch(req.BrokerID, req.BrokerEpoch); refusal != nil {
		resp.ErrorCode = refusal.code()
		return nil, resp
	}
	first := max(s.producerID, 0)
	if first > 1<<63-1-ProducerIDBlock {
		resp.ErrorCode = kerr.UnknownServerError.Code // All are used up; Kafka answers so.
		return nil, resp
	}
	resp.ProducerIDStart, resp.ProducerIDLen = first, ProducerIDBlock
	return []metadata.Record{&metadata.ProducerIDs{
		BrokerID: req.BrokerID, BrokerEpoch: req.BrokerEpoch, NextProducerID: first + ProducerIDBlock,
	}}, resp
}
