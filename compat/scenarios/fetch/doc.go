// Package fetch has the scenarios of the area fetch: what Fetch returns: records, limits,
// epochs and sessions.
package fetch

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	fetchScenarios,
	limitsScenarios,
	epochsScenarios,
	sessionScenarios,
	unusualScenarios,
)
