package group

import (
	"encoding/binary"
	"slices"
)

// topicsHash sums up the topics that a group reads, as far as they matter to its
// assignment: ids, names, numbers of partitions and where their replicas are.
// Kafka's coordinator makes the same number (KIP-1101), so that a group which
// changes from one to the other need not be assigned anew.
func topicsHash(names []string, c Cluster) int64 {
	var all []byte
	for _, name := range names {
		if t, ok := c.Topic(name); ok {
			all = binary.LittleEndian.AppendUint64(all, topicHash(t))
		}
	}
	if len(all) == 0 {
		return 0
	}
	return int64(xxh3(all))
}

// topicHash is the hash of one topic.
func topicHash(t Topic) uint64 {
	b := []byte{0} // The version of the form.
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[8:]))
	b = appendJavaString(b, t.Name)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.Partitions))
	for n := range t.Partitions {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		if t.Racks == nil {
			continue
		}
		for _, rack := range slices.Sorted(slices.Values(t.Racks(n))) {
			b = binary.LittleEndian.AppendUint32(b, uint32(utf16Len(rack)))
			b = appendJavaString(b, rack)
		}
	}
	return xxh3(b)
}
