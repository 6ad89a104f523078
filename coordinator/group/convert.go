package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// joinConsumers is a join of the classic protocol to a group of consumers.
func (s *Shard) joinConsumers(t coordinator.Ticket, _ Request, req *kmsg.JoinGroupRequest, _ *group) {
	s.reply(t, joinError(req, req.MemberID, kerr.InconsistentGroupProtocol.Code))
}
