package broker

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

var (
	control = flag.String("control", "", "HOST:PORT of a broker that scripts are played against instead of our own")
	update  = flag.Bool("update", false, "rewrite the output in scripts instead of comparing with it")
)

// TestTransactionScripts plays testdata/transactions.script: what raw requests of
// every version are answered. The golden text was written by Apache Kafka 4.2.2
// (-control HOST:PORT -update).
func TestTransactionScripts(t *testing.T) {
	const path = "testdata/transactions.script"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if *control != "" {
		s := newTxnScript(t, func() (net.Conn, error) { return net.Dial("tcp", *control) })
		s.prefix = fmt.Sprintf("%x-", time.Now().UnixNano())
		got = s.play(string(want))
	} else {
		synctest.Test(t, func(t *testing.T) {
			w := start(t, vfs.NewMem(), txnSettings)
			s := newTxnScript(t, func() (net.Conn, error) { return w.net.Dial(t.Context(), "tcp", memAddr) })
			got = s.play(string(want))
			w.end()
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got; -update rewrites)\n%s", diff)
	}
}

// txnScript is a script at work: a connection, and what commands have named.
type txnScript struct {
	t         *testing.T
	conn      net.Conn
	prefix    string // Of all names, so that they are new to the broker.
	producers map[string]producerOf
	ids       map[int64]string // How producer ids are shown: by who was given them first.
	sent      int32

	words []string // Of the command at hand.
	named map[string]string
	out   strings.Builder
}

type producerOf struct {
	id    int64
	epoch int16
}

func newTxnScript(t *testing.T, dial func() (net.Conn, error)) *txnScript {
	t.Helper()
	conn, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &txnScript{t: t, conn: conn, producers: map[string]producerOf{"none": {-1, -1}}, ids: map[int64]string{-1: "-1"}}
}

// play runs the commands, those lines that begin in the first column, and returns
// the script with its output renewed.
func (s *txnScript) play(text string) string {
	defer s.conn.Close()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, " ") {
			continue
		}
		fmt.Fprintln(&s.out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		run, ok := txnCommands[word]
		if !ok {
			s.t.Fatalf("no command %q", word)
		}
		s.words, s.named = nil, map[string]string{}
		for _, w := range strings.Fields(rest) {
			if name, value, ok := strings.Cut(w, "="); ok {
				s.named[name] = value
			} else {
				s.words = append(s.words, w)
			}
		}
		run(s)
	}
	return s.out.String()
}

func (s *txnScript) say(format string, args ...any) { fmt.Fprintf(&s.out, "  "+format+"\n", args...) }

// next is the next word; - stands for an empty one.
func (s *txnScript) next() string {
	if len(s.words) == 0 {
		s.t.Fatal("a command has too few words")
	}
	w := s.words[0]
	s.words = s.words[1:]
	return strings.TrimPrefix(w, "-")
}

// name is the next word as the name of something of ours; internal topics are not.
func (s *txnScript) name() string { return s.ours(s.next()) }

func (s *txnScript) ours(w string) string {
	if w == "" || strings.HasPrefix(w, "__") {
		return w
	}
	return s.prefix + w
}

func (s *txnScript) number(name string, or int64) int64 {
	v, ok := s.named[name]
	if !ok {
		return or
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *txnScript) version() int16 { return int16(s.number("v", 0)) }

// producer is a producer by its name: p, p+1 with another epoch, p#7 with another id.
func (s *txnScript) producer(w string) producerOf {
	i := strings.IndexAny(w, "+-#")
	if i < 0 {
		i = len(w)
	}
	p, ok := s.producers[w[:i]]
	if !ok {
		s.t.Fatalf("no producer %q", w)
	}
	if i < len(w) {
		n, err := strconv.Atoi(strings.TrimPrefix(w[i:], "#"))
		if err != nil {
			s.t.Fatal(err)
		}
		if w[i] == '#' {
			p.id += int64(n)
		} else {
			p.epoch += int16(n)
		}
	}
	return p
}

// told names a producer, and shows it.
func (s *txnScript) told(id int64, epoch int16) string {
	if as, ok := s.named["as"]; ok && id >= 0 {
		s.producers[as] = producerOf{id, epoch}
		if s.ids[id] == "" {
			s.ids[id] = as
		}
	}
	if s.ids[id] == "" {
		return fmt.Sprintf("some/%d", epoch)
	}
	return fmt.Sprintf("%s/%d", s.ids[id], epoch)
}

func codeName(c int16) string {
	if c == 0 {
		return "ok"
	}
	return kerr.TypedErrorForCode(c).Message
}

// roundTrip sends a request as it is and returns the answer.
func (s *txnScript) roundTrip(req kmsg.Request) kmsg.Response {
	s.t.Helper()
	s.sent++
	if _, err := s.conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("script")).AppendRequest(nil, req, s.sent)); err != nil {
		s.t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(s.conn, size[:]); err != nil {
		s.t.Fatalf("%T: %v", req, err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(s.conn, body); err != nil {
		s.t.Fatal(err)
	}
	resp := req.ResponseKind()
	body = body[4:]
	if resp.IsFlexible() {
		body = body[1:] // No tags in the header.
	}
	if err := resp.ReadFrom(body); err != nil {
		s.t.Fatalf("%T: %v", resp, err)
	}
	return resp
}

// again sends a request until the answer is not one that asks for patience.
func (s *txnScript) again(req kmsg.Request, code func(kmsg.Response) int16) kmsg.Response {
	for {
		resp := s.roundTrip(req)
		switch code(resp) {
		case kerr.ConcurrentTransactions.Code, kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
			time.Sleep(20 * time.Millisecond)
			continue
		}
		return resp
	}
}

// oneBatch is a batch of one record.
func oneBatch(p producerOf, seq int32, transactional bool) []byte {
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = p.id, p.epoch, seq, transactional
	b := batch.NewBuilder(m)
	b.Append(time.Now().UnixMilli(), []byte("k"), []byte("v"))
	return b.Build()
}
