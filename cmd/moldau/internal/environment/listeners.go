package environment

import (
	"cmp"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/protocol/config"
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

// boundToLoopback warns of listeners for clients that only the container itself
// reaches: the engine forwards a published port to the container's address, at which
// they do not listen. It is said under the name by which listeners was set.
func boundToLoopback(name string, settings map[string]string) []string {
	listeners := config.SplitList(settings["listeners"])
	unreached := unreachedListeners(listeners, settings)
	if len(unreached) == 0 {
		return nil
	}
	mended := slices.Clone(listeners)
	for i, l := range mended {
		if slices.Contains(unreached, l) {
			mended[i] = hostPart.ReplaceAllString(l, "://:")
		}
	}
	return []string{strings.Join(unreached, ",") + " is bound to loopback: no published port and no other container reaches it, " +
		"unless the container has its host's network; to be reached, set " + name + "=" + strings.Join(mended, ",")}
}

// unreachedListeners are those for clients that are bound to loopback. The one that
// brokers use among themselves may be so on purpose, as in confluent-local's image, if
// there is another.
func unreachedListeners(listeners []string, settings map[string]string) []string {
	controllers := config.SplitList(strings.ToUpper(cmp.Or(settings["controller.listener.names"], "CONTROLLER")))
	betweenBrokers := cmp.Or(settings["inter.broker.listener.name"], "PLAINTEXT")
	var unreached []string
	clients := 0
	for _, l := range listeners {
		name, _, _ := strings.Cut(l, "://")
		if l == "" || slices.Contains(controllers, strings.ToUpper(name)) {
			continue
		}
		clients++
		if host := hostPart.FindStringSubmatch(l); host != nil && isLoopback(host[1]) {
			unreached = append(unreached, l)
		}
	}
	if clients == 1 {
		return unreached
	}
	return slices.DeleteFunc(unreached, func(l string) bool {
		name, _, _ := strings.Cut(l, "://")
		return strings.EqualFold(name, betweenBrokers)
	})
}

// listenersName is the name under which a Source sets listeners: a variable's, or the
// setting's own in the mounted file.
func (src Source) listenersName(env map[string]string) string {
	for _, name := range []string{bitnamiPrefix + "LISTENERS", prefix + "LISTENERS"} {
		if _, ok := env[name]; ok && !src.FileAlone {
			return name
		}
	}
	return "listeners"
}

func isLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
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
