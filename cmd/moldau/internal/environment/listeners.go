package environment

import (
	"cmp"
	"regexp"
	"strings"
)

// addListeners says where to listen if the settings do not: on the ports of the
// addresses that clients are told, or else on 9092, on every interface.
func addListeners(settings map[string]string) {
	oldAddress(settings)
	if settings["listeners"] != "" {
		return
	}
	if told := settings["advertised.listeners"]; told != "" {
		settings["listeners"] = EveryInterface(told)
		return
	}
	settings["listeners"] = "PLAINTEXT://:" + cmp.Or(settings["port"], "9092")
}

// hostPart is the host of NAME://HOST:PORT, an IPv6 address with its brackets.
var hostPart = regexp.MustCompile(`://(\[[^\]]*\]|[^:,]*):`)

// EveryInterface puts 0.0.0.0 in place of each host of a list of listeners.
func EveryInterface(listeners string) string {
	return hostPart.ReplaceAllString(listeners, "://0.0.0.0:")
}

// oldAddress turns advertised.host.name and advertised.port, which Kafka had
// before 3.0 and wurstmeister's image still sets, into advertised.listeners. They
// are taken out, unless they say nothing without a host.
func oldAddress(settings map[string]string) {
	host := settings["advertised.host.name"]
	if host == "" {
		return
	}
	if settings["advertised.listeners"] == "" {
		name, _, ok := strings.Cut(settings["listeners"], "://")
		if !ok {
			name = "PLAINTEXT"
		}
		port := cmp.Or(settings["advertised.port"], settings["port"], "9092")
		settings["advertised.listeners"] = strings.TrimSpace(name) + "://" + host + ":" + port
		if settings["listeners"] == "" {
			settings["listeners"] = "PLAINTEXT://:" + cmp.Or(settings["port"], "9092")
		}
	}
	delete(settings, "advertised.host.name")
	delete(settings, "advertised.port")
}
