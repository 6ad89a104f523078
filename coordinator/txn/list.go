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

// List asks for the ids of a shard that pass a filter. The reply is a
// []kmsg.ListTransactionsResponseTransactionState in order of ids.
type List struct {
	Filter Filter
}

func (s *Shard) list(t coordinator.Ticket, f Filter) {
	var found []kmsg.ListTransactionsResponseTransactionState
	for id, e := range s.ids {
		if f.passes(e, s.nowMs()) {
			st := kmsg.NewListTransactionsResponseTransactionState()
			st.TransactionalID, st.ProducerID, st.TransactionState = id, e.producerID, e.status.String()
			found = append(found, st)
		}
	}
	slices.SortFunc(found, func(a, b kmsg.ListTransactionsResponseTransactionState) int {
		return strings.Compare(a.TransactionalID, b.TransactionalID)
	})
	s.reply(t, found)
}

// Filter is what ListTransactions (66), versions 0 to 2, asks for.
type Filter struct {
	producerIDs []int64  // Empty: any.
	states      []string // Empty: any.
	longerMs    int64    // Open for more than this; negative: any.
	pattern     *regexp.Regexp
}

// NewFilter reads the filters of a request, and says which of the states are none.
// A pattern is RE2 (Kafka's is Java's, of which clients use what both have), and is
// for the whole id.
func NewFilter(req *kmsg.ListTransactionsRequest) (f Filter, unknown []string, errorCode int16) {
	f = Filter{producerIDs: req.ProducerIDFilters, states: req.StateFilters, longerMs: req.DurationFilterMillis}
	if req.Version < 1 {
		f.longerMs = -1
	}
	for _, name := range req.StateFilters {
		if !slices.Contains(kmsg.TransactionStateStrings(), name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if p := req.TransactionalIDPattern; p != nil && *p != "" {
		// Alone first: a pattern must not close the group that is put around it.
		if _, err := regexp.Compile(*p); err != nil {
			return f, nil, kerr.InvalidRegularExpression.Code
		}
		f.pattern = regexp.MustCompile(`^(?:` + *p + `)$`)
	}
	return f, unknown, 0
}

func (f Filter) passes(e *entry, nowMs int64) bool {
	switch {
	case len(f.producerIDs) > 0 && !slices.Contains(f.producerIDs, e.producerID):
		return false
	case len(f.states) > 0 && !slices.Contains(f.states, e.status.String()):
		return false
	case f.longerMs >= 0 && nowMs-e.startMs <= f.longerMs:
		return false
	}
	return f.pattern == nil || f.pattern.MatchString(e.id)
}
