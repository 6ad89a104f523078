// Package produce has the scenarios of the area produce: what Produce takes, what it
// refuses, and what it remembers of producers.
package produce

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	produceScenarios,
	refuseScenarios,
	malformedScenarios,
	idempotentScenarios,
	answersScenarios,
)
