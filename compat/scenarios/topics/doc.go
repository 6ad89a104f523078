// Package topics has the scenarios of the area topics: how topics come to be, change and
// go.
package topics

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	createScenarios,
	refuseScenarios,
	deleteScenarios,
	partitionsScenarios,
	recordsScenarios,
)
