package txn

import (
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/coordinator"
)

// describe serves DescribeTransactions (65), version 0, for ids of this shard.
func (s *Shard) describe(t coordinator.Ticket, req *kmsg.DescribeTransactionsRequest) {
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range req.TransactionalIDs {
		st := kmsg.NewDescribeTransactionsResponseTransactionState()
		st.TransactionalID = id
		e := s.get(id)
		switch {
		case id == "":
			st.ErrorCode = kerr.InvalidRequest.Code
		case e == nil:
			st.ErrorCode = kerr.TransactionalIDNotFound.Code
		default:
			st.State, st.TimeoutMillis = e.status.String(), e.timeoutMs
			st.StartTimestamp, st.ProducerID, st.ProducerEpoch = e.startMs, e.producerID, e.epoch
			for _, topic := range e.topics {
				rt := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
				rt.Topic, rt.Partitions = topic.Name, topic.Partitions
				st.Topics = append(st.Topics, rt)
			}
		}
		resp.TransactionStates = append(resp.TransactionStates, st)
	}
	s.reply(t, resp)
}

// list serves ListTransactions (66), versions 0 to 2, for the ids of this shard.
func (s *Shard) list(t coordinator.Ticket, req *kmsg.ListTransactionsRequest) {
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	f, code := newFilter(req)
	if resp.ErrorCode = code; code != 0 {
		s.reply(t, resp)
		return
	}
	resp.UnknownStateFilters = f.unknown
	for id, e := range s.ids {
		if f.passes(e, s.nowMs()) {
			st := kmsg.NewListTransactionsResponseTransactionState()
			st.TransactionalID, st.ProducerID, st.TransactionState = id, e.producerID, e.status.String()
			resp.TransactionStates = append(resp.TransactionStates, st)
		}
	}
	slices.SortFunc(resp.TransactionStates, func(a, b kmsg.ListTransactionsResponseTransactionState) int {
		return strings.Compare(a.TransactionalID, b.TransactionalID)
	})
	s.reply(t, resp)
}

// filter is what ListTransactions asks for.
type filter struct {
	req     *kmsg.ListTransactionsRequest
	unknown []string       // Names that are no states.
	pattern *regexp.Regexp // nil: any id.
}

// newFilter reads the filters of a request. A pattern is RE2 (KIP-1152; Kafka's own
// is Java's, of which clients use what both have), and is for the whole id.
func newFilter(req *kmsg.ListTransactionsRequest) (filter, int16) {
	f := filter{req: req}
	for _, name := range req.StateFilters {
		if !slices.Contains(kmsg.TransactionStateStrings(), name) {
			f.unknown = append(f.unknown, name)
		}
	}
	if p := req.TransactionalIDPattern; p != nil && *p != "" {
		// Alone first: a pattern must not close the group that is put around it.
		if _, err := regexp.Compile(*p); err != nil {
			return f, kerr.InvalidRegularExpression.Code
		}
		f.pattern = regexp.MustCompile(`^(?:` + *p + `)$`)
	}
	return f, 0
}

func (f filter) passes(e *entry, nowMs int64) bool {
	switch {
	case len(f.req.ProducerIDFilters) > 0 && !slices.Contains(f.req.ProducerIDFilters, e.producerID):
		return false
	case len(f.req.StateFilters) > 0 && !slices.Contains(f.req.StateFilters, e.status.String()):
		return false
	case f.req.DurationFilterMillis >= 0 && nowMs-e.startMs <= f.req.DurationFilterMillis:
		return false
	}
	return f.pattern == nil || f.pattern.MatchString(e.id)
}
