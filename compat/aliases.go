package compat

import (
	"context"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// What is said of scenarios by who only plays them.
type (
	// Scenario is one conversation with a broker and what must come of it.
	Scenario = scenario.Scenario
	// T is what a scenario is handed.
	T = scenario.T
	// Version is one version of an API, and what the scenarios saw of it.
	Version = scenario.Version
	// Conn is one plain connection that says exactly what it is told to.
	Conn = scenario.Conn
	// Exchange is a request and what came back.
	Exchange = scenario.Exchange
	// Pending is a request whose response has not been read.
	Pending = scenario.Pending
)

// Limits of scenarios that say nothing of it.
const (
	DefaultLimit = scenario.DefaultLimit
	RestartLimit = scenario.RestartLimit
)

// ErrClosed says that the broker closed the connection.
var ErrClosed = scenario.ErrClosed

// Dial connects to a broker, as the client that it is told. The context's deadline is
// the connection's.
func Dial(ctx context.Context, addr, clientID string) (*Conn, error) {
	return scenario.Dial(ctx, addr, clientID)
}

// Readable prints a request or response as a person would write it.
func Readable(m any) string { return scenario.Readable(m) }

// ValidRelease says whether a text is a release of Kafka, as 3.9 or 4.0.1.
func ValidRelease(release string) bool { return scenario.ValidRelease(release) }
