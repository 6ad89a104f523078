package server

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/protocol"
)

// TestUnreadAnswers: clients that do not read their answers keep a bounded amount of
// memory, and nobody waits for it. Beyond, the one is cut that has not moved for the
// longest time, which is not the one that asked first but reads slowly.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := make([]byte, 400_000)
		r := start(t, func(_ context.Context, call *api.Call) (api.Answer, error) {
			return answerOf(call, body), nil
		}, func(c *Config) { c.QueuedBytes = 4 << 20 }) // A MiB of answers: two.
		slow := r.dial()
		slow.send(request(kmsg.Metadata, 1, ""))
		frame := make([]byte, 8+len(body))
		got := 0
		read := func() {
			t.Helper()
			time.Sleep(time.Second)
			n, err := slow.Read(frame[got:min(got+90_000, len(frame))])
			if err != nil {
				t.Fatalf("the slow one, after %d bytes: %v", got, err)
			}
			got += n
			synctest.Wait()
		}
		var deaf []*client
		for range 4 { // Each of them but the last is cut for the sake of the next.
			read()
			c := r.dial()
			c.send(request(kmsg.Metadata, 1, ""), request(kmsg.Metadata, 2, ""))
			deaf = append(deaf, c)
			synctest.Wait()
			if n := r.unread.used(); n > 1<<20 {
				t.Errorf("answers take %d bytes", n)
			}
		}
		if n := r.Connections(); n != 2 {
			t.Errorf("%d connections", n)
		}
		read()
		began := time.Now()
		quick := r.dial()
		quick.send(request(kmsg.Metadata, 1, ""))
		quick.want(1, string(body))
		if took := time.Since(began); took > 0 {
			t.Errorf("a client that reads waited %v", took)
		}
		for got < len(frame) {
			read()
		}
		for _, c := range deaf {
			c.Close()
		}
		synctest.Wait()
		if n := r.unread.used(); n != 0 {
			t.Errorf("%d bytes are lost", n)
		}
		if log := r.log.String(); strings.Count(log, "did not read its answer") != 4 {
			t.Errorf("want four lines about it:\n%s", log)
		}
	})
}

// TestAnswersThatComeAtOnce: clients that have had no time to read are not cut until
// their answers are twice what there is.
func TestAnswersThatComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := make([]byte, 400_000)
		r := start(t, func(_ context.Context, call *api.Call) (api.Answer, error) {
			return answerOf(call, body), nil
		}, func(c *Config) { c.QueuedBytes = 4 << 20 })
		var clients []*client
		for n, want := range []int{1, 2, 3, 4, 5, 5} {
			c := r.dial()
			c.send(request(kmsg.Metadata, 1, ""))
			clients = append(clients, c)
			synctest.Wait()
			if got := r.Connections(); got != want {
				t.Errorf("%d connections of %d", got, n+1)
			}
		}
		clients[5].want(1, string(body)) // The last is never the one.
	})
}

// TestLargeAnswerOverTCP: an answer that is written in pieces arrives whole.
func TestLargeAnswerOverTCP(t *testing.T) {
	_, b := content(t, 1<<20)
	s, err := New(Config{
		Listeners: []Listener{{Name: "A", Protocol: "PLAINTEXT", Bind: "127.0.0.1:0"}},
		Handler: handlerFunc(func(_ context.Context, call *api.Call) (api.Answer, error) {
			return answerOf(call, b), nil
		}),
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
	for range 2 {
		if _, err := nc.Write(request(kmsg.Metadata, 1, "")); err != nil {
			t.Fatal(err)
		}
		if got, err := protocol.ReadFrame(nc, 100<<20); err != nil || !bytes.Equal(got[4:], b) {
			t.Fatalf("got %d other bytes, %v", len(got), err)
		}
	}
}
