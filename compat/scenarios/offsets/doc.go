// Package offsets has the scenarios of the area offsets: how offsets are looked up:
// ListOffsets and OffsetForLeaderEpoch.
package offsets

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	listScenarios,
	epochsScenarios,
)
