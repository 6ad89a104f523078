// Package admin has the scenarios of the area admin: what only admin tools ask: elections,
// reassignments, resources that have settings.
package admin

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	electScenarios,
	reassignScenarios,
	resourcesScenarios,
	refusedScenarios,
)
