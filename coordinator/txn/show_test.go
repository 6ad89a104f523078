package txn

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/coordtest"
)

// showTransaction prints an id; times are in seconds since the script began.
func showTransaction(t *transaction) string {
	s := fmt.Sprintf("%s %v %d/%d", t.id, t.status, t.producerID, t.epoch)
	if t.prevProducerID != noID {
		s += fmt.Sprintf(" prev=%d", t.prevProducerID)
	}
	if t.nextProducerID != noID {
		s += fmt.Sprintf(" next=%d", t.nextProducerID)
	}
	for _, topic := range t.topics {
		s += fmt.Sprintf(" %s%v", topic.Name, topic.Partitions)
	}
	s += fmt.Sprintf(" timeout=%dms updated=%s", t.timeoutMs, since(t.updateMs))
	if t.startMs >= 0 {
		s += " started=" + since(t.startMs)
	}
	return s + fmt.Sprintf(" tv=%d", t.clientVersion)
}

func since(ms int64) string {
	return fmt.Sprintf("%gs", float64(ms-coordtest.Start.UnixMilli())/1000)
}

func showRecord(r coordinator.Record) string {
	var key kmsg.TxnMetadataKey
	must(key.ReadFrom(r.Key))
	if r.Value == nil {
		return key.TransactionalID + " gone"
	}
	v := kmsg.NewTxnMetadataValue()
	must(v.ReadFrom(r.Value))
	t, err := fromRecord(key.TransactionalID, &v)
	must(err)
	return fmt.Sprintf("v%d %s", v.Version, showTransaction(&t))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func errorName(code int16) string {
	if code == 0 {
		return "ok"
	}
	return kerr.TypedErrorForCode(code).Message
}

func showReply(r coordinator.Reply) string {
	if r.Err != nil {
		return "error: " + r.Err.Error()
	}
	switch b := r.Body.(type) {
	case nil:
		return "done"
	case *kmsg.InitProducerIDResponse:
		return fmt.Sprintf("%s %d/%d", errorName(b.ErrorCode), b.ProducerID, b.ProducerEpoch)
	case *kmsg.EndTxnResponse:
		if b.Version < endEpochBump {
			return errorName(b.ErrorCode)
		}
		return fmt.Sprintf("%s %d/%d", errorName(b.ErrorCode), b.ProducerID, b.ProducerEpoch)
	case *kmsg.AddPartitionsToTxnResponseTransaction:
		var s []string
		for _, t := range b.Topics {
			for _, p := range t.Partitions {
				s = append(s, fmt.Sprintf("%s/%d:%s", t.Topic, p.Partition, errorName(p.ErrorCode)))
			}
		}
		return strings.Join(s, " ")
	case *kmsg.DescribeTransactionsResponse:
		var s []string
		for _, st := range b.TransactionStates {
			one := fmt.Sprintf("%s %s", st.TransactionalID, errorName(st.ErrorCode))
			if st.ErrorCode == 0 {
				one = fmt.Sprintf("%s %s %d/%d timeout=%dms start=%d", st.TransactionalID, st.State, st.ProducerID, st.ProducerEpoch, st.TimeoutMillis, st.StartTimestamp)
			}
			for _, t := range st.Topics {
				one += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
			}
			s = append(s, one)
		}
		return strings.Join(s, "; ")
	case []kmsg.ListTransactionsResponseTransactionState:
		s := "listed"
		for _, st := range b {
			s += fmt.Sprintf(" %s:%d:%s", st.TransactionalID, st.ProducerID, st.TransactionState)
		}
		return s
	}
	panic(fmt.Sprintf("reply %T", r.Body))
}

func showSend(message any) string {
	switch m := message.(type) {
	case Markers:
		outcome := "abort"
		if m.Commit {
			outcome = "commit"
		}
		s := fmt.Sprintf("markers %s %s %d/%d v%d", m.TransactionalID, outcome, m.ProducerID, m.Epoch, m.Version)
		for _, t := range m.Topics {
			s += fmt.Sprintf(" %s%v", t.Name, t.Partitions)
		}
		return s
	case WantProducerIDs:
		return fmt.Sprintf("want %d ids", m.Count)
	}
	panic(fmt.Sprintf("send %T", message))
}
