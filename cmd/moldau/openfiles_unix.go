//go:build unix

package main

import (
	"log/slog"
	"syscall"
)

// raiseOpenFiles takes as many descriptors as the system lets this process have,
// so that nobody needs to set a limit for it.
func raiseOpenFiles(log *slog.Logger) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Cur == l.Max {
		return
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		log.Debug("the limit of open files was not raised", slog.Any("err", err))
	}
}
