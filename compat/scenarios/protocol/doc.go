// Package protocol has the scenarios of the area protocol: what every request shares:
// ApiVersions, headers, frames, and what a broker does with bytes that are no request.
package protocol

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	apiversionsScenarios,
	requestsScenarios,
)
