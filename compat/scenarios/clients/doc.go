// Package clients has the scenarios of the area clients: what users of whole clients see:
// what a client makes of many answers, its retries among them.
package clients

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	franzgoScenarios,
	franzgoGroupsScenarios,
	saramaScenarios,
)
