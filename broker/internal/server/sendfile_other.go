//go:build !linux

package server

// canSendfile says that conn.sendfile works on this system.
const canSendfile = false

func (c *conn) sendfile(uintptr, int64, int) error {
	panic("BUG: server: sendfile on a system without it")
}

func (c *conn) writeMore() error { return c.writev() }
