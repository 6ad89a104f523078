package api

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
)

// sent is what a request brings to a partition: a topic, and how its batch is made.
type sent struct {
	topic string
	batch batch.Batch
}

// withLength and withMagic are a batch with another field.
func withLength(b batch.Batch, length int32) batch.Batch {
	binary.BigEndian.PutUint32(b[8:], uint32(length))
	return b
}

func withMagic(b batch.Batch, magic int8) batch.Batch {
	b[16] = byte(magic)
	return b
}

// ofTxn is a transactional batch of a producer, the first that it sends.
func ofTxn(producerID int64) batch.Batch {
	m := batch.Plain(0, -1)
	m.ProducerID, m.ProducerEpoch, m.BaseSequence, m.Transactional = producerID, 3, 0, true
	return recordsOf(m, "x")
}

// cutBatch is the beginning of a batch, and twoBatches two of them.
func cutBatch(b batch.Batch) batch.Batch   { return b[:len(b)-3] }
func twoBatches(b batch.Batch) batch.Batch { return append(b, b...) }

// producingTo asks for batches to be appended, the n-th to partition n.
func producingTo(version, acks int16, id string, all ...sent) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 1000
	if id != "" {
		req.TransactionID = &id
	}
	for i, s := range all {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), s.batch
		req.Topics = append(req.Topics, kmsg.ProduceRequestTopic{Topic: s.topic, Partitions: []kmsg.ProduceRequestTopicPartition{p}})
	}
	return req
}

// partlyUnreadable are requests of which something cannot be read, or may not be
// written, and the code that each partition is answered with by Apache Kafka 4.2.
// Client "mine" may use transactional id "id", and topics other than "deny".
var partlyUnreadable = map[string]struct {
	id   string
	sent []sent
	want string
}{
	// Kafka looks at the first batch of each partition until one is transactional. What
	// it cannot read before that has the whole request refused.
	"a length too small":                    {"", []sent{{"t", records("a")}, {"t", withLength(records("b"), 3)}}, "all CORRUPT_MESSAGE"},
	"a negative length":                     {"", []sent{{"t", records("a")}, {"t", withLength(records("b"), -3)}}, "all CORRUPT_MESSAGE"},
	"a magic of tomorrow":                   {"", []sent{{"t", withMagic(records("a"), 5)}, {"t", records("b")}}, "all CORRUPT_MESSAGE"},
	"a negative magic":                      {"", []sent{{"t", records("a")}, {"t", withMagic(records("b"), -2)}}, "all CORRUPT_MESSAGE"},
	"of a topic that may not be written to": {"", []sent{{"deny", withMagic(records("a"), 5)}, {"t", records("b")}}, "all CORRUPT_MESSAGE"},
	"of a topic that there is not":          {"", []sent{{"t", records("a")}, {"none", withMagic(records("b"), 5)}}, "all CORRUPT_MESSAGE"},
	"before a transactional one":            {"id", []sent{{"t", withMagic(ofTxn(7), 5)}, {"t", ofTxn(7)}}, "all CORRUPT_MESSAGE"},
	"before one without the right":          {"other", []sent{{"t", withLength(ofTxn(7), 3)}, {"t", ofTxn(7)}}, "all CORRUPT_MESSAGE"},
	"before one without an id":              {"", []sent{{"t", withMagic(ofTxn(7), 5)}, {"t", ofTxn(7)}}, "all CORRUPT_MESSAGE"},
	"no transactional one":                  {"other", []sent{{"t", records("a")}, {"t", withMagic(records("b"), 5)}}, "all CORRUPT_MESSAGE"},

	// Behind a transactional one it looks no further before it asks for the right.
	"behind a transactional one":  {"id", []sent{{"t", ofTxn(7)}, {"t", withMagic(ofTxn(7), 5)}, {"t", withLength(ofTxn(7), 3)}}, ", CORRUPT_MESSAGE, CORRUPT_MESSAGE"},
	"behind one without a right":  {"other", []sent{{"t", ofTxn(7)}, {"t", withMagic(ofTxn(7), 5)}}, "all TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
	"behind one without an id":    {"", []sent{{"t", ofTxn(7)}, {"t", withMagic(ofTxn(7), 5)}}, "all TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
	"a short one is a batch":      {"other", []sent{{"t", records("a")}, {"t", withLength(ofTxn(7), 20)}}, "all TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
	"a right that nobody asks of": {"other", []sent{{"t", records("a")}, {"t", records("b")}}, ", "},

	// The rest is the harm of its partition.
	"a length too large":     {"", []sent{{"t", records("a")}, {"t", withLength(records("b"), 3000)}}, ", INVALID_RECORD"},
	"shorter than a header":  {"", []sent{{"t", records("a")}, {"t", withLength(records("b"), 20)}}, ", CORRUPT_MESSAGE"},
	"a magic of yesterday":   {"", []sent{{"t", records("a")}, {"t", withMagic(records("b"), 1)}}, ", INVALID_RECORD"},
	"cut":                    {"", []sent{{"t", records("a")}, {"t", cutBatch(records("b"))}}, ", INVALID_RECORD"},
	"nothing":                {"", []sent{{"t", records("a")}, {"t", batch.Batch{}}}, ", INVALID_RECORD"},
	"the second batch":       {"", []sent{{"t", records("a")}, {"t", append(records("b"), withMagic(records("c"), 5)...)}}, ", CORRUPT_MESSAGE"},
	"cut, transactional":     {"id", []sent{{"t", cutBatch(ofTxn(7))}, {"t", ofTxn(7)}}, "INVALID_RECORD, "},
	"a second, in a txn":     {"id", []sent{{"t", ofTxn(7)}, {"t", append(ofTxn(7), withMagic(ofTxn(7), 5)...)}}, ", CORRUPT_MESSAGE"},
	"two batches, in a txn":  {"id", []sent{{"t", ofTxn(7)}, {"t", twoBatches(ofTxn(7))}}, ", INVALID_RECORD"},
	"two producers":          {"id", []sent{{"t", ofTxn(7)}, {"t", ofTxn(8)}}, "all INVALID_PRODUCER_ID_MAPPING"},
	"two, without the right": {"other", []sent{{"t", ofTxn(7)}, {"t", ofTxn(8)}}, "all TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},

	// Only what could be appended has a producer.
	"another of a topic that there is not":          {"id", []sent{{"t", ofTxn(7)}, {"none", ofTxn(8)}}, ", UNKNOWN_TOPIC_OR_PARTITION"},
	"another of a topic that may not be written to": {"id", []sent{{"t", ofTxn(7)}, {"deny", ofTxn(8)}}, ", TOPIC_AUTHORIZATION_FAILED"},
	"another of a partition that there is not":      {"id", []sent{{"t", ofTxn(7)}, {"u", ofTxn(8)}}, ", UNKNOWN_TOPIC_OR_PARTITION"},
	"another that is no single batch":               {"id", []sent{{"t", ofTxn(7)}, {"t", twoBatches(ofTxn(8))}}, ", INVALID_RECORD"},
	"two producers of another broker's partitions":  {"id", []sent{{"r", ofTxn(7)}, {"elsewhere", ofTxn(8)}}, "all INVALID_PRODUCER_ID_MAPPING"},
}

// TestPartlyUnreadableProduce: what of a request goes down with records that cannot be
// read, and that all or nothing of it is written then.
func TestPartlyUnreadableProduce(t *testing.T) {
	for name, tc := range partlyUnreadable {
		for _, version := range []int16{7, 9, 12} {
			t.Run(fmt.Sprint(name, " in version ", version), func(t *testing.T) {
				n, logs := nodeWithTxn(t)
				resp := ask(t, n.Env, producingTo(version, -1, tc.id, tc.sent...)).(*kmsg.ProduceResponse)
				checkPartly(t, tc.want, resp)
				if written := logs(); strings.HasPrefix(tc.want, "all ") && written != 0 {
					t.Errorf("%d records were written", written)
				}
			})
		}
	}
}

// nodeWithTxn is a node whose client may use one transactional id, and a count of all
// records in its logs.
func nodeWithTxn(t *testing.T) (n *node1, logs func() int64) {
	n = newNode(t, 2)
	n.topic("t", 1, 3)
	n.topic("u", 2, 1)
	n.topic("deny", 3, 3)
	n.topic("elsewhere", 4, 3, 2)
	n.topic("r", 5, 3)
	n.Transactions = &busyTxns{}
	n.Authorize = func(_ *Conn, _ kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) bool {
		return name != "deny" && (kind != kmsg.ACLResourceTypeTransactionalId || name == "id")
	}
	return n, func() (sum int64) {
		for p := range n.manager.Partitions() {
			sum += p.End()
		}
		return sum
	}
}

// checkPartly compares the codes of all partitions, and holds the answer to saying why if
// one partition's fault is answered for all.
func checkPartly(t *testing.T, want string, resp *kmsg.ProduceResponse) {
	t.Helper()
	explained := want == "all CORRUPT_MESSAGE" || want == "all INVALID_PRODUCER_ID_MAPPING"
	var codes []string
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, strings.TrimSpace(coded(p.ErrorCode)))
			if told := p.ErrorMessage != nil; told != (explained && resp.Version >= 8) {
				t.Errorf("%s has a message: %t", codes[len(codes)-1], told)
			}
		}
	}
	if one, all := strings.CutPrefix(want, "all "); all {
		want = strings.Join([]string{one, one, one}[:len(codes)], ", ")
	}
	if diff := cmp.Diff(want, strings.Join(codes, ", ")); diff != "" {
		t.Error(diff)
	}
}

// TestCutShortBatchNeedsNoRight: what is shorter than a header and does not even come
// whole is in no transaction. Apache has INVALID_RECORD for it, as for all that is cut.
func TestCutShortBatchNeedsNoRight(t *testing.T) {
	n, _ := nodeWithTxn(t)
	req := producingTo(9, -1, "other", sent{"t", records("a")}, sent{"t", withLength(ofTxn(7), 48)[:50]})
	checkPartly(t, ", CORRUPT_MESSAGE", ask(t, n.Env, req).(*kmsg.ProduceResponse))
}

// TestUnreadableProduceWithoutAcks: who wants no answer has the connection closed.
func TestUnreadableProduceWithoutAcks(t *testing.T) {
	n, logs := nodeWithTxn(t)
	req := producingTo(9, 0, "", sent{"t", records("a")}, sent{"t", withMagic(records("b"), 5)})
	answer, err := n.Serve(t.Context(), callOf(req))
	if err != nil || !answer.None || !answer.Close || logs() != 0 {
		t.Errorf("%+v, %v; %d records were written", answer, err, logs())
	}
}

// TestUnreadableProduceWhileItArrives: of a large request what came before is written.
func TestUnreadableProduceWhileItArrives(t *testing.T) {
	n, _ := nodeWithTxn(t)
	req := produceOf(9, -1, "t", [16]byte{}, records("a"), withMagic(records("b"), 5), records("c"))
	got, err := askArriving(t, n, req, req.AppendTo(nil))
	corrupt := produced{kerr.CorruptMessage.Code, -1}
	if diff := cmp.Diff([]produced{{0, 0}, corrupt, corrupt}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
