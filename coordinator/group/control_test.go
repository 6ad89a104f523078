//go:build control

package group

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// TestScriptsAgainstControl plays the scripts against a real broker and compares
// its replies with those that stand in them. It needs a broker on MOLDAU_CONTROL
// that is configured as newScript says (group.max.size=4,
// offset.metadata.max.bytes=10) and is run with -tags control: it takes the time
// that the scripts take.
func TestScriptsAgainstControl(t *testing.T) {
	addr := os.Getenv("MOLDAU_CONTROL")
	if addr == "" {
		t.Skip("SKIP control: MOLDAU_CONTROL names no broker")
	}
	c := &control{addr: addr}
	c.prepare(t)
	paths, _ := filepath.Glob("testdata/*.script")
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "consumer-") {
			continue // Their cluster is the script's own.
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".script"), func(t *testing.T) {
			t.Parallel()
			c.play(t, path)
		})
	}
}

type control struct{ addr string }

// pass lets real time pass: a broker of its own process is in no bubble, and what
// the scripts wait for is its clock.
func pass(d time.Duration) { <-time.After(d) }

// ask sends one request on a connection of its own.
func (c *control) ask(client string, req kmsg.Request) (kmsg.Response, error) {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))
	if _, err := conn.Write(f.AppendRequest(nil, req, 1)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	body = body[4:]
	if resp.IsFlexible() {
		body = body[1:] // No header tags.
	}
	return resp, resp.ReadFrom(body)
}

// prepare makes the topics of the scripts, and waits for the coordinator.
func (c *control) prepare(t *testing.T) {
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 5
	for _, topic := range []string{"t", "u"} {
		create.Topics = append(create.Topics, kmsg.CreateTopicsRequestTopic{Topic: topic, NumPartitions: 10, ReplicationFactor: 1})
	}
	if _, err := c.ask("prepare", create); err != nil {
		t.Fatal(err)
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	for range 100 {
		resp, err := c.ask("prepare", find)
		if err != nil {
			t.Fatal(err)
		}
		if resp.(*kmsg.FindCoordinatorResponse).ErrorCode == 0 {
			pass(time.Second)
			return
		}
		pass(200 * time.Millisecond)
	}
	t.Fatal("no coordinator")
}

// replies collects what comes back, by ticket.
type replies struct {
	sync.Mutex
	fresh map[int]any    // Not shown yet.
	shown map[int]string // As they stand in scripts.
}

// show gives the fresh replies the names of scripts, in the order of tickets.
func (r *replies) show(ids *names) {
	r.Lock()
	defer r.Unlock()
	tickets := slices.Sorted(maps.Keys(r.fresh))
	for _, ticket := range tickets {
		if j, ok := r.fresh[ticket].(*kmsg.JoinGroupResponse); ok {
			ids.short(j.MemberID)
		}
	}
	for _, ticket := range tickets {
		r.shown[ticket] = ids.short(showReply(coordinator.Reply{Body: r.fresh[ticket]}))
	}
	clear(r.fresh)
}

// play runs one script up to the first command that a real broker cannot be
// given, and compares the reply to each command. When it came does not count, nor
// do the replies of which the script says that control differs.
func (c *control) play(t *testing.T, path string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ids := &names{numbers: make(map[string]string)}
	p := &parser{ids: ids}
	prefix := fmt.Sprintf("%s-%d-", strings.TrimSuffix(filepath.Base(path), ".script"), time.Now().UnixNano()%1e6)
	got := &replies{fresh: make(map[int]any), shown: make(map[int]string)}
	want, asked := make(map[int]string), make(map[int]string)
	differs := make(map[int]bool)
	ticket := 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "# control stops here") {
			break
		}
		if n, ok := strings.CutPrefix(line, "# control differs in "); ok {
			n, _, _ = strings.Cut(n, ":")
			number, _ := strconv.Atoi(n)
			differs[number] = true
		}
		if n, text, ok := strings.Cut(strings.TrimPrefix(line, "  reply to "), ": "); ok && strings.HasPrefix(line, "  reply") {
			number, _ := strconv.Atoi(n)
			want[number] = text
		}
		if line == "" || strings.ContainsAny(line[:1], " #") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		d, _ := time.ParseDuration(rest)
		if slices.Contains([]string{"hold", "commit", "release", "refuse", "failover", "topics-deleted"}, word) || d > 90*time.Second {
			t.Logf("stops at %q", line)
			break
		}
		switch word {
		case "state", "soft":
			continue
		case "tick":
			pass(d)
		default:
			ticket++
			asked[ticket] = line
			c.send(t, p, line, prefix, ticket, got)
		}
		pass(150 * time.Millisecond)
		got.show(ids)
	}
	pass(time.Second)
	got.show(ids)
	for n := 1; n <= ticket; n++ {
		if w, g := sorted(want[n]), sorted(got.shown[n]); w != g && !differs[n] {
			t.Errorf("%d %q:\n  ours   %s\n  theirs %s", n, asked[n], want[n], got.shown[n])
		}
	}
}

func (c *control) send(t *testing.T, p *parser, line, prefix string, ticket int, got *replies) {
	in, err := p.parse(line)
	if err != nil {
		t.Fatal(err)
	}
	rq := in.(Request)
	rename(rq.Body, prefix)
	go func() {
		resp, err := c.ask(rq.ClientID, rq.Body)
		if err != nil {
			return // Parked until the test's end.
		}
		unname(resp, prefix)
		got.Lock()
		defer got.Unlock()
		got.fresh[ticket] = resp
	}()
}

// sorted drops what need not be the same: our address, and the order of words.
func sorted(s string) string {
	words := strings.Fields(strings.ReplaceAll(s, "/127.0.0.1", "/10.0.0.1"))
	slices.Sort(words)
	return strings.Join(words, " ")
}

// rename gives a request's groups names that no other script uses.
func rename(req kmsg.Request, prefix string) {
	name := func(s *string) {
		if *s != "" {
			*s = prefix + *s
		}
	}
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		name(&r.Group)
	case *kmsg.SyncGroupRequest:
		name(&r.Group)
	case *kmsg.HeartbeatRequest:
		name(&r.Group)
	case *kmsg.LeaveGroupRequest:
		name(&r.Group)
	case *kmsg.OffsetCommitRequest:
		name(&r.Group)
	case *kmsg.OffsetDeleteRequest:
		name(&r.Group)
	case *kmsg.OffsetFetchRequest:
		name(&r.Group)
		for i := range r.Groups {
			name(&r.Groups[i].Group)
		}
	case *kmsg.DescribeGroupsRequest:
		r.Groups = slices.Clone(r.Groups)
		for i := range r.Groups {
			name(&r.Groups[i])
		}
	case *kmsg.DeleteGroupsRequest:
		r.Groups = slices.Clone(r.Groups)
		for i := range r.Groups {
			name(&r.Groups[i])
		}
	}
}

// unname is the reverse for a response; groups of other scripts are left out.
func unname(resp kmsg.Response, prefix string) {
	switch r := resp.(type) {
	case *kmsg.ListGroupsResponse:
		r.Groups = slices.DeleteFunc(r.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return !strings.HasPrefix(g.Group, prefix) })
		slices.SortFunc(r.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
		for i := range r.Groups {
			r.Groups[i].Group = strings.TrimPrefix(r.Groups[i].Group, prefix)
		}
	case *kmsg.DescribeGroupsResponse:
		for i := range r.Groups {
			r.Groups[i].Group = strings.TrimPrefix(r.Groups[i].Group, prefix)
		}
	case *kmsg.DeleteGroupsResponse:
		for i := range r.Groups {
			r.Groups[i].Group = strings.TrimPrefix(r.Groups[i].Group, prefix)
		}
	}
}
