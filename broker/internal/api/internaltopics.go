package api

// Kafka's internal topics. Clients may read them, and produce to them only as
// Kafka's own admin client.
const (
	consumerOffsets  = "__consumer_offsets"
	transactionState = "__transaction_state"
	shareGroupState  = "__share_group_state"
)

// isInternal reports whether a topic is one of Kafka's own.
func isInternal(topic string) bool {
	return topic == consumerOffsets || topic == transactionState || topic == shareGroupState
}
