//go:build unix

package broker

import "syscall"

// maxOpenFiles is how many files of logs may stay open unused: half of what the
// process may have, the rest being for connections. The runtime has raised the
// limit to what the system allows already.
func maxOpenFiles() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0 // The store's default.
	}
	return int(max(min(uint64(l.Cur), 1<<20)/2, 16))
}
