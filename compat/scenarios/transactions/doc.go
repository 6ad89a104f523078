// Package transactions has the scenarios of the area transactions: transactions, by both
// versions of the protocol: that whose producers add partitions themselves (KIP-98), and
// that whose partitions are added by their leaders (KIP-890).
package transactions

import "slices"

// All are the scenarios of the area.
var All = slices.Concat(
	initScenarios,
	partitionsScenarios,
	offsetsScenarios,
	endScenarios,
	readersScenarios,
	describeScenarios,
)
