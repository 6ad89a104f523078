package broker

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnCommands are the commands of a transaction script. v=N is the request's
// version, as=NAME names the producer of the answer.
var txnCommands = map[string]func(*txnScript){
	"topic":    (*txnScript).topic,        // NAME...
	"find":     (*txnScript).find,         // group|transaction KEY
	"init":     (*txnScript).init,         // ID [timeout=MS] [was=PRODUCER]
	"settle":   (*txnScript).settle,       // ID
	"add":      (*txnScript).add,          // ID PRODUCER TOPIC...
	"verify":   (*txnScript).add,          // the same, by version 4 and later
	"offsets":  (*txnScript).addOffsets,   // ID PRODUCER GROUP
	"produce":  (*txnScript).produce,      // ID PRODUCER SEQUENCE plain|txn TOPIC
	"commit":   (*txnScript).commit,       // ID PRODUCER GROUP TOPIC [gen=N] [member=ID] [metadata=SIZE]
	"end":      (*txnScript).endTxn,       // ID PRODUCER commit|abort
	"marker":   (*txnScript).writeMarkers, // PRODUCER commit|abort [coordinator=EPOCH] [tv=VERSION] TOPIC...
	"describe": (*txnScript).describe,     // ID...
	"list":     (*txnScript).list,         // [states=A,B] [longer=MS] [like=REGEX]
	"wait":     func(s *txnScript) { d, _ := time.ParseDuration(s.next()); time.Sleep(d) },
}

func (s *txnScript) topic() {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 5, 10_000
	for len(s.words) > 0 {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.name(), 1, 1
		req.Topics = append(req.Topics, t)
	}
	for _, t := range s.roundTrip(req).(*kmsg.CreateTopicsResponse).Topics {
		s.say("%s", codeName(t.ErrorCode))
	}
	time.Sleep(500 * time.Millisecond) // Apache answers before it serves.
}

func (s *txnScript) find() {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = s.version()
	if s.next() == "transaction" {
		req.CoordinatorType = 1
	}
	req.CoordinatorKey = s.name()
	req.CoordinatorKeys = []string{req.CoordinatorKey}
	code := func(r kmsg.Response) int16 {
		resp := r.(*kmsg.FindCoordinatorResponse)
		if req.Version >= 4 {
			return resp.Coordinators[0].ErrorCode
		}
		return resp.ErrorCode
	}
	s.say("%s", codeName(code(s.again(req, code))))
}

func initCode(r kmsg.Response) int16 { return r.(*kmsg.InitProducerIDResponse).ErrorCode }

func (s *txnScript) initRequest() *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = s.version()
	if id := s.next(); id != "null" {
		id = s.ours(id)
		req.TransactionalID = &id
	}
	req.TransactionTimeoutMillis = int32(s.number("timeout", 60_000))
	was := producerOf{-1, -1}
	if w, ok := s.named["was"]; ok {
		was = s.producer(w)
	}
	req.ProducerID, req.ProducerEpoch = was.id, was.epoch
	return req
}

func (s *txnScript) init() {
	r := s.roundTrip(s.initRequest()).(*kmsg.InitProducerIDResponse)
	s.say("%s %s", codeName(r.ErrorCode), s.told(r.ProducerID, r.ProducerEpoch))
}

// settle is init until the transaction before is over.
func (s *txnScript) settle() {
	r := s.again(s.initRequest(), initCode).(*kmsg.InitProducerIDResponse)
	s.say("%s %s", codeName(r.ErrorCode), s.told(r.ProducerID, r.ProducerEpoch))
}

func (s *txnScript) add() {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = s.version()
	id, p := s.name(), s.producer(s.next())
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, p.id, p.epoch
	tx := kmsg.NewAddPartitionsToTxnRequestTransaction()
	tx.TransactionalID, tx.ProducerID, tx.ProducerEpoch = id, p.id, p.epoch
	tx.VerifyOnly = s.number("only", 0) == 1
	for len(s.words) > 0 {
		topic := s.name()
		req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: topic, Partitions: []int32{0}})
		tx.Topics = append(tx.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: topic, Partitions: []int32{0}})
	}
	req.Transactions = append(req.Transactions, tx)
	resp := s.roundTrip(req).(*kmsg.AddPartitionsToTxnResponse)
	codes := map[string]string{}
	for _, t := range resp.Topics {
		codes[t.Topic] = codeName(t.Partitions[0].ErrorCode)
	}
	for _, tx := range resp.Transactions {
		for _, t := range tx.Topics {
			codes[t.Topic] = codeName(t.Partitions[0].ErrorCode)
		}
	}
	line := codeName(resp.ErrorCode)
	for _, t := range req.Topics { // Apache answers in no order.
		line += " " + codes[t.Topic]
	}
	s.say("%s", line)
}

func (s *txnScript) addOffsets() {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID = s.version(), s.name()
	p := s.producer(s.next())
	req.ProducerID, req.ProducerEpoch, req.Group = p.id, p.epoch, s.name()
	s.say("%s", codeName(s.roundTrip(req).(*kmsg.AddOffsetsToTxnResponse).ErrorCode))
}

func (s *txnScript) produce() {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = s.version(), -1, 5000
	if id := s.name(); id != "" {
		req.TransactionID = &id
	}
	p := s.producer(s.next())
	var seq int32
	if _, err := fmt.Sscan(s.next(), &seq); err != nil {
		s.t.Fatal(err)
	}
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = oneBatch(p, seq, s.next() == "txn")
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: s.name(), Partitions: []kmsg.ProduceRequestTopicPartition{part}}}
	r := s.roundTrip(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	line := codeName(r.ErrorCode)
	if r.ErrorCode == 0 {
		line += fmt.Sprintf(" offset=%d", r.BaseOffset)
	} else {
		line += fmt.Sprintf(" start=%d message=%v", r.LogStartOffset, r.ErrorMessage != nil)
	}
	s.say("%s", line)
}

func (s *txnScript) commit() {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID = s.version(), s.name()
	p := s.producer(s.next())
	req.ProducerID, req.ProducerEpoch, req.Group = p.id, p.epoch, s.name()
	req.Generation, req.MemberID = int32(s.number("gen", -1)), s.named["member"]
	part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Offset = 1
	metadata := strings.Repeat("m", int(s.number("metadata", 0)))
	part.Metadata = &metadata
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: s.name(), Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{part}}}
	s.say("%s", codeName(s.roundTrip(req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode))
}

func (s *txnScript) endTxn() {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID = s.version(), s.name()
	p := s.producer(s.next())
	req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.epoch, s.next() == "commit"
	r := s.again(req, func(r kmsg.Response) int16 { return r.(*kmsg.EndTxnResponse).ErrorCode }).(*kmsg.EndTxnResponse)
	line := codeName(r.ErrorCode)
	if req.Version >= 5 {
		line += " " + s.told(r.ProducerID, r.ProducerEpoch)
	}
	s.say("%s", line)
}

func (s *txnScript) writeMarkers() {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = s.version()
	p := s.producer(s.next())
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.Committed = p.id, p.epoch, s.next() == "commit"
	m.CoordinatorEpoch, m.TransactionVersion = int32(s.number("coordinator", -1)), int8(s.number("tv", 0))
	for len(s.words) > 0 {
		m.Topics = append(m.Topics, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: s.name(), Partitions: []int32{0}})
	}
	req.Markers = []kmsg.WriteTxnMarkersRequestMarker{m}
	codes := map[string]string{}
	for _, t := range s.roundTrip(req).(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics {
		codes[t.Topic] = codeName(t.Partitions[0].ErrorCode)
	}
	var line []string
	for _, t := range m.Topics {
		line = append(line, codes[t.Topic])
	}
	s.say("%s", strings.Join(line, " "))
}

func (s *txnScript) describe() {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	for len(s.words) > 0 {
		req.TransactionalIDs = append(req.TransactionalIDs, s.name())
	}
	for _, st := range s.roundTrip(req).(*kmsg.DescribeTransactionsResponse).TransactionStates {
		if st.ErrorCode != 0 {
			s.say("%s %q", codeName(st.ErrorCode), st.State)
			continue
		}
		s.say("%s %q %s timeout=%d started=%v topics=%d", codeName(st.ErrorCode), st.State,
			s.told(st.ProducerID, st.ProducerEpoch), st.TimeoutMillis, st.StartTimestamp > 0, len(st.Topics))
	}
}

// list counts the ids of this script that are listed.
func (s *txnScript) list() {
	req := kmsg.NewPtrListTransactionsRequest()
	req.Version, req.DurationFilterMillis = s.version(), s.number("longer", -1)
	if states := s.named["states"]; states != "" {
		req.StateFilters = strings.Split(states, ",")
	}
	if like, ok := s.named["like"]; ok {
		like = s.prefix + like
		req.TransactionalIDPattern = &like
	}
	r := s.roundTrip(req).(*kmsg.ListTransactionsResponse)
	n := 0
	for _, st := range r.TransactionStates {
		if strings.HasPrefix(st.TransactionalID, s.prefix) {
			n++
		}
	}
	s.say("%s unknown=%v listed=%d", codeName(r.ErrorCode), r.UnknownStateFilters, n)
}
