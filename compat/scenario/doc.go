// Package scenario is what a scenario is, and what it is handed.
//
// Begin with scenario.go, then t.go: a scenario gets a T, by which it connects, asks,
// judges what it is answered, and ends. Requests are raw and go over a plain connection
// (conn.go); record batches are built and read here (batches.go), by nothing that a broker
// under test could share. The other files make what scenarios of several areas need:
// topics, members of groups, transactors, settings.
//
// Play plays a scenario against a Target. What is made of many of them is the affair of
// package compat, and the scenarios themselves stand in compat/scenarios.
package scenario
