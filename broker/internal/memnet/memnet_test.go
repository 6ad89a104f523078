package memnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connect makes a listener and a connection to it.
func connect(t *testing.T) (client, server net.Conn) {
	t.Helper()
	n := New()
	l, err := n.Listen("tcp", "broker:9092")
	if err != nil {
		t.Fatal(err)
	}
	client, err = n.Dial(t.Context(), "tcp", "broker:9092")
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close(); l.Close() })
	return client, server
}

func TestBytesArriveInOrderAcrossTheBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		sent := make([]byte, 5*bufferBytes+17)
		for i := range sent {
			sent[i] = byte(i * 31)
		}
		go func() {
			if n, err := client.Write(sent); n != len(sent) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			client.Close()
		}()
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

func TestWriterWaitsForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		done := false
		go func() {
			client.Write(make([]byte, bufferBytes+1))
			done = true
		}()
		synctest.Wait()
		if done {
			t.Fatal("wrote more than the buffer holds")
		}
		io.ReadFull(server, make([]byte, 1))
		synctest.Wait()
		if !done {
			t.Fatal("still waits, though there is room")
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		start := time.Now()
		server.SetReadDeadline(start.Add(time.Second))
		_, err := server.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
			t.Errorf("%v is no timeout", err)
		}

		client.SetWriteDeadline(time.Now().Add(2 * time.Second))
		n, err := client.Write(make([]byte, 2*bufferBytes))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n != bufferBytes || time.Since(start) != 3*time.Second {
			t.Errorf("wrote %d: %v after %v", n, err, time.Since(start))
		}

		// A deadline set while a call waits ends it, and lifting it revives the connection.
		server.SetReadDeadline(time.Time{})
		io.ReadFull(server, make([]byte, bufferBytes))
		go func() {
			time.Sleep(time.Second)
			server.SetReadDeadline(time.Unix(1, 0))
		}()
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a waiting read: %v", err)
		}
		server.SetReadDeadline(time.Time{})
		client.SetWriteDeadline(time.Time{})
		go client.Write([]byte("x"))
		if _, err := server.Read(make([]byte, 1)); err != nil {
			t.Errorf("after the deadline was lifted: %v", err)
		}
	})
}

func TestClose(t *testing.T) {
	for name, tc := range map[string]struct {
		act  func(client, server *Conn)
		got  string
		want error
	}{
		"written bytes arrive first": {func(c, _ *Conn) { c.Write([]byte("last")); c.Close() }, "last", nil},
		"half close":                 {func(c, _ *Conn) { c.Write([]byte("last")); c.CloseWrite() }, "last", nil},
		"unread bytes reset": {func(c, s *Conn) {
			s.Write([]byte("unread"))
			c.Close()
		}, "", syscall.ECONNRESET},
		"own close": {func(_, s *Conn) { s.Close() }, "", net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := connect(t)
			tc.act(client.(*Conn), server.(*Conn))
			got, err := io.ReadAll(server)
			if string(got) != tc.got || !errors.Is(err, tc.want) {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
	t.Run("write to a closed peer", func(t *testing.T) {
		client, server := connect(t)
		server.Close()
		if _, err := client.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("error %v", err)
		}
	})
}

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		l, err := n.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := l.Addr().(*net.TCPAddr); !ok || a.Port == 0 {
			t.Errorf("address %v", l.Addr())
		}
		if _, err := n.Listen("tcp", l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("second listener: %v", err)
		}
		if _, err := n.Dial(t.Context(), "tcp", "nowhere:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial to nobody: %v", err)
		}
		c, err := n.DialFrom(t.Context(), "10.0.0.7", "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil || s.RemoteAddr().(*net.TCPAddr).IP.String() != "10.0.0.7" || c.LocalAddr().String() != s.RemoteAddr().String() {
			t.Errorf("accepted %v from %v, %v", s.RemoteAddr(), c.LocalAddr(), err)
		}

		go func() {
			time.Sleep(time.Second)
			l.Close()
		}()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := n.Dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial to a closed listener: %v", err)
		}
	})
}

func TestDialWaitsForTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New()
		l, _ := n.Listen("tcp", "broker:1")
		for range backlog {
			if _, err := n.Dial(t.Context(), "tcp", "broker:1"); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.Dial(ctx, "tcp", "broker:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial past the backlog: %v", err)
		}
		l.Close()
	})
}

func TestCut(t *testing.T) {
	n := New()
	l, _ := n.Listen("tcp", "broker:1")
	c, _ := n.Dial(t.Context(), "tcp", "broker:1")
	s, _ := l.Accept()
	n.Cut("elsewhere:1")
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatalf("another's cut: %v", err)
	}
	n.Cut("broker:1")
	for _, end := range []net.Conn{c, s} {
		if _, err := end.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
	}
	if _, err := n.Dial(t.Context(), "tcp", "broker:1"); err != nil {
		t.Errorf("dial after the cut: %v", err)
	}
}
