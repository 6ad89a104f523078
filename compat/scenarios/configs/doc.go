// Package configs has the scenarios of the area configs: the settings of topics, brokers
// and groups: how they are told, changed, and take effect.
package configs

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	describeScenarios,
	alterScenarios,
	incrementalScenarios,
	effectScenarios,
)
