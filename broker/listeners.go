package broker

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/moldau-broker/moldau/protocol/config"
)

// listener is one entry of Kafka's listeners, with the address that clients are
// told.
type listener struct {
	Name     string
	Protocol string // PLAINTEXT is the only one served yet.
	Host     string // To bind; empty is every interface.
	Port     int    // To bind; 0 takes a free one.
	// AdvertisedHost is the host that clients are told. Empty answers the address
	// that the client itself reached.
	AdvertisedHost string
	AdvertisedPort int // 0 is the bound port.
}

// Bind is the address to bind.
func (l listener) Bind() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// endpoint is NAME://HOST:PORT.
type endpoint struct {
	name, host string
	port       int
}

// parseEndpoint reads NAME://HOST:PORT; a host may be empty, or an IPv6 address
// in brackets.
func parseEndpoint(key, text string) (endpoint, error) {
	name, address, ok := strings.Cut(text, "://")
	if !ok || name == "" {
		return endpoint{}, &SettingError{key, text, "each listener is written NAME://HOST:PORT"}
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return endpoint{}, &SettingError{key, text, "each listener is written NAME://HOST:PORT"}
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return endpoint{}, &SettingError{key, text, "the port is a number from 0 to 65535"}
	}
	// Kafka folds listener names to upper case.
	return endpoint{strings.ToUpper(name), host, port}, nil
}

// parseListeners joins listeners, advertised.listeners and
// listener.security.protocol.map. Listeners of the controller are left out:
// controller and broker are one process yet.
func parseListeners(v config.Values) ([]listener, error) {
	protocols, err := parseProtocols(v("listener.security.protocol.map"))
	if err != nil {
		return nil, err
	}
	controller := map[string]bool{}
	for _, name := range config.SplitList(v("controller.listener.names")) {
		controller[strings.ToUpper(name)] = true
	}
	advertised, err := parseAdvertised(v("advertised.listeners"))
	if err != nil {
		return nil, err
	}

	var out []listener
	seen := map[string]bool{}
	ports := map[int]string{}
	for _, text := range nonEmpty(config.SplitList(v("listeners"))) {
		e, err := parseEndpoint("listeners", text)
		if err != nil {
			return nil, err
		}
		if seen[e.name] {
			return nil, &SettingError{"listeners", v("listeners"), "the name " + e.name + " stands there twice"}
		}
		seen[e.name] = true
		if other, taken := ports[e.port]; taken && e.port != 0 {
			return nil, &SettingError{
				"listeners", v("listeners"),
				fmt.Sprintf("%s and %s have the same port %d", other, e.name, e.port),
			}
		}
		ports[e.port] = e.name
		if controller[e.name] {
			continue
		}
		l := listener{Name: e.name, Host: e.host, Port: e.port, Protocol: protocols[e.name]}
		if l.Protocol == "" {
			return nil, &SettingError{
				"listener.security.protocol.map", v("listener.security.protocol.map"),
				"it says nothing of the listener " + e.name + "; add " + e.name + ":PLAINTEXT",
			}
		}
		if l.Protocol != "PLAINTEXT" {
			return nil, &SettingError{
				"listener.security.protocol.map", e.name + ":" + l.Protocol,
				"this release serves PLAINTEXT only; encryption and authentication come later",
			}
		}
		if a, ok := advertised[e.name]; ok {
			l.AdvertisedHost, l.AdvertisedPort = a.host, a.port
			delete(advertised, e.name)
		} else if e.host != "" && !isWildcard(e.host) {
			l.AdvertisedHost = e.host
		}
		out = append(out, l)
	}
	for name := range advertised {
		if !controller[name] {
			return nil, &SettingError{
				"advertised.listeners", v("advertised.listeners"),
				"the listener " + name + " is not in listeners",
			}
		}
	}
	if len(out) == 0 {
		return nil, &SettingError{"listeners", v("listeners"), "there is no listener for clients; add PLAINTEXT://:9092"}
	}
	return out, nil
}

// parseAdvertised reads advertised.listeners. An empty item, as a trailing
// comma leaves it, is passed over as in Kafka.
func parseAdvertised(text string) (map[string]endpoint, error) {
	out := map[string]endpoint{}
	for _, item := range nonEmpty(config.SplitList(text)) {
		e, err := parseEndpoint("advertised.listeners", item)
		if err != nil {
			return nil, err
		}
		if isWildcard(e.host) {
			return nil, &SettingError{
				"advertised.listeners", item,
				"clients cannot connect to " + e.host + "; name the host that they reach",
			}
		}
		out[e.name] = e
	}
	return out, nil
}

// parseProtocols reads listener.security.protocol.map.
func parseProtocols(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range nonEmpty(config.SplitList(text)) {
		name, protocol, ok := strings.Cut(item, ":")
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		switch protocol {
		case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
		default:
			ok = false
		}
		if !ok {
			return nil, &SettingError{
				"listener.security.protocol.map", item,
				"each entry is NAME:PROTOCOL with PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
			}
		}
		out[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	return out, nil
}

func nonEmpty(items []string) []string {
	var out []string
	for _, item := range items {
		if item != "" {
			out = append(out, item)
		}
	}
	return out
}

func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}
