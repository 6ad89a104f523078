// Package cluster has the scenarios of the area cluster: the cluster as admin tools see it.
package cluster

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	describeScenarios,
	partitionsScenarios,
	quorumScenarios,
	logdirsScenarios,
)
