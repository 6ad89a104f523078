// Package environment reads the environment variables of Kafka's container
// images as broker settings, so that an image of ours can stand where one of
// apache/kafka, confluentinc/cp-kafka, confluentinc/confluent-local, bitnami/kafka
// or wurstmeister/kafka stood.
//
// Read is pure: the variables, the mounted file and the mount points are handed
// to it. Begin there; names.go has the rules by which a variable's name becomes
// a setting's, and mounted.go looks at the container.
//
// Not here: what the settings mean and whether a value is possible (package
// broker), and Redpanda's command line.
package environment

import (
	"maps"
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/broker"
)

// Source is what a container was given.
type Source struct {
	// Environ holds the variables as os.Environ returns them; of two of one name
	// the later one counts.
	Environ []string
	// File holds the settings of a mounted server.properties; nil if there is none.
	File map[string]string
	// FileAlone says that the file stands where bitnami's images take it as it is,
	// and turn the variables off.
	FileAlone bool
	// Mounts are the directories on which something is mounted.
	Mounts []string
}

// Start is what a Source asks for.
type Start struct {
	// Settings are broker settings by Kafka's names.
	Settings map[string]string
	// ClusterID is the id to format an empty directory with; empty for a random one.
	ClusterID string
	// Topics are to be there before clients are served.
	Topics []broker.Topic
	// LogLevel is the level of the log, in slog's words; empty if nobody chose one.
	LogLevel string
	// Warnings say, a sentence each, what has no effect.
	Warnings []string
}

// Read says what a Source asks for. Settings merge as in apache/kafka's image: the
// mounted file, or what the image packs, then the variables; the packaged settings
// count only while neither file nor variable sets anything. An error is about
// what cannot be had: it names the variable and the mend.
func Read(src Source) (Start, error) {
	env := variables(src.Environ)
	if err := refuseSecurity(env); err != nil {
		return Start{}, err
	}
	topics, err := parseTopics(env["KAFKA_CREATE_TOPICS"], env["KAFKA_CREATE_TOPICS_SEPARATOR"])
	if err != nil {
		return Start{}, err
	}
	start := Start{ClusterID: clusterID(env), Topics: topics}
	start.LogLevel, start.Warnings = logLevel(env["KAFKA_LOG4J_ROOT_LOGLEVEL"])

	var named map[string]string
	if !src.FileAlone {
		var warnings []string
		named, warnings = settings(env)
		start.Warnings = append(start.Warnings, warnings...)
	}
	switch {
	case src.File != nil:
		start.Settings = maps.Clone(src.File)
	case len(named) == 0:
		start.Settings = packaged()
	default:
		start.Settings = map[string]string{}
	}
	maps.Copy(start.Settings, named)
	addListeners(start.Settings)
	start.Warnings = append(start.Warnings, boundToLoopback(src.listenersName(env), start.Settings)...)
	if start.Settings["log.dirs"] == "" && start.Settings["log.dir"] == "" {
		start.Settings["log.dirs"] = dataDir(src.Mounts)
	}
	return start, nil
}

// packaged are the settings of a container that was given none. They are those
// of apache/kafka's image in which one node differs from Kafka's defaults, but
// for advertised.listeners: clients are told the address that they used.
func packaged() map[string]string {
	return map[string]string{
		"listeners":                                        "PLAINTEXT://:9092",
		"num.partitions":                                   "1",
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
	}
}

// variables splits NAME=VALUE.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	return env
}

// settings turns the variables that name settings into them, bitnami's over the
// others as there.
func settings(env map[string]string) (map[string]string, []string) {
	out := map[string]string{}
	var warnings, links []string
	names := slices.Sorted(maps.Keys(env))
	for _, name := range names {
		switch {
		case !strings.HasPrefix(name, prefix), strings.HasPrefix(name, bitnamiPrefix), ignored(name):
		case isServiceLink(name, env[name]):
			links = append(links, name)
		default:
			if key := settingName(name); key != "" {
				out[key] = env[name]
			}
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, bitnamiPrefix) && !ignored(name) {
			out[bitnamiName(name)] = env[name]
		}
	}
	if len(links) > 0 {
		warnings = append(warnings, "Kubernetes sets "+strings.Join(links, ", ")+
			" for a service called kafka; they are no settings and are passed over (enableServiceLinks: false in the pod takes them out)")
	}
	return out, warnings
}

// clusterID finds the id of the cluster under the names that it has.
func clusterID(env map[string]string) string {
	for _, name := range clusterIDs {
		if id := strings.TrimSpace(env[name]); id != "" {
			return id
		}
	}
	return ""
}

// logLevel turns log4j's level into slog's.
func logLevel(level string) (string, []string) {
	switch strings.ToUpper(strings.TrimSpace(level)) {
	case "":
		return "", nil
	case "TRACE", "DEBUG", "ALL":
		return "debug", nil
	case "INFO":
		return "info", nil
	case "WARN":
		return "warn", nil
	case "ERROR", "FATAL", "OFF":
		return "error", nil
	}
	return "", []string{"KAFKA_LOG4J_ROOT_LOGLEVEL=" + level + " is none of TRACE, DEBUG, INFO, WARN, ERROR, FATAL and OFF; the level is INFO"}
}
