// Package lives has no code of its own. Its tests play scenarios that only a broker of
// ours in a bubble can be put through: lives with kills and power cuts, hours that pass,
// and settings that are not the usual. With MOLDAU_COMPAT those about settings are played
// against the broker there.
package lives
