package server

import (
	"io"
	"syscall"
)

// canSendfile says that conn.sendfile works on this system.
const canSendfile = true

// sendfileStep is how much of a span one system call may send, so that the
// deadline of a response follows its progress.
const sendfileStep = 1 << 20

// sendfile sends n bytes of the file from off on. The kernel passes the pages
// of the file on; they are neither copied nor mapped.
func (c *conn) sendfile(fd uintptr, off int64, n int) error {
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return err
	}
	for n > 0 {
		sent := 0
		c.extendWrite()
		var sendErr error
		err := raw.Write(func(socket uintptr) bool {
			for {
				sent, sendErr = syscall.Sendfile(int(socket), int(fd), &off, min(n, sendfileStep))
				if sendErr != syscall.EINTR {
					return sendErr != syscall.EAGAIN
				}
			}
		})
		switch {
		case err != nil:
			return err
		case sendErr != nil:
			return sendErr
		case sent == 0:
			return io.ErrUnexpectedEOF // The file ends before the span does.
		}
		n -= sent
	}
	return nil
}
