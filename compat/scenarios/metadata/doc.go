// Package metadata has the scenarios of the area metadata: what Metadata tells of topics
// and brokers.
package metadata

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	metadataScenarios,
	idsScenarios,
	operationsScenarios,
)
