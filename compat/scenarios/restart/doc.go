// Package restart has the scenarios of the area restart: what a broker knows after it was
// stopped and started, whichever way it was stopped.
package restart

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	stateScenarios,
	groupsScenarios,
	clientsScenarios,
)
