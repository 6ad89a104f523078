package broker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moldau-broker/moldau/protocol/config"
)

// settings are a Config made sense of: checked, and with every default filled
// in.
type settings struct {
	nodeID    int32
	rack      string
	dir       string
	listeners []listener
	admin     string // HOST:PORT; empty for none.
	static    map[string]string
	values    config.Values
	warnings  []warning
}

// warning says why a setting that the user gave does nothing.
type warning struct{ Name, Reason string }

// A SettingError says which broker setting cannot be had, and what to do.
type SettingError struct {
	Name, Value string
	Mend        string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("setting %s = %q cannot be had: %s", e.Name, e.Value, e.Mend)
}

// defaults are the settings of a broker that nobody configured: a cluster of
// one node. A server.properties that says otherwise wins.
func defaults() map[string]string {
	return map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   "1",
		"controller.listener.names": "CONTROLLER",
		"listeners":                 "PLAINTEXT://localhost:9092",
	}
}

// resolve makes sense of a Config. It is pure: nothing is opened. It reports the
// first thing that is wrong.
func resolve(c Config) (*settings, error) {
	s := &settings{static: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		if err := s.take(name, c.Settings[name]); err != nil {
			return nil, err
		}
	}
	s.warnUnsecured()
	if id, ok := s.static["broker.id"]; ok && s.static["node.id"] == "" && id != "-1" {
		s.static["node.id"] = id
	}
	if c.Listen != "" {
		s.static["listeners"] = "PLAINTEXT://" + c.Listen
		delete(s.static, "advertised.listeners")
		delete(s.static, "listener.security.protocol.map")
	}
	for name, value := range defaults() {
		if _, ok := s.static[name]; !ok {
			s.static[name] = value
		}
	}
	s.values = config.Layers{Static: s.static}.BrokerValues()
	if err := s.node(c); err != nil {
		return nil, err
	}
	var err error
	if s.listeners, err = parseListeners(s.values); err != nil {
		return nil, err
	}
	return s, s.interBroker()
}

// take checks one setting that the user gave.
func (s *settings) take(name, value string) error {
	d, ok := config.Broker(name)
	switch {
	case ok && d.Class == config.Rejected && value != d.Default:
		return &SettingError{name, value, "this release does not have it; take the line out"}
	case ok:
		// Kafka takes advertised.listeners with a trailing comma.
		if d.Type == config.List {
			value = strings.Join(nonEmpty(config.SplitList(value)), ",")
		}
		normal, err := d.Normalize(value)
		if err != nil {
			return fmt.Errorf("broker setting: %w", err)
		}
		s.static[name] = normal
	case config.Removed(name):
		s.warnings = append(s.warnings, warning{name, "it was taken out of Kafka in 4.0"})
	case config.Plugin(name) != "":
		s.warnings = append(s.warnings, warning{name, "it is for " + config.Plugin(name) + ", which this release does not have"})
	default:
		s.warnings = append(s.warnings, warning{name, "it is not one of Kafka's"})
	}
	return nil
}

// warnUnsecured warns, once for all, of settings of TLS and SASL: listeners that
// would use them are refused, so they are there beside PLAINTEXT. Kafka says nothing
// of them; but who took the trouble may believe that they protect.
func (s *settings) warnUnsecured() {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.static)) {
		if d, ok := config.Broker(name); ok && config.Secures(name) && s.static[name] != d.Default {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		s.warnings = append(s.warnings, warning{
			strings.Join(names, ", "), "every listener is PLAINTEXT: there is no encryption (TLS) and no authentication (SASL)",
		})
	}
}

// node reads who this node is.
func (s *settings) node(c Config) error {
	s.nodeID = int32(s.values.Int("node.id"))
	s.rack = s.values("broker.rack")
	s.admin = s.values(config.AdminListener)

	roles := config.SplitList(s.values("process.roles"))
	if !slices.Contains(roles, "broker") || !slices.Contains(roles, "controller") {
		return &SettingError{
			"process.roles", s.values("process.roles"),
			"a node is broker and controller in one in this release; set broker,controller",
		}
	}
	if err := s.voters(); err != nil {
		return err
	}
	s.dir = c.Dir
	if s.dir == "" {
		dirs := config.SplitList(s.values("log.dirs"))
		if len(dirs) == 0 {
			dirs = config.SplitList(s.values("log.dir"))
		}
		if len(dirs) != 1 {
			return &SettingError{"log.dirs", strings.Join(dirs, ","), "this release keeps its data in one directory; name one"}
		}
		s.dir = dirs[0]
	}
	return nil
}

// voters refuses a quorum of several controllers.
func (s *settings) voters() error {
	voters := config.SplitList(s.values("controller.quorum.voters"))
	if len(voters) == 0 {
		return nil
	}
	mend := "this release is a cluster of one node; name this node alone, or nothing"
	id, _, ok := strings.Cut(voters[0], "@")
	if len(voters) > 1 || !ok {
		return &SettingError{"controller.quorum.voters", s.values("controller.quorum.voters"), mend}
	}
	if n, err := strconv.ParseInt(id, 10, 32); err != nil || int32(n) != s.nodeID {
		return &SettingError{
			"controller.quorum.voters", s.values("controller.quorum.voters"),
			fmt.Sprintf("its id is not this node's, %d", s.nodeID),
		}
	}
	return nil
}

// interBroker checks that the inter-broker listener is one that there is.
func (s *settings) interBroker() error {
	if p := s.values("security.inter.broker.protocol"); p != "PLAINTEXT" {
		return &SettingError{
			"security.inter.broker.protocol", p,
			"this release serves PLAINTEXT only; encryption and authentication come later",
		}
	}
	name := s.values("inter.broker.listener.name")
	if name == "" {
		return nil
	}
	for _, l := range s.listeners {
		if strings.EqualFold(l.Name, name) {
			return nil
		}
	}
	return &SettingError{"inter.broker.listener.name", name, "it is not in listeners"}
}
