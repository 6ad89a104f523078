package api

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/replica"
	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// produced is what a client reads of a partition.
type produced struct {
	Code int16
	Base int64
}

func askProduce(t *testing.T, n *node1, req *kmsg.ProduceRequest) []produced {
	t.Helper()
	var all []produced
	for _, topic := range ask(t, n.Env, req).(*kmsg.ProduceResponse).Topics {
		for _, p := range topic.Partitions {
			all = append(all, produced{p.ErrorCode, p.BaseOffset})
		}
	}
	return all
}

func TestProduceEveryVersion(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 2)
	for v := int16(3); v <= 13; v++ {
		base := int64(v-3) * 2
		req := produceOf(v, -1, "t", id, records("a", "b"), records("c", "d"))
		if diff := cmp.Diff([]produced{{0, base}, {0, base}}, askProduce(t, n, req)); diff != "" {
			t.Errorf("version %d: %s", v, diff)
		}
	}
}

func TestProduceFailsByPartition(t *testing.T) {
	n := newNode(t, 2)
	id := n.topic("t", 1, 6)
	n.topic("elsewhere", 2, 1, 2)
	n.topic(consumerOffsets, 3, 1)
	n.config["compacted"] = func() replica.TopicConfig {
		c := n.topicConfig("")
		c.Rules.Compacted = true
		return c
	}()
	n.topic("compacted", 4, 1)
	corrupt := records("x")
	corrupt[len(corrupt)-1] ^= 1
	control := records("x")
	control[22] |= 1 << 5
	control.Seal()
	keyless := batch.NewBuilder(batch.Plain(0, -1))
	keyless.Append(time.Now().UnixMilli(), nil, []byte("v"))
	large := recordsOf(batch.Plain(0, -1), strings.Repeat("x", 2<<20))
	zstd := batch.Plain(0, -1)
	zstd.Codec = codec.Zstd

	for name, tc := range map[string]struct {
		req  *kmsg.ProduceRequest
		want []produced
	}{
		"one of three is corrupt": {produceOf(9, -1, "t", id, records("a"), corrupt, records("b")), []produced{{0, 0}, {kerr.CorruptMessage.Code, -1}, {0, 0}}},
		"an unknown topic":        {produceOf(9, 1, "nope", id, records("a")), []produced{{kerr.UnknownTopicOrPartition.Code, -1}}},
		"an unknown topic id":     {produceOf(13, 1, "", [16]byte{9}, records("a")), []produced{{kerr.UnknownTopicID.Code, -1}}},
		"another broker's":        {produceOf(9, 1, "elsewhere", id, records("a")), []produced{{kerr.NotLeaderForPartition.Code, -1}}},
		"control batch":           {produceOf(9, 1, "t", id, control), []produced{{kerr.InvalidRecord.Code, -1}}},
		"no batch at all":         {produceOf(9, 1, "t", id, nil), []produced{{kerr.InvalidRecord.Code, -1}}},
		"two batches":             {produceOf(9, 1, "t", id, append(records("a"), records("b")...)), []produced{{kerr.InvalidRecord.Code, -1}}},
		"too large":               {produceOf(9, 1, "t", id, large), []produced{{kerr.MessageTooLarge.Code, -1}}},
		"acks of two":             {produceOf(9, 2, "t", id, records("a")), []produced{{kerr.InvalidRequiredAcks.Code, -1}}},
		"an internal topic":       {produceOf(9, 1, consumerOffsets, id, records("a")), []produced{{kerr.InvalidTopicException.Code, -1}}},
		"no key where compacted":  {produceOf(9, 1, "compacted", id, keyless.Build()), []produced{{kerr.InvalidRecord.Code, -1}}},
		"zstd, and acks of two":   {produceOf(6, 2, "t", id, recordsOf(zstd, "a")), []produced{{kerr.UnsupportedCompressionType.Code, -1}}},
		"two, and acks of two":    {produceOf(9, 2, "t", id, append(records("a"), records("b")...), records("a")), []produced{{kerr.InvalidRecord.Code, -1}, {kerr.InvalidRequiredAcks.Code, -1}}},
		"two, internal topic":     {produceOf(9, 1, consumerOffsets, id, append(records("a"), records("b")...)), []produced{{kerr.InvalidRecord.Code, -1}}},
		"two, another broker's":   {produceOf(9, 1, "elsewhere", id, append(records("a"), records("b")...)), []produced{{kerr.InvalidRecord.Code, -1}}},
		"zstd before version 7":   {produceOf(6, 1, "t", id, recordsOf(zstd, "a")), []produced{{kerr.UnsupportedCompressionType.Code, -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			n.t = t
			if diff := cmp.Diff(tc.want, askProduce(t, n, tc.req)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("an unknown partition", func(t *testing.T) {
		req := produceOf(9, 1, "t", id, records("a"))
		req.Topics[0].Partitions[0].Partition = 6
		if diff := cmp.Diff([]produced{{kerr.UnknownTopicOrPartition.Code, -1}}, askProduce(t, n, req)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("nothing at all", func(t *testing.T) {
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks = 9, -1
		if got := askProduce(t, n, req); got != nil {
			t.Errorf("%v", got)
		}
	})
}

// TestProduceSaysWhichRecords is case P05: all bad records of a batch are named,
// and a bad timestamp among them decides the code.
func TestProduceSaysWhichRecords(t *testing.T) {
	n := newNode(t, 1)
	cfg := n.topicConfig("")
	cfg.Rules.Compacted = true
	n.config["t"] = cfg
	n.topic("t", 1, 1)
	b := batch.NewBuilder(batch.Plain(0, -1))
	now := time.Now().UnixMilli()
	b.Append(now, nil, []byte("0"))
	b.Append(now, []byte("k"), []byte("1"))
	b.Append(now, nil, []byte("2"))
	resp := ask(t, n.Env, produceOf(8, -1, "t", [16]byte{}, b.Build())).(*kmsg.ProduceResponse)
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != kerr.InvalidRecord.Code || len(p.ErrorRecords) != 2 || p.ErrorRecords[0].RelativeOffset != 0 || p.ErrorRecords[1].RelativeOffset != 2 ||
		p.ErrorMessage == nil || p.LogStartOffset != 0 {
		t.Errorf("%+v", p)
	}
}

func TestProduceTellsWhoLeads(t *testing.T) {
	n := newNode(t, 2)
	n.topic("t", 1, 2, 2)
	for version, want := range map[int16]int32{9: -1, 10: 2} {
		resp := ask(t, n.Env, produceOf(version, 1, "t", [16]byte{}, records("a"), records("b"))).(*kmsg.ProduceResponse)
		for _, p := range resp.Topics[0].Partitions {
			if p.ErrorCode != kerr.NotLeaderForPartition.Code || p.CurrentLeader.LeaderID != want {
				t.Errorf("version %d: %+v", version, p)
			}
		}
		if told := len(resp.Brokers) == 1 && resp.Brokers[0].Host == "host2"; told != (want == 2) {
			t.Errorf("version %d: brokers %+v", version, resp.Brokers)
		}
	}
}

// TestIdempotentProduce is cases P07 and P09: an unknown producer may begin
// anywhere, a batch sent again is answered with its first offset, and one that
// is too old or from the future is not.
func TestIdempotentProduce(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	send := func(epoch int16, sequence int32) produced {
		m := batch.Plain(0, -1)
		m.ProducerID, m.ProducerEpoch, m.BaseSequence = 77, epoch, sequence
		return askProduce(t, n, produceOf(9, -1, "t", [16]byte{}, recordsOf(m, "x")))[0]
	}
	for i := range int32(7) {
		if got := send(0, i); got != (produced{0, int64(i)}) {
			t.Fatalf("sequence %d: %+v", i, got)
		}
	}
	for name, tc := range map[string]struct {
		sequence int32
		want     produced
	}{
		"the last again":       {6, produced{0, 6}},
		"the fifth last again": {2, produced{0, 2}},
		"the sixth last again": {1, produced{kerr.OutOfOrderSequenceNumber.Code, -1}},
		"a gap":                {9, produced{kerr.OutOfOrderSequenceNumber.Code, -1}},
	} {
		if got := send(0, tc.sequence); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	if end := n.partition("t", 0).End(); end != 7 {
		t.Errorf("log ends at %d", end)
	}
	if got := send(3, 0); got != (produced{0, 7}) {
		t.Errorf("a new epoch: %+v", got)
	}
	if got := send(0, 7); got.Code != kerr.InvalidProducerEpoch.Code {
		t.Errorf("the old epoch: %+v", got)
	}
}

func TestTransactionalProduceNeedsAnId(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 2)
	txn := func(pid int64) batch.Batch {
		m := batch.Plain(0, -1)
		m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = pid, 0, 0, true
		return recordsOf(m, "x")
	}
	for name, tc := range map[string]struct {
		id      *string
		second  batch.Batch
		want    int16
		wantTwo int16
	}{
		"without one":         {nil, records("plain"), kerr.TransactionalIDAuthorizationFailed.Code, kerr.TransactionalIDAuthorizationFailed.Code},
		"two producers":       {kmsg.StringPtr("txn"), txn(8), kerr.InvalidProducerIDMapping.Code, kerr.InvalidProducerIDMapping.Code},
		"no such transaction": {kmsg.StringPtr("txn"), records("plain"), kerr.InvalidProducerIDMapping.Code, 0},
	} {
		t.Run(name, func(t *testing.T) {
			req := produceOf(9, -1, "t", [16]byte{}, txn(7), tc.second)
			req.TransactionID = tc.id
			got := askProduce(t, n, req)
			if got[0].Code != tc.want || got[1].Code != tc.wantTwo {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestCutTransactionalBatchNeedsNoId: what is no whole batch is refused as such, for
// its partition alone. Whether it would be transactional nobody asks.
func TestCutTransactionalBatchNeedsNoId(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 2)
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
	whole := recordsOf(m, "x")
	for _, id := range []*string{nil, kmsg.StringPtr("txn")} {
		req := produceOf(9, -1, "t", [16]byte{}, whole[:len(whole)-3], records("plain"))
		req.TransactionID = id
		if got := askProduce(t, n, req); got[0].Code != kerr.InvalidRecord.Code || got[1].Code != 0 {
			t.Errorf("%+v", got)
		}
	}
}

func TestProduceNeedsTheRight(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 1)
	n.Authorize = func(_ *Conn, op kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) bool {
		return !(op == kmsg.ACLOperationWrite && kind == kmsg.ACLResourceTypeTopic && (name == "t" || name == "nope"))
	}
	for name, req := range map[string]*kmsg.ProduceRequest{
		"by name":             produceOf(9, -1, "t", id, records("a")),
		"by id":               produceOf(13, -1, "", id, records("a")),
		"and it is not there": produceOf(9, -1, "nope", id, records("a")),
	} {
		if got := askProduce(t, n, req); got[0].Code != kerr.TopicAuthorizationFailed.Code {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if end := n.partition("t", 0).End(); end != 0 {
		t.Errorf("%d records were written", end)
	}
}

// TestProduceWithoutAcks is case P01: no answer, the record is in the log, and an
// error closes the connection.
func TestProduceWithoutAcks(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 1)
	answer, err := n.Serve(t.Context(), callOf(produceOf(9, 0, "t", id, records("a"))))
	if err != nil || !answer.None || answer.Close || len(answer.Parts) != 0 {
		t.Errorf("%+v, %v", answer, err)
	}
	if end := n.partition("t", 0).End(); end != 1 {
		t.Errorf("log ends at %d", end)
	}
	answer, err = n.Serve(t.Context(), callOf(produceOf(9, 0, "nope", id, records("a"))))
	if err != nil || !answer.None || !answer.Close {
		t.Errorf("an error: %+v, %v", answer, err)
	}
}

// TestProduceWaitsForReplicas: with a follower in sync that does not fetch,
// acks=all times out with the records in the log, and acks=1 does not wait.
func TestProduceWaitsForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 2)
		id := n.topic("t", 1, 2, 1, 2)
		began := time.Now()
		if got := askProduce(t, n, produceOf(9, 1, "t", id, records("a"))); got[0] != (produced{0, 0}) || time.Since(began) != 0 {
			t.Errorf("acks=1: %+v after %v", got, time.Since(began))
		}
		got := askProduce(t, n, produceOf(9, -1, "t", id, records("b"), records("c")))
		want := []produced{{kerr.RequestTimedOut.Code, 1}, {kerr.RequestTimedOut.Code, 0}}
		if diff := cmp.Diff(want, got); diff != "" || time.Since(began) != time.Second {
			t.Errorf("acks=all after %v: %s", time.Since(began), diff)
		}
		if end := n.partition("t", 0).End(); end != 2 {
			t.Errorf("log ends at %d", end)
		}
	})
}

func TestProduceRefusesMalformedRequests(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 1)
	call := callOf(produceOf(9, -1, "t", id, records("a")))
	for i := range call.Body {
		cut := *call
		cut.Body = call.Body[:i]
		if _, err := n.Serve(t.Context(), &cut); !is[*DecodeError](err) {
			t.Fatalf("%d of %d bytes: %v", i, len(call.Body), err)
		}
	}
	if end := n.partition("t", 0).End(); end != 0 {
		t.Errorf("%d records of malformed requests were written", end)
	}
}

func TestProduceReservesForManyPartitions(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	refused := errors.New("no memory")
	for parts, want := range map[int]error{100: nil, 5000: refused} {
		req := produceOf(9, -1, "nope", [16]byte{}, make([]batch.Batch, parts)...)
		call := callOf(req)
		call.Reserve = func(int64) error { return refused }
		if _, err := n.Serve(t.Context(), call); !errors.Is(err, want) {
			t.Errorf("%d partitions: %v", parts, err)
		}
	}
}

// TestWhatIsToldOfARefusedBatch holds details that Apache Kafka 4.2 was seen to
// answer: the log's start comes only with what the log itself found wrong, and a
// message only with faults of single records.
func TestWhatIsToldOfARefusedBatch(t *testing.T) {
	n := newNode(t, 1)
	n.topic("t", 1, 1)
	control := records("x")
	control[22] |= 1 << 5
	control.Seal()
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence = 7, 0, -1
	future := batch.NewBuilder(batch.Plain(0, -1))
	future.Append(time.Now().Add(100*time.Hour).UnixMilli(), nil, []byte("x"))
	for name, tc := range map[string]struct {
		batch    batch.Batch
		code     int16
		logStart int64
		message  bool
	}{
		"two batches":       {append(records("a"), records("b")...), kerr.InvalidRecord.Code, -1, false},
		"half a batch":      {records("a")[:40], kerr.InvalidRecord.Code, -1, false},
		"a control batch":   {control, kerr.InvalidRecord.Code, 0, false},
		"a negative number": {recordsOf(m, "x"), kerr.InvalidRecord.Code, 0, false},
		"a record to come":  {future.Build(), kerr.InvalidTimestamp.Code, 0, true},
		"bytes behind it":   {append(records("a"), 1, 2, 3), 0, 0, false},
	} {
		p := ask(t, n.Env, produceOf(9, 1, "t", [16]byte{}, tc.batch)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if p.ErrorCode != tc.code || p.LogStartOffset != tc.logStart || (p.ErrorMessage != nil) != tc.message {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// askArriving serves a request whose body arrives while it is served.
func askArriving(t *testing.T, n *node1, req *kmsg.ProduceRequest, body []byte) ([]produced, error) {
	t.Helper()
	call := callOf(req)
	call.Body, call.Stream = nil, arriving(body)
	answer, err := n.Serve(t.Context(), call)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	readAnswer(t, answer, resp)
	var all []produced
	for _, p := range resp.Topics[0].Partitions {
		all = append(all, produced{p.ErrorCode, p.BaseOffset})
	}
	return all, nil
}

func TestProduceWhileItArrives(t *testing.T) {
	n := newNode(t, 1)
	id := n.topic("t", 1, 3)
	ends := func() (ends [3]int64) {
		for i := range ends {
			ends[i] = n.partition("t", int32(i)).End()
		}
		return ends
	}
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = 7, 0, 0, true
	txn := recordsOf(m, "x")
	none := kerr.TransactionalIDAuthorizationFailed.Code
	for _, tc := range []struct {
		name string
		req  *kmsg.ProduceRequest
		cut  int // Bytes that do not arrive.
		want []produced
		fail bool
		ends [3]int64
	}{
		{"all of it", produceOf(9, -1, "t", id, records("a"), records("b"), records("c")), 0, []produced{{0, 0}, {0, 0}, {0, 0}}, false, [3]int64{1, 1, 1}},
		{"by id", produceOf(13, -1, "", id, records("a"), nil, records("c")), 0, []produced{{0, 1}, {87, -1}, {0, 1}}, false, [3]int64{2, 1, 2}},
		{"before version 9", produceOf(8, -1, "t", id, records("a"), records("b")), 0, []produced{{0, 2}, {0, 1}}, false, [3]int64{3, 2, 2}},
		{"the last is cut", produceOf(9, -1, "t", id, records("a"), records("b"), records("c")), 10, nil, true, [3]int64{4, 3, 2}},
		{"transactional without an id", produceOf(9, -1, "t", id, records("a"), txn, records("c")), 0, []produced{{0, 4}, {none, -1}, {none, -1}}, false, [3]int64{5, 3, 2}},
		{"transactional, no such id", withTxn(produceOf(9, -1, "t", id, txn, records("b"), txn)), 0, []produced{{49, -1}, {0, 3}, {49, -1}}, false, [3]int64{5, 4, 2}},
		{"transactional, and it is cut", withTxn(produceOf(8, -1, "t", id, records("a"), records("b"), txn)), 10, nil, true, [3]int64{5, 4, 2}},
	} {
		body := tc.req.AppendTo(nil)
		got, err := askArriving(t, n, tc.req, body[:len(body)-tc.cut])
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fail {
			t.Errorf("%s: %v %s", tc.name, err, diff)
		}
		if got := ends(); got != tc.ends {
			t.Errorf("%s: logs end at %v, want %v", tc.name, got, tc.ends)
		}
	}
}

func withTxn(req *kmsg.ProduceRequest) *kmsg.ProduceRequest {
	req.TransactionID = kmsg.StringPtr("txn")
	return req
}
