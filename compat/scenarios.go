package compat

import (
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/compat/scenario"
	"github.com/moldau-broker/moldau/compat/scenarios/admin"
	"github.com/moldau-broker/moldau/compat/scenarios/clients"
	"github.com/moldau-broker/moldau/compat/scenarios/cluster"
	"github.com/moldau-broker/moldau/compat/scenarios/configs"
	"github.com/moldau-broker/moldau/compat/scenarios/fetch"
	"github.com/moldau-broker/moldau/compat/scenarios/groups"
	"github.com/moldau-broker/moldau/compat/scenarios/metadata"
	"github.com/moldau-broker/moldau/compat/scenarios/offsets"
	"github.com/moldau-broker/moldau/compat/scenarios/produce"
	"github.com/moldau-broker/moldau/compat/scenarios/protocol"
	"github.com/moldau-broker/moldau/compat/scenarios/restart"
	"github.com/moldau-broker/moldau/compat/scenarios/storage"
	"github.com/moldau-broker/moldau/compat/scenarios/topics"
	"github.com/moldau-broker/moldau/compat/scenarios/transactions"
)

// Scenarios are all scenarios, in the order of their IDs.
func Scenarios() []scenario.Scenario {
	all := slices.Concat(
		admin.All, clients.All, cluster.All, configs.All, fetch.All, groups.All,
		metadata.All, offsets.All, produce.All, protocol.All, restart.All, storage.All,
		topics.All, transactions.All,
	)
	slices.SortFunc(all, func(a, b scenario.Scenario) int { return strings.Compare(a.ID, b.ID) })
	return all
}
