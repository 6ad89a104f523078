// Package protocol is the root of everything that knows Kafka's bytes and
// nothing of brokers.
//
//   - batch: record batches (magic 2) checked, stamped, walked and built in
//     place. Begin there to see what a broker does to what a client sends.
//   - codec: the four compressions of a batch, streaming and capped.
//   - metadata: the records of the cluster metadata log.
//   - config: the settings of topics, brokers and groups.
//
// Requests and responses themselves are not here: their Go types come from
// franz-go's kmsg. Nor are errors' numbers: packages return typed errors, and
// the broker's API layer is the one place that turns them into Kafka's codes.
package protocol
