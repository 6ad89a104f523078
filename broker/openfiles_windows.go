package broker

// maxOpenFiles is the store's default: Windows has no limit to keep below.
func maxOpenFiles() int { return 0 }
