package broker

import (
	"strconv"

	"github.com/moldau-broker/moldau/coordinator/controller"
	"github.com/moldau-broker/moldau/protocol/config"
)

// layersOf are a broker's settings: its file's, and those that an image has.
func layersOf(static map[string]string, im *controller.Image, nodeID int32) config.Layers {
	return config.Layers{
		Broker:         im.Config(controller.KindBroker, strconv.Itoa(int(nodeID))),
		ClusterDefault: im.Config(controller.KindBroker, ""),
		Static:         static,
	}
}
