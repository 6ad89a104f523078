//go:build race

package compat_test

// patience is how many times its limit a scenario may take. One that asks in every
// version makes some hundred requests, which took more than its 20 s under the race
// detector on a machine that had other work.
const patience = 6
