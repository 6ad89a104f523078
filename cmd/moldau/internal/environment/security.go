package environment

import (
	"fmt"
	"strings"
)

// A SecurityError says that a variable asks for authentication or encryption, which
// this release does not have. Serving without would be open to all.
type SecurityError struct{ Variable, Asks string }

func (e *SecurityError) Error() string {
	return fmt.Sprintf("%s asks for %s, which this release does not have, and without it everyone would be let in: "+
		"take the variable out, and let the listeners be PLAINTEXT", e.Variable, e.Asks)
}

// credentials are bitnami's variables that ask for users or certificates.
// Secured listeners are refused by the broker, whoever asks for them.
var credentials = []struct{ name, asks string }{
	{"KAFKA_CLIENT_USERS", "users with passwords (SASL)"},
	{"KAFKA_CLIENT_PASSWORDS", "users with passwords (SASL)"},
	{"KAFKA_INTER_BROKER_USER", "a user between brokers (SASL)"},
	{"KAFKA_INTER_BROKER_PASSWORD", "a user between brokers (SASL)"},
	{"KAFKA_CONTROLLER_USER", "a user of controllers (SASL)"},
	{"KAFKA_CONTROLLER_PASSWORD", "a user of controllers (SASL)"},
	{"KAFKA_TLS_TYPE", "encryption (TLS)"},
	{"KAFKA_TLS_CLIENT_AUTH", "encryption (TLS)"},
	{"KAFKA_CERTIFICATE_PASSWORD", "encryption (TLS)"},
}

// refuseSecurity returns a SecurityError if the variables ask for security in a
// way that no setting shows.
func refuseSecurity(env map[string]string) error {
	for _, c := range credentials {
		for _, name := range []string{c.name, c.name + "_FILE"} {
			if env[name] != "" {
				return &SecurityError{name, c.asks}
			}
		}
	}
	if strings.Contains(env["KAFKA_OPTS"], "java.security.auth.login.config") {
		return &SecurityError{"KAFKA_OPTS", "a JAAS file with users and passwords (SASL)"}
	}
	return nil
}
