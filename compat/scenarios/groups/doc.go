// Package groups has the scenarios of the area groups: groups and the offsets that they
// commit.
package groups

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	coordinatorScenarios,
	joinScenarios,
	syncScenarios,
	membersScenarios,
	describeScenarios,
	deleteScenarios,
	commitScenarios,
	offsetsScenarios,
	consumerScenarios,
)
