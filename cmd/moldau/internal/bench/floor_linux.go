package bench

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// datasync makes what was written to file durable, without its times.
func datasync(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = syscall.Fdatasync(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// sendMore sends b and tells the kernel that more follows, so that it goes out
// in one segment with the file's bytes.
func sendMore(conn *net.TCPConn, b []byte) error {
	const more = 0x8000 // MSG_MORE.
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for len(b) > 0 {
			n, err := syscall.SendmsgN(int(fd), b, nil, nil, more)
			if errors.Is(err, syscall.EAGAIN) {
				return false
			}
			if err != nil && !errors.Is(err, syscall.EINTR) {
				failed = err
				return true
			}
			b = b[max(n, 0):]
		}
		return true
	})
	if err != nil {
		return err
	}
	return failed
}

// sendFile sends a span of a file without copying it into this process.
func sendFile(conn *net.TCPConn, s floorSpan) error {
	to, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	from, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed, notReady error
	position, left := s.position, s.size
	err = from.Control(func(file uintptr) {
		notReady = to.Write(func(fd uintptr) bool {
			for left > 0 {
				n, err := syscall.Sendfile(int(fd), int(file), &position, int(left))
				switch {
				case errors.Is(err, syscall.EAGAIN):
					return false
				case errors.Is(err, syscall.EINTR):
				case err != nil:
					failed = err
					return true
				case n == 0:
					failed = io.ErrUnexpectedEOF
					return true
				default:
					left -= int64(n)
				}
			}
			return true
		})
	})
	return errors.Join(err, notReady, failed)
}
