// Package segment is one segment of a log on disk: the data file, which is a bare
// concatenation of record batches, and the sparse indexes that lead into it. The
// formats are Kafka's.
//
//	00000000000000000042.log        batches, the first at offset 42 or above
//	00000000000000000042.index      8 bytes an entry: offset-42 i32, position i32
//	00000000000000000042.timeindex  12 bytes an entry: timestamp i64, offset-42 i32
//	00000000000000000042.txnindex   34 bytes an entry; there only if a transaction aborted
//
// An offset index entry names the last offset of a batch and the position where that
// batch begins; at least index.interval.bytes of batches lie between two entries. A
// time index entry says that no record up to its offset is newer than its timestamp,
// and that the batch that ends at its offset holds such a record.
//
// Files are opened when they are needed and closed when the Pool wants their
// descriptor or nobody has used them for a while; so is the mapping from which the
// data file is served. Index entries of the segment being written are kept in the
// heap and written by the page, and when the segment is sealed: an append is one
// write. A crash loses them, and the scan after it makes them again.
//
// Begin with segment.go, then locate.go for the way from an offset to a position and
// recover.go for the scan after an unclean stop.
//
// A Segment is written by one goroutine at a time and read by any number. A reader
// passes the position up to which the segment is published to it; bytes above belong
// to the writer.
//
// Not here: which segment an offset is in, rolling, retention (logstore).
package segment
