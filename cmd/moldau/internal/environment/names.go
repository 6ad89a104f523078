package environment

import (
	"regexp"
	"slices"
	"strings"
)

const (
	prefix        = "KAFKA_"
	bitnamiPrefix = "KAFKA_CFG_"
)

// settingName is the setting that a variable of apache/kafka's and confluentinc's
// images names: KAFKA_ goes, wherever it stands; then one underscore is a dot, two
// are an underscore, three a dash.
func settingName(variable string) string {
	name := strings.ToLower(strings.ReplaceAll(variable, prefix, ""))
	name = strings.ReplaceAll(name, "_", ".")
	name = strings.ReplaceAll(name, "...", "-")
	return strings.ReplaceAll(name, "..", "_")
}

// bitnamiName is the setting that a KAFKA_CFG_ variable of bitnami's images names:
// every underscore is a dot, but for those in the names of two protocols.
func bitnamiName(variable string) string {
	name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, bitnamiPrefix), "_", "."))
	name = strings.ReplaceAll(name, "sasl.ssl", "sasl_ssl")
	return strings.ReplaceAll(name, "sasl.plaintext", "sasl_plaintext")
}

// clusterIDs are the names of the cluster's id, strongest first: that of apache and
// confluentinc, then bitnami's.
var clusterIDs = []string{"CLUSTER_ID", "KAFKA_KRAFT_CLUSTER_ID", "KAFKA_CLUSTER_ID"}

// noSettings are variables of the images that are not about settings: they
// steer a JVM and its logging, which there are not here, or the images' own
// scripts.
var noSettings = []string{
	// apache and confluentinc.
	"KAFKA_VERSION", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "KAFKA_JMX_OPTS",
	"KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL", "KAFKA_LOG4J_LOGGERS",
	"KAFKA_TOOLS_LOG4J_LOGLEVEL", "KAFKA_JMX_HOSTNAME", "KAFKA_JMX_PORT",
	// bitnami.
	"KAFKA_ENABLE_KRAFT", "KAFKA_KRAFT_CLUSTER_ID", "KAFKA_CLUSTER_ID", "KAFKA_INITIAL_CONTROLLERS",
	"KAFKA_SKIP_KRAFT_STORAGE_INIT", "KAFKA_EXTRA_FLAGS", "KAFKA_NODE_ID_COMMAND", "KAFKA_BASE_DIR",
	"KAFKA_HOME", "KAFKA_VOLUME_DIR", "KAFKA_CONF_FILE",
	// wurstmeister.
	"KAFKA_CREATE_TOPICS", "KAFKA_CREATE_TOPICS_SEPARATOR",
}

// ignored says that a variable names no setting. KAFKA_REST_ configures the REST
// proxy that confluent-local has beside the broker.
func ignored(variable string) bool {
	return slices.Contains(noSettings, variable) || strings.HasPrefix(variable, "KAFKA_REST_")
}

// serviceLink fits what Kubernetes sets in every pod beside a service called kafka,
// or kafka-something.
var serviceLink = regexp.MustCompile(`^KAFKA_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_[0-9]+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$`)

// isServiceLink says that a variable comes from Kubernetes. KAFKA_PORT and
// KAFKA_ADVERTISED_PORT were settings once: their values tell.
func isServiceLink(name, value string) bool {
	if !serviceLink.MatchString(name) {
		return false
	}
	return strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_TCP") || strings.Contains(name, "_UDP") ||
		strings.Contains(value, "://")
}
