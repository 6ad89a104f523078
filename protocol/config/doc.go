// Package config knows the settings that Kafka knows: the names, types,
// defaults, ranges and synonyms of broker, topic and group settings, and what
// Moldau does with each. DescribeConfigs, CreateTopics, AlterConfigs,
// server.properties and `moldau config` all read these tables, so that a
// setting is described once.
//
// Begin with def.go (what a definition is, how a value is parsed), then
// topic.go and broker.go (the tables), then resolve.go (which of several
// layers of settings wins). The package is pure: it reads no file and keeps no
// state.
//
// Not here: which broker applies a setting and when (broker), where dynamic
// settings are stored (coordinator/controller).
package config
