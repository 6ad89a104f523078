package txn

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// TestScripts plays testdata/*.script; commands are those of coordtest.Run and of
// parse. A script whose name begins with v0 or v1 runs under that
// transaction.version, the others under 2.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.script")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".script")
		t.Run(name, func(t *testing.T) {
			level := epochBump
			switch {
			case strings.HasPrefix(name, "v0"):
				level = 0
			case strings.HasPrefix(name, "v1"):
				level = flexibleRecords
			}
			coordtest.Run(t, newScript(level), path)
		})
	}
}

func newScript(level int16) coordtest.Script {
	cfg := DefaultConfig()
	cfg.Version = func() int16 { return level }
	return coordtest.Script{
		NewShard:   func() coordinator.Shard { return New(cfg) },
		Parse:      parse,
		ShowRecord: showRecord,
		ShowReply:  showReply,
		ShowSend:   showSend,
		ShowTimer:  func(key any) string { return key.(timerKey).String() },
		ShowState:  func(s coordinator.Shard) string { return s.(*Shard).hard() },
		ShowSoft:   func(s coordinator.Shard) string { return s.(*Shard).soft() },
	}
}

// parse makes an input of one of
//
//	init ID [PID/EPOCH] [timeout=1m] [v=4]
//	add ID PID/EPOCH TOPIC/PARTITION... [tv=2]
//	verify ID PID/EPOCH TOPIC/PARTITION...
//	end ID PID/EPOCH commit|abort [v=5]
//	written ID PID/EPOCH
//	ids FIRST COUNT
//	describe ID...
//	list [state=Ongoing] [pid=1] [longer=1m] [like=REGEX]
func parse(command string) (any, error) {
	word, rest, _ := strings.Cut(command, " ")
	a := newArgs(rest)
	switch word {
	case "init":
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version = a.number("v", 4)
		id := a.next()
		req.TransactionalID = &id
		req.TransactionTimeoutMillis = int32(a.duration("timeout", time.Minute).Milliseconds())
		req.ProducerID, req.ProducerEpoch = noID, noEpoch
		if len(a.words) > 0 {
			req.ProducerID, req.ProducerEpoch = a.producer()
		}
		return Request{Body: req}, a.err
	case "add", "verify":
		var in Add
		in.ClientVersion, in.VerifyOnly = a.number("tv", epochBump), word == "verify"
		in.TransactionalID = a.next()
		in.ProducerID, in.ProducerEpoch = a.producer()
		for len(a.words) > 0 {
			in.Topics = append(in.Topics, a.partition())
		}
		return in, a.err
	case "end":
		req := kmsg.NewPtrEndTxnRequest()
		req.Version, req.TransactionalID = a.number("v", endEpochBump), a.next()
		req.ProducerID, req.ProducerEpoch = a.producer()
		req.Commit = a.next() == "commit"
		return Request{Body: req}, a.err
	case "written":
		in := Written{TransactionalID: a.next()}
		in.ProducerID, in.Epoch = a.producer()
		return in, a.err
	case "ids":
		first, _ := strconv.ParseInt(a.next(), 10, 64)
		count, err := strconv.ParseInt(a.next(), 10, 32)
		return ProducerIDs{First: first, Count: int32(count)}, err
	case "describe":
		req := kmsg.NewPtrDescribeTransactionsRequest()
		for len(a.words) > 0 {
			req.TransactionalIDs = append(req.TransactionalIDs, a.next())
		}
		return Request{Body: req}, a.err
	case "list":
		return parseList(a)
	}
	return nil, fmt.Errorf("no command %q", word)
}

func parseList(a *args) (any, error) {
	req := kmsg.NewPtrListTransactionsRequest()
	req.Version, req.DurationFilterMillis = 2, -1
	if v, ok := a.named["state"]; ok {
		req.StateFilters = strings.Split(v, ",")
	}
	if v, ok := a.named["pid"]; ok {
		pid, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, err
		}
		req.ProducerIDFilters = []int64{pid}
	}
	if _, ok := a.named["longer"]; ok {
		req.DurationFilterMillis = a.duration("longer", 0).Milliseconds()
	}
	if v, ok := a.named["like"]; ok {
		req.TransactionalIDPattern = &v
	}
	f, unknown, code := NewFilter(req)
	if code != 0 || len(unknown) > 0 {
		return nil, fmt.Errorf("code %d, states %v", code, unknown)
	}
	return List{Filter: f}, a.err
}

// args are a command's words in order, and those of the form name=value.
type args struct {
	words []string
	named map[string]string
	err   error
}

func newArgs(rest string) *args {
	a := &args{named: make(map[string]string)}
	for _, w := range strings.Fields(rest) {
		if name, value, ok := strings.Cut(w, "="); ok {
			a.named[name] = value
		} else {
			a.words = append(a.words, w)
		}
	}
	return a
}

// next is the next word; - stands for an empty one.
func (a *args) next() string {
	if len(a.words) == 0 {
		a.err = fmt.Errorf("too few words")
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	if w == "-" {
		return ""
	}
	return w
}

func (a *args) producer() (id int64, epoch int16) {
	if _, err := fmt.Sscanf(a.next(), "%d/%d", &id, &epoch); err != nil {
		a.err = err
	}
	return id, epoch
}

func (a *args) partition() (t kmsg.AddPartitionsToTxnRequestTransactionTopic) {
	name, p, _ := strings.Cut(a.next(), "/")
	n, err := strconv.ParseInt(p, 10, 32)
	if err != nil {
		a.err = err
	}
	t.Topic, t.Partitions = name, []int32{int32(n)}
	return t
}

func (a *args) number(name string, or int16) int16 {
	v, ok := a.named[name]
	if !ok {
		return or
	}
	n, err := strconv.ParseInt(v, 10, 16)
	if err != nil {
		a.err = err
	}
	return int16(n)
}

func (a *args) duration(name string, or time.Duration) time.Duration {
	v, ok := a.named[name]
	if !ok {
		return or
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		a.err = err
	}
	return d
}
