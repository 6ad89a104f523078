package api

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator/controller"
)

// unasked is what a response says of the authorized operations that the client
// did not ask for.
const unasked = -1 << 31

// The operations that Kafka knows for each kind of resource (AclEntry's
// supportedOperations). A response that lists authorized operations has a bit for
// each, at the operation's number.
var (
	topicOperations = []kmsg.ACLOperation{
		kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationCreate, kmsg.ACLOperationDelete,
		kmsg.ACLOperationAlter, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs,
	}
	groupOperations = []kmsg.ACLOperation{
		kmsg.ACLOperationRead, kmsg.ACLOperationDelete, kmsg.ACLOperationDescribe,
		kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs,
	}
	clusterOperations = []kmsg.ACLOperation{
		kmsg.ACLOperationCreate, kmsg.ACLOperationAlter, kmsg.ACLOperationDescribe, kmsg.ACLOperationClusterAction,
		kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs, kmsg.ACLOperationIdempotentWrite,
	}
)

// authorized is the bit field of what the principal may do to a resource.
func (e *Env) authorized(c *Conn, ops []kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) int32 {
	var bits int32
	for _, op := range ops {
		if e.May(c, op, kind, name) {
			bits |= 1 << op
		}
	}
	return bits
}

// endpoint is where clients of a listener reach a broker. ok is false when the
// broker has no such listener.
//
// A broker that was told no address to hand out answers the one that the client
// itself reached; that is only known for connections to this broker.
func (e *Env) endpoint(c *Conn, b *controller.Broker) (host string, port int32, ok bool) {
	for _, ep := range b.Endpoints {
		if ep.Listener != c.Listener {
			continue
		}
		if b.ID == e.NodeID && e.Reached != nil && e.Reached(c.Listener) {
			if host, port, ok := splitAddr(c.Local); ok {
				return host, port, true
			}
		}
		return ep.Host, int32(ep.Port), true
	}
	return "", 0, false
}

// noteMisled calls Misled if that is the case.
func (e *Env) noteMisled(c *Conn, host string) {
	if e.Misled == nil || !isLoopback(host) {
		return
	}
	peer, _, ok := splitAddr(c.Peer)
	if !ok || isLoopback(peer) {
		return
	}
	// Who reached an address of his own machine reaches loopback too.
	if local, _, ok := splitAddr(c.Local); ok && local == peer {
		return
	}
	e.Misled(c, host)
}

// isLoopback says that a host is, by its name, the machine of whoever asks.
func isLoopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// splitAddr takes a TCP address apart. An IPv6 zone is the peer's business.
func splitAddr(a net.Addr) (host string, port int32, ok bool) {
	if a == nil {
		return "", 0, false
	}
	host, p, err := net.SplitHostPort(a.String())
	if err != nil {
		return "", 0, false
	}
	n, err := strconv.ParseUint(p, 10, 16)
	return host, int32(n), err == nil
}

// alive lists the brokers that are not fenced and that clients of the listener
// can reach, by id.
func (e *Env) alive(c *Conn, im *controller.Image) []*controller.Broker {
	var out []*controller.Broker
	for b := range im.Brokers() {
		if _, _, ok := e.endpoint(c, b); ok && !b.Fenced {
			out = append(out, b)
		}
	}
	return out
}

// contact is the broker that clients are told to send admin requests to: any that
// is alive, since each serves them. This one, if it is; -1 for none. Kafka draws
// one at random.
func (e *Env) contact(alive []*controller.Broker) int32 {
	for _, b := range alive {
		if b.ID == e.NodeID {
			return b.ID
		}
	}
	if len(alive) > 0 {
		return alive[0].ID
	}
	return -1
}
