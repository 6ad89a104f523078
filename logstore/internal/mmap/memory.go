package mmap

// Memory returns zero bytes from outside the Go heap, and what gives them back to the
// system, after which they must not be touched. It is for tables that are large and
// gone soon: on the heap they would let as much garbage again gather before it is
// collected. Where the system hands out none, they are from the heap all the same.
func Memory(sizeBytes int) (bytes []byte, free func()) {
	bytes, err := mapMemory(sizeBytes)
	if err != nil {
		return make([]byte, sizeBytes), func() {}
	}
	return bytes, func() { _ = unmapFile(bytes) } // Fails for what is not mapped only.
}
