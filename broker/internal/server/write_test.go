package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// fileSpan is a span of a file, with what of it a test wants to offer.
type fileSpan struct {
	file   *os.File
	off, n int
	mapped []byte // The whole file, or nil.
	fd     bool
	reads  *int
}

func (s fileSpan) Len() int { return s.n }

func (s fileSpan) Buffers(dst net.Buffers) (net.Buffers, bool) {
	if s.mapped == nil {
		return dst, false
	}
	half := s.off + s.n/2 // As if it lay in two segments.
	return append(dst, s.mapped[s.off:half], s.mapped[half:s.off+s.n]), true
}

func (s fileSpan) ReadAt(p []byte, off int64) (int, error) {
	*s.reads++
	return s.file.ReadAt(p, int64(s.off)+off)
}

func (s fileSpan) File() (uintptr, int64, bool) {
	return s.file.Fd(), int64(s.off), s.fd
}

// content makes a file whose every stretch is unlike any other.
func content(t *testing.T, n int) (*os.File, []byte) {
	t.Helper()
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8)*7 ^ byte(i>>16)*13
	}
	name := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, b
}

// spliced answers with bytes and spans in turn, and says what a client must get.
func spliced(f *os.File, b []byte, mapped, fd bool, reads *int) (parts []api.Part, want []byte) {
	span := func(off, n int) {
		s := fileSpan{file: f, off: off, n: n, fd: fd, reads: reads}
		if mapped {
			s.mapped = b
		}
		parts = append(parts, api.Part{Span: s})
		want = append(want, b[off:off+n]...)
	}
	text := func(s string) {
		parts = append(parts, api.Part{Bytes: []byte(s)})
		want = append(want, s...)
	}
	text("one")
	span(17, 100)
	text("two")
	span(5000, sendfileBytes-1)
	span(99, 3<<20)
	text("three")
	span(1<<20, sendfileBytes)
	return parts, want
}

func spliceHandler(parts []api.Part, size int) handlerFunc {
	return func(_ context.Context, call *api.Call) (api.Answer, error) {
		a := answerOf(call, make([]byte, size))
		a.Parts = append([]api.Part{{Bytes: a.Parts[0].Bytes[:8]}}, parts...)
		return a, nil
	}
}

// TestSplicedAnswersOverTCP sends files in each of the ways that there are, and
// wants the same bytes by all of them.
func TestSplicedAnswersOverTCP(t *testing.T) {
	f, b := content(t, 4<<20)
	for name, tc := range map[string]struct {
		mapped, fd bool
		reads      bool // Copied through memory.
	}{
		"mapped, and sendfile where large": {mapped: true, fd: true},
		"mapped":                           {mapped: true},
		"neither":                          {reads: true},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			parts, want := spliced(f, b, tc.mapped, tc.fd, &reads)
			s, err := New(Config{
				Listeners: []Listener{{Name: "A", Protocol: "PLAINTEXT", Bind: "127.0.0.1:0"}},
				Handler:   spliceHandler(parts, len(want)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start("A"); err != nil {
				t.Fatal(err)
			}
			defer s.Shutdown(t.Context())
			nc, err := net.Dial("tcp", s.Addr("A").String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			for range 2 { // The second uses the connection's list of buffers again.
				if _, err := nc.Write(request(kmsg.Fetch, 1, "")); err != nil {
					t.Fatal(err)
				}
				got, err := protocol.ReadFrame(nc, 100<<20)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got[4:], want) {
					t.Fatalf("got %d other bytes, want %d", len(got)-4, len(want))
				}
			}
			if (reads > 0) != tc.reads {
				t.Errorf("%d reads of the file by Go code", reads)
			}
		})
	}
}

// TestSplicedAnswersInMemory is the same for connections that are not sockets.
func TestSplicedAnswersInMemory(t *testing.T) {
	f, b := content(t, 4<<20)
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		parts, want := spliced(f, b, true, true, &reads)
		c := start(t, spliceHandler(parts, len(want)), nil).dial()
		c.send(request(kmsg.Fetch, 1, ""))
		c.want(1, string(want))
		if reads == 0 {
			t.Error("mapped memory was loaded by Go code")
		}
	})
}

// TestTruncatedFileClosesTheConnection: when a file has become shorter than a
// span of it, the answer cannot be completed, and its size is out already.
func TestTruncatedFileClosesTheConnection(t *testing.T) {
	for name, fd := range map[string]bool{"sendfile": true, "copied": false} {
		t.Run(name, func(t *testing.T) {
			f, _ := content(t, 1<<20)
			reads := 0
			span := fileSpan{file: f, off: 0, n: 2 << 20, fd: fd, reads: &reads}
			s, err := New(Config{
				Listeners: []Listener{{Name: "A", Protocol: "PLAINTEXT", Bind: "127.0.0.1:0"}},
				Handler:   spliceHandler([]api.Part{{Span: span}}, 2<<20),
			})
			if err != nil {
				t.Fatal(err)
			}
			s.Start("A")
			defer s.Shutdown(t.Context())
			nc, err := net.Dial("tcp", s.Addr("A").String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			nc.Write(request(kmsg.Fetch, 1, ""))
			if _, err := protocol.ReadFrame(nc, 100<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v", err)
			}
		})
	}
}
