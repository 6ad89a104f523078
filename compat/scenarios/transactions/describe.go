package transactions

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// describeScenarios are about listing and describing transactions.
var describeScenarios = []scenario.Scenario{
	{ID: "transactions.listed", Says: "An open transaction is listed and described as Ongoing, and its partitions' producers with where it began.", Refs: []string{"KIP-664", "redpanda#11947", "redpanda#15247", "case T15"}, Run: scenario.ByBoth(transactionsListed)},
	{ID: "transactions.describe.whole-answer", Says: "DescribeTransactions, ListTransactions and DescribeProducers tell all of an open transaction.", Refs: []string{"KIP-664", "KIP-994", "KIP-1152"}, Run: describeTransactionAnswers},
	{ID: "transactions.list.unknown-state-once", Says: "ListTransactions names a state filter that it does not know once, however often it was sent.", Refs: []string{"KIP-664"}, Since: "3.0", Run: unknownStateOnce}, // Found by a differential run.
}

func transactionsListed(p *scenario.Transactor) {
	t, topic := p.T, p.T.Topic(1)
	describe := func() kmsg.DescribeTransactionsResponseTransactionState {
		req := kmsg.NewPtrDescribeTransactionsRequest()
		req.TransactionalIDs = []string{p.TxnID}
		return scenario.One(t, "transactions", scenario.Ask[*kmsg.DescribeTransactionsResponse](t, 0, req).TransactionStates)
	}
	listed := func(states ...string) []string {
		req := kmsg.NewPtrListTransactionsRequest()
		req.StateFilters, req.ProducerIDFilters = states, []int64{p.ID}
		resp := scenario.Ask[*kmsg.ListTransactionsResponse](t, t.Newest(kmsg.ListTransactions, 1), req)
		t.OK("ListTransactions", resp.ErrorCode)
		var all []string
		for _, s := range resp.TransactionStates {
			scenario.Equal(t, "producer id", s.ProducerID, p.ID)
			all = append(all, s.TransactionalID+" "+s.TransactionState)
		}
		return all
	}
	scenario.EqualLists(t, "before the first transaction", listed(), []string{p.TxnID + " Empty"})
	scenario.EqualLists(t, "open ones before the first", listed("Ongoing"), nil)
	scenario.Equal(t, "state before the first", describe().State, "Empty")

	t.Append(topic, scenario.PlainBatch("plain"))
	p.Write(topic, 2, 0)
	scenario.EqualLists(t, "open ones", listed("Ongoing"), []string{p.TxnID + " Ongoing"})
	got := describe()
	t.OK("describe", got.ErrorCode)
	scenario.Equal(t, "state", got.State, "Ongoing")
	scenario.Equal(t, "producer id", got.ProducerID, p.ID)
	scenario.Equal(t, "epoch", got.ProducerEpoch, p.Epoch)
	scenario.Equal(t, "timeout", got.TimeoutMillis, 60000)
	scenario.Equal(t, "it has begun", got.StartTimestamp > 0, true)
	scenario.Equal(t, "its topic", scenario.One(t, "topics", got.Topics).Topic, topic)

	req := kmsg.NewPtrDescribeProducersRequest()
	rt := kmsg.NewDescribeProducersRequestTopic()
	rt.Topic, rt.Partitions = topic, []int32{0}
	req.Topics = append(req.Topics, rt)
	producer := func() kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
		resp := scenario.Ask[*kmsg.DescribeProducersResponse](t, 0, req)
		described := scenario.One(t, "partitions", scenario.One(t, "topics", resp.Topics).Partitions)
		t.OK("describe", described.ErrorCode)
		return scenario.One(t, "producers", described.ActiveProducers)
	}
	active := producer()
	scenario.Equal(t, "producer id", active.ProducerID, p.ID)
	scenario.Equal(t, "epoch", active.ProducerEpoch, int32(p.Epoch))
	scenario.Equal(t, "last sequence", active.LastSequence, 1)
	scenario.Equal(t, "it has a timestamp", active.LastTimestamp > 0, true)
	scenario.Equal(t, "start of its transaction", active.CurrentTxnStartOffset, 1)
	p.End(true, topic)
	scenario.Equal(t, "start of its transaction when it has ended", producer().CurrentTxnStartOffset, -1)
	t.Until("the end of the transaction", func() bool { return describe().State == "CompleteCommit" })
}

func describeTransactionAnswers(t *scenario.T) {
	topic, unknownID := t.Topic(2), t.TransactionalID()
	p := t.OlderTransactor()
	p.Write(topic, 3, 0, 1)

	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{p.TxnID, unknownID}
	got := scenario.Ask[*kmsg.DescribeTransactionsResponse](t, 0, describe)
	scenario.Equal(t, "transactions", len(got.TransactionStates), 2)
	state := &got.TransactionStates[0]
	for i := range state.Topics {
		slices.Sort(state.Topics[i].Partitions)
	}
	t.Recent("start", state.StartTimestamp)
	want := kmsg.NewPtrDescribeTransactionsResponse()
	want.TransactionStates = []kmsg.DescribeTransactionsResponseTransactionState{
		scenario.Filled(func(s *kmsg.DescribeTransactionsResponseTransactionState) {
			s.TransactionalID, s.State, s.TimeoutMillis, s.StartTimestamp = p.TxnID, "Ongoing", 60000, state.StartTimestamp
			s.ProducerID, s.ProducerEpoch = p.ID, p.Epoch
			s.Topics = []kmsg.DescribeTransactionsResponseTransactionStateTopic{{Topic: topic, Partitions: []int32{0, 1}}}
		}),
		scenario.Filled(func(s *kmsg.DescribeTransactionsResponseTransactionState) {
			s.TransactionalID, s.ErrorCode = unknownID, kerr.TransactionalIDNotFound.Code
		}),
	}
	scenario.Whole(t, "DescribeTransactions", got, want)
	describedProducers(p, topic)
	listedTransactions(p)
	p.End(true, topic)
}

// describedProducers checks what is told of the producer of three records each in
// partitions 0 and 1.
func describedProducers(p *scenario.Transactor, topic string) {
	t, missing := p.T, p.T.Name("missing")
	producers := kmsg.NewPtrDescribeProducersRequest()
	producers.Topics = []kmsg.DescribeProducersRequestTopic{
		{Topic: topic, Partitions: []int32{0, 1, 2, -1}}, {Topic: missing, Partitions: []int32{0}}, {Topic: "a b", Partitions: []int32{0}},
	}
	found := scenario.Ask[*kmsg.DescribeProducersResponse](t, 0, producers)
	told := kmsg.NewPtrDescribeProducersResponse()
	rt := kmsg.NewDescribeProducersResponseTopic()
	rt.Topic = topic
	for i := range int32(2) {
		at := found.Topics[0].Partitions[i].ActiveProducers[0].LastTimestamp
		rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.DescribeProducersResponseTopicPartition) {
			rp.Partition = i
			rp.ActiveProducers = []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{scenario.Filled(func(a *kmsg.DescribeProducersResponseTopicPartitionActiveProducer) {
				a.ProducerID, a.ProducerEpoch, a.LastSequence, a.LastTimestamp = p.ID, int32(p.Epoch), 2, at
				a.CoordinatorEpoch, a.CurrentTxnStartOffset = -1, 0
			})}
		}))
		t.Recent("last timestamp", at)
	}
	refused := func(n int32, e *kerr.Error, message *string) kmsg.DescribeProducersResponseTopicPartition {
		return scenario.Filled(func(rp *kmsg.DescribeProducersResponseTopicPartition) {
			rp.Partition, rp.ErrorCode, rp.ErrorMessage = n, e.Code, message
		})
	}
	rt.Partitions = append(rt.Partitions, refused(2, kerr.UnknownTopicOrPartition, nil), refused(-1, kerr.UnknownTopicOrPartition, nil))
	told.Topics = []kmsg.DescribeProducersResponseTopic{
		rt,
		{Topic: missing, Partitions: []kmsg.DescribeProducersResponseTopicPartition{refused(0, kerr.UnknownTopicOrPartition, &kerr.UnknownTopicOrPartition.Description)}},
		{Topic: "a b", Partitions: []kmsg.DescribeProducersResponseTopicPartition{refused(0, kerr.InvalidTopicException, new("Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"))}},
	}
	scenario.Whole(t, "DescribeProducers", found, told)
}

// listedTransactions checks how the open transaction is listed.
func listedTransactions(p *scenario.Transactor) {
	t := p.T
	t.Each(kmsg.ListTransactions, 0, 2, func(v int16) {
		list := kmsg.NewPtrListTransactionsRequest()
		list.StateFilters, list.ProducerIDFilters, list.DurationFilterMillis = []string{"Ongoing", "NoSuchState"}, []int64{p.ID}, -1
		wanted := kmsg.NewPtrListTransactionsResponse()
		wanted.UnknownStateFilters = []string{"NoSuchState"}
		wanted.TransactionStates = []kmsg.ListTransactionsResponseTransactionState{scenario.Filled(func(s *kmsg.ListTransactionsResponseTransactionState) {
			s.TransactionalID, s.ProducerID, s.TransactionState = p.TxnID, p.ID, "Ongoing"
		})}
		scenario.Whole(t, "ListTransactions", scenario.Ask[*kmsg.ListTransactionsResponse](t, v, list), wanted)
		list.StateFilters, wanted.UnknownStateFilters = nil, nil
		scenario.Whole(t, "ListTransactions of all states", scenario.Ask[*kmsg.ListTransactionsResponse](t, v, list), wanted)
		none := kmsg.NewPtrListTransactionsResponse()
		if v >= 1 {
			list.DurationFilterMillis = 3600000
			scenario.Whole(t, "those of an hour", scenario.Ask[*kmsg.ListTransactionsResponse](t, v, list), none)
			list.DurationFilterMillis = -1
		}
		if v >= 2 {
			list.TransactionalIDPattern = &p.TxnID
			scenario.Whole(t, "those that match", scenario.Ask[*kmsg.ListTransactionsResponse](t, v, list), wanted)
			list.TransactionalIDPattern = new("no.*")
			scenario.Whole(t, "those that do not match", scenario.Ask[*kmsg.ListTransactionsResponse](t, v, list), none)
			list.TransactionalIDPattern = new("(")
			none.ErrorCode = kerr.InvalidRegularExpression.Code
			scenario.Whole(t, "no pattern", scenario.Ask[*kmsg.ListTransactionsResponse](t, v, list), none)
		}
	})
}

func unknownStateOnce(t *scenario.T) {
	t.Each(kmsg.ListTransactions, 0, 2, func(v int16) {
		req := kmsg.NewPtrListTransactionsRequest()
		req.StateFilters = []string{"Odd", "Odd"}
		resp := scenario.Ask[*kmsg.ListTransactionsResponse](t, v, req)
		t.OK("list", resp.ErrorCode)
		scenario.Equal(t, "state", scenario.One(t, "unknown states", resp.UnknownStateFilters), "Odd")
	})
}
