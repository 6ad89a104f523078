package transactions

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// offsetsScenarios are about offsets that are committed with a transaction.
var offsetsScenarios = []scenario.Scenario{
	{ID: "transactions.metadata-too-large", Says: "An offset whose metadata is too large is refused alone, and the group's offsets are stable when the transaction ends.", Refs: []string{"KAFKA-16371", "case T11"}, Run: scenario.ByBoth(metadataTooLargeInTransaction)},
	{ID: "transactions.add-offsets.whole-answer", Says: "AddOffsetsToTxn adds a group in any version, and refuses producers that are not known or fenced.", Refs: []string{"KIP-98"}, Run: addOffsetsAnswers},
	{ID: "transactions.commit-offsets.whole-answer", Says: "Offsets of a transaction are committed in any version and with every field, each partition that is not there is refused alone.", Refs: []string{"KIP-98", "KIP-447"}, Run: commitOffsetsAnswers},
	{ID: "transactions.commit-offsets.refused", Says: "TxnOffsetCommit refuses groups without a name, producers that are not known or fenced, and members of no group.", Refs: []string{"KIP-447"}, Run: commitOffsetsRefused},
	// Alone: where others ask meanwhile, Kafka tells all of them what the first one knows.
	{ID: "transactions.commit-offsets.not-added", Says: "Offsets of a group that was not added to the transaction are INVALID_TXN_STATE, and TRANSACTION_ABORTABLE in version 4.", Refs: []string{"KIP-890"}, Alone: true, Run: commitOffsetsNotAdded},
}

func metadataTooLargeInTransaction(p *scenario.Transactor) {
	t, topic, group := p.T, p.T.Topic(2), p.T.Group()
	version := int16(5)
	if !p.Modern {
		version = t.Newest(kmsg.TxnOffsetCommit, 3)
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.TxnID, p.ID, p.Epoch, group
		t.Until("adding the group's offsets", func() bool {
			resp := scenario.Ask[*kmsg.AddOffsetsToTxnResponse](t, t.Newest(kmsg.AddOffsetsToTxn, 3), req)
			if scenario.CoordinatorBusy(resp.ErrorCode) {
				return false
			}
			t.OK("AddOffsetsToTxn", resp.ErrorCode)
			return true
		})
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.TxnID, group, p.ID, p.Epoch, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = topic
	for i, metadata := range []string{strings.Repeat("m", 10<<10), "ok"} {
		rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.Metadata = int32(i), 7, &metadata
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	codes := map[int32]int16{}
	t.Until("an answer of the group's coordinator", func() bool {
		resp := scenario.Ask[*kmsg.TxnOffsetCommitResponse](t, version, req)
		clear(codes)
		for _, rp := range scenario.One(t, "topics", resp.Topics).Partitions {
			codes[rp.Partition] = rp.ErrorCode
		}
		return !scenario.CoordinatorBusy(codes[1])
	})
	t.Code("too much metadata", codes[0], kerr.OffsetMetadataTooLarge)
	t.OK("some metadata", codes[1])

	fetch := t.OffsetFetchRequest(8, group, topic, 0, 1)
	fetch.RequireStable = true
	stable := func() map[int32]kmsg.OffsetFetchResponseTopicPartition {
		got := map[int32]kmsg.OffsetFetchResponseTopicPartition{}
		for _, rp := range t.CommittedBy(8, fetch) {
			got[rp.Partition] = rp
		}
		scenario.Equal(t, "partitions", len(got), 2)
		return got
	}
	open := stable()
	t.OK("the refused offset while the transaction is open", open[0].ErrorCode)
	t.Code("the other while the transaction is open", open[1].ErrorCode, kerr.UnstableOffsetCommit)
	p.End(true)
	t.Until("a stable offset", func() bool { return stable()[1].ErrorCode == 0 })
	ended := stable()
	t.OK("the refused offset", ended[0].ErrorCode)
	scenario.Equal(t, "the refused offset", ended[0].Offset, -1)
	scenario.Equal(t, "the committed offset", ended[1].Offset, 7)
}

func addOffsets(p *scenario.Transactor, version int16, group string) *kmsg.AddOffsetsToTxnResponse {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.TxnID, p.ID, p.Epoch, group
	return scenario.Calm(p.T, version, req, func(r *kmsg.AddOffsetsToTxnResponse) []int16 { return []int16{r.ErrorCode} })
}

func addOffsetsAnswers(t *scenario.T) {
	group := t.Group()
	t.Each(kmsg.AddOffsetsToTxn, 0, 4, func(v int16) {
		p := t.OlderTransactor()
		scenario.Whole(t, "a group", addOffsets(p, v, group), &kmsg.AddOffsetsToTxnResponse{})
		described := kmsg.NewPtrDescribeTransactionsRequest()
		described.TransactionalIDs = []string{p.TxnID}
		state := scenario.One(t, "transactions", scenario.Ask[*kmsg.DescribeTransactionsResponse](t, 0, described).TransactionStates)
		scenario.Equal(t, "state", state.State, "Ongoing")
		in := scenario.One(t, "topics", state.Topics)
		scenario.Equal(t, "topic in the transaction", in.Topic, "__consumer_offsets")
		scenario.One(t, "partitions", in.Partitions)
		scenario.Whole(t, "the group again", addOffsets(p, v, group), &kmsg.AddOffsetsToTxnResponse{})
		p.Epoch++
		scenario.Whole(t, "an epoch that is to come", addOffsets(p, v, group), &kmsg.AddOffsetsToTxnResponse{ErrorCode: fencedCode(v, 2)})
		p.Epoch--
		p.ID++
		scenario.Whole(t, "another producer", addOffsets(p, v, group), &kmsg.AddOffsetsToTxnResponse{ErrorCode: kerr.InvalidProducerIDMapping.Code})
	})
}

// offsetsRequest commits offsets 10, 11 and so on for partitions of a topic.
func offsetsRequest(p *scenario.Transactor, group, topic string, partitions ...int32) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.TxnID, group, p.ID, p.Epoch, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = topic
	for _, n := range partitions {
		rt.Partitions = append(rt.Partitions, scenario.Filled(func(rp *kmsg.TxnOffsetCommitRequestTopicPartition) {
			rp.Partition, rp.Offset, rp.LeaderEpoch = n, 10+int64(n), 0
			if n > 0 {
				rp.Metadata = new("of " + strconv.Itoa(int(n)))
			}
		}))
	}
	req.Topics = append(req.Topics, rt)
	return req
}

func commitOffsets(t *scenario.T, version int16, req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	got := scenario.Calm(t, version, req, func(r *kmsg.TxnOffsetCommitResponse) (codes []int16) {
		for _, rt := range r.Topics {
			for _, rp := range rt.Partitions {
				codes = append(codes, rp.ErrorCode)
			}
		}
		return codes
	})
	slices.SortFunc(got.Topics, func(a, b kmsg.TxnOffsetCommitResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	for _, rt := range got.Topics {
		slices.SortFunc(rt.Partitions, func(a, b kmsg.TxnOffsetCommitResponseTopicPartition) int {
			return cmp.Compare(a.Partition, b.Partition)
		})
	}
	return got
}

// offsetsAnswer is a TxnOffsetCommit answer.
func offsetsAnswer(entries ...entry) *kmsg.TxnOffsetCommitResponse {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, e := range entries {
		rt := kmsg.NewTxnOffsetCommitResponseTopic()
		rt.Topic = e.topic
		for _, p := range slices.Sorted(maps.Keys(e.codes)) {
			rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p, ErrorCode: e.codes[p]})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	slices.SortFunc(resp.Topics, func(a, b kmsg.TxnOffsetCommitResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	return resp
}

func commitOffsetsAnswers(t *scenario.T) {
	topic, missing := t.Topic(2), t.Name("missing")
	t.Each(kmsg.TxnOffsetCommit, 0, 5, func(v int16) {
		group, p := t.Group(), &scenario.Transactor{T: t, Modern: v >= 5, TxnID: t.TransactionalID()}
		p.Init()
		if !p.Modern {
			t.OK("AddOffsetsToTxn", addOffsets(p, t.Newest(kmsg.AddOffsetsToTxn, 3), group).ErrorCode)
		}
		unknown := kerr.UnknownTopicOrPartition.Code
		req := offsetsRequest(p, group, topic, 0, 1, 2, -1)
		req.Topics = append(req.Topics, offsetsRequest(p, group, missing, 0).Topics...)
		scenario.Whole(t, "some are not there", commitOffsets(t, v, req),
			offsetsAnswer(entry{topic, map[int32]int16{-1: unknown, 0: 0, 1: 0, 2: unknown}}, entry{missing, map[int32]int16{0: unknown}}))
		scenario.Whole(t, "none is there", commitOffsets(t, v, offsetsRequest(p, group, topic, 2)), offsetsAnswer(entry{topic, map[int32]int16{2: unknown}}))
		scenario.Whole(t, "nothing to commit", commitOffsets(t, v, offsetsRequest(p, group, topic)), kmsg.NewPtrTxnOffsetCommitResponse())
		version := t.Newest(kmsg.OffsetFetch, 7)
		scenario.Equal(t, "offset while the transaction is open", t.Committed(version, group, topic, 1).Offset, -1)
		p.End(true)
		t.Until("the offsets", func() bool { return t.Committed(version, group, topic, 1).Offset != -1 })
		epoch := int32(-1)
		if v >= 2 {
			epoch = 0
		}
		for i, metadata := range []string{"", "of 1"} {
			got := t.Committed(version, group, topic, int32(i))
			scenario.Equal(t, "committed offset", got.Offset, 10+int64(i))
			scenario.Equal(t, "its leader epoch", got.LeaderEpoch, epoch)
			t.Text("its metadata", got.Metadata, metadata)
		}
	})
}

func commitOffsetsRefused(t *scenario.T) {
	topic, joined := t.Topic(1), t.Group()
	m := t.Stable(joined)
	t.Each(kmsg.TxnOffsetCommit, 0, 5, func(v int16) {
		group, p := t.Group(), &scenario.Transactor{T: t, Modern: v >= 5, TxnID: t.TransactionalID()}
		p.Init()
		commit := func(what, group string, want int16, change func(req *kmsg.TxnOffsetCommitRequest)) {
			req := offsetsRequest(p, group, topic, 0)
			if change != nil {
				change(req)
			}
			scenario.Whole(t, what, commitOffsets(t, v, req), offsetsAnswer(entry{topic, map[int32]int16{0: want}}))
		}
		if !p.Modern {
			t.OK("AddOffsetsToTxn", addOffsets(p, t.Newest(kmsg.AddOffsetsToTxn, 3), group).ErrorCode)
		}
		commit("a group without a name", "", kerr.InvalidGroupID.Code, nil)
		// The next id may be of a producer that writes to the same partition of __consumer_offsets,
		// of which the coordinator is not asked again.
		commit("another producer", group, kerr.InvalidProducerIDMapping.Code, func(req *kmsg.TxnOffsetCommitRequest) { req.ProducerID += 1 << 40 })
		commit("an epoch that is to come", group, kerr.InvalidProducerEpoch.Code, func(req *kmsg.TxnOffsetCommitRequest) { req.ProducerEpoch++ })
		if v >= 3 {
			commit("a generation of a group that has none", group, kerr.IllegalGeneration.Code, func(req *kmsg.TxnOffsetCommitRequest) { req.Generation = 3 })
		}
		commit("all is well", group, 0, nil)
		if v >= 3 {
			if !p.Modern {
				t.OK("AddOffsetsToTxn", addOffsets(p, t.Newest(kmsg.AddOffsetsToTxn, 3), joined).ErrorCode)
			}
			as := func(id string, generation int32) func(req *kmsg.TxnOffsetCommitRequest) {
				return func(req *kmsg.TxnOffsetCommitRequest) { req.MemberID, req.Generation = id, generation }
			}
			commit("no member of a group that has one", joined, kerr.UnknownMemberID.Code, as("nobody", m.Generation))
			commit("the generation before", joined, kerr.IllegalGeneration.Code, as(m.ID, m.Generation-1))
			commit("the generation after", joined, kerr.IllegalGeneration.Code, as(m.ID, m.Generation+1))
			commit("the member", joined, 0, as(m.ID, m.Generation))
		}
		p.End(false)
		scenario.Equal(t, "offset after an abort", t.Committed(t.Newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, -1)
	})
}

func commitOffsetsNotAdded(t *scenario.T) {
	topic, group := t.Topic(1), t.Group()
	t.Each(kmsg.TxnOffsetCommit, 0, 4, func(v int16) {
		want := kerr.InvalidTxnState.Code
		if v == 4 {
			want = kerr.TransactionAbortable.Code
		}
		p := t.OlderTransactor()
		scenario.Whole(t, "a group that is not in the transaction", commitOffsets(t, v, offsetsRequest(p, group, topic, 0)), offsetsAnswer(entry{topic, map[int32]int16{0: want}}))
	})
}
