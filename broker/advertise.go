package broker

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// introduce tells, a line for each listener, where it listens, what clients are
// told, and whom that serves.
func (r *running) introduce() {
	for _, l := range r.settings.listeners {
		bind := l.Bind()
		if addr := r.ListenerAddr(l.Name); addr != nil {
			bind = addr.String()
		}
		told, serves := l.told()
		if told != "" && l.AdvertisedPort == 0 {
			_, port, _ := net.SplitHostPort(bind)
			told = net.JoinHostPort(l.AdvertisedHost, port)
		}
		r.log.Info("listener", slog.String("name", l.Name), slog.String("bind", bind),
			slog.String("clients_are_told", cmp.Or(told, "the address that their connection came in on")), slog.String("serves", serves))
	}
}

// told is the address that clients of a listener are told, empty for the one that
// they used, and in words who can reach that.
func (l listener) told() (address, serves string) {
	switch {
	case l.AdvertisedHost == "":
		// A forwarded port, whatever its number, comes in on the address that it is
		// forwarded to. A container's is known to its host on Linux, not to machines
		// beyond, nor to a host that runs its containers in a virtual machine.
		return "", "whoever reaches that address itself, by a forwarded port or without"
	case loopback(l.AdvertisedHost):
		serves = "clients on this machine"
	case net.ParseIP(l.AdvertisedHost) != nil:
		serves = "whoever reaches " + l.AdvertisedHost
	default:
		serves = "whoever resolves and reaches " + l.AdvertisedHost
	}
	return net.JoinHostPort(l.AdvertisedHost, strconv.Itoa(cmp.Or(l.AdvertisedPort, l.Port))), serves
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// misled warns of clients that are told an address of loopback and came from
// elsewhere, once for each listener. Any goroutine may use it.
type misled struct {
	log       *slog.Logger
	listeners []listener

	mu struct {
		sync.Mutex

		warned   map[string]bool // By listener.
		gateways map[netip.Addr]bool
	}
}

// warn writes the warning, with the line that mends it. A peer that may be the
// gateway of a container's network stays unspoken of: it is the container's
// host, where an address of loopback with a published port is right.
func (m *misled) warn(c *api.Conn, host string) {
	peer, err := netip.ParseAddrPort(c.Peer.String())
	if err != nil {
		return
	}
	m.mu.Lock()
	if m.mu.gateways == nil {
		m.mu.warned, m.mu.gateways = map[string]bool{}, gateways(interfaces())
	}
	quiet := m.mu.warned[c.Listener] || m.mu.gateways[peer.Addr().Unmap()]
	m.mu.warned[c.Listener] = m.mu.warned[c.Listener] || !quiet
	m.mu.Unlock()
	if quiet {
		return
	}
	mend := m.mend(c)
	m.log.Warn("a client was told an address that is its own machine's, and will not find this broker there",
		slog.String("listener", c.Listener), slog.String("client", peer.Addr().Unmap().String()), slog.String("told", host),
		slog.String("mend", "advertised.listeners="+mend),
		slog.String("mend_in_a_container", "KAFKA_ADVERTISED_LISTENERS="+mend))
}

// mend is advertised.listeners as it is, but with the address that the client
// reached for its listener.
func (m *misled) mend(c *api.Conn) string {
	var out []string
	for _, l := range m.listeners {
		told, _ := l.told()
		if l.Name == c.Listener {
			told = c.Local.String()
		}
		if told != "" {
			out = append(out, l.Name+"://"+told)
		}
	}
	return strings.Join(out, ",")
}

// interfaces are the addresses of this machine, with their networks.
func interfaces() []netip.Prefix {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil // Then no address is taken for a gateway's.
	}
	var out []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// gateways are the addresses at which the engines of containers put themselves:
// the first of each network that is not this machine's own.
func gateways(own []netip.Prefix) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, p := range own {
		if first := p.Masked().Addr().Next(); first != p.Addr() && !p.IsSingleIP() {
			out[first] = true
		}
	}
	return out
}
