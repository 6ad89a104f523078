//go:build !linux

package bench

import (
	"io"
	"net"
	"os"
)

// The probe is a floor on Linux only; elsewhere it works, by other means.

func datasync(file *os.File) error { return file.Sync() }

func sendMore(conn *net.TCPConn, b []byte) error {
	_, err := conn.Write(b)
	return err
}

func sendFile(conn *net.TCPConn, s floorSpan) error {
	_, err := io.Copy(conn, io.NewSectionReader(s.file, s.position, s.size))
	return err
}
