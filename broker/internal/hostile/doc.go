// Package hostile makes requests that no honest client sends: valid ones of any
// API and version, and then what can be made of them by somebody who knows where
// each length, count and field lies. It is for tests; the broker does not
// import it.
//
// A Filler makes a valid request. Locate finds where its fields lie on the wire,
// by changing one at a time and looking at what else comes out of the encoder, so
// there is no second description of Kafka's schemas here that could be wrong.
// Mutate damages a frame at these places, and Worst fills an array of it up to a
// frame's limit. Begin with fill.go, then locate.go.
package hostile
