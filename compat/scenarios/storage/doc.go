// Package storage has the scenarios of the area storage: what shows on the wire of how logs
// are kept. What needs a restart is in compat/scenarios/restart.
package storage
