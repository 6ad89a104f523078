package server

import (
	"cmp"
	"errors"
	"io"
	"net"
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
	for n > 0 {
		sent, err := c.onSocket(func(socket int) (int, error) {
			return syscall.Sendfile(socket, int(fd), &off, min(n, sendfileStep))
		})
		if err != nil {
			return err
		}
		if sent == 0 {
			return io.ErrUnexpectedEOF // The file ends before the span does.
		}
		n -= sent
	}
	return nil
}

// msgMore is MSG_MORE, which package syscall lacks.
const msgMore = 0x8000

// writeMore writes all of c.iov and leaves it empty, and tells the kernel that
// a file's bytes follow: what stands before them would else leave as a packet of
// its own, and wake the client for nothing.
func (c *conn) writeMore() error {
	iov := c.iov
	defer c.emptied(iov)
	return writeBefore(iov, func(iov net.Buffers) error {
		c.iov = iov
		return c.writev()
	}, func(p []byte, flags int) (int, error) {
		return c.onSocket(func(socket int) (int, error) {
			return syscall.SendmsgN(socket, p, nil, nil, flags)
		})
	})
}

// writeBefore writes buffers that a file's bytes follow with two calls, however many
// they are: only the last has to wait for what comes behind it.
func writeBefore(iov net.Buffers, writev func(net.Buffers) error, sendmsg func(p []byte, flags int) (int, error)) error {
	if len(iov) == 0 {
		return nil
	}
	last := iov[len(iov)-1]
	if len(iov) > 1 {
		if err := writev(iov[:len(iov)-1]); err != nil {
			return err
		}
	}
	for len(last) > 0 {
		sent, err := sendmsg(last, msgMore)
		if err != nil {
			return err
		}
		last = last[sent:]
	}
	return nil
}

// onSocket makes a system call that sends, once the socket takes bytes. Each
// has the time that a peer may take for its next step.
func (c *conn) onSocket(send func(socket int) (int, error)) (sent int, err error) {
	raw, err := c.tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	c.extendWrite()
	var sendErr error
	err = raw.Write(func(socket uintptr) bool {
		for {
			sent, sendErr = send(int(socket))
			if !errors.Is(sendErr, syscall.EINTR) {
				return !errors.Is(sendErr, syscall.EAGAIN)
			}
		}
	})
	return sent, cmp.Or(err, sendErr)
}
