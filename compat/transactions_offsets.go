package compat

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (p *transactor) addOffsets(version int16, group string) *kmsg.AddOffsetsToTxnResponse {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.txnID, p.id, p.epoch, group
	return calm(p.t, version, req, func(r *kmsg.AddOffsetsToTxnResponse) []int16 { return []int16{r.ErrorCode} })
}

func addOffsetsAnswers(t *T) {
	group := t.Group()
	t.each(kmsg.AddOffsetsToTxn, 0, 4, func(v int16) {
		p := t.older()
		whole(t, "a group", p.addOffsets(v, group), &kmsg.AddOffsetsToTxnResponse{})
		described := kmsg.NewPtrDescribeTransactionsRequest()
		described.TransactionalIDs = []string{p.txnID}
		state := one(t, "transactions", ask[*kmsg.DescribeTransactionsResponse](t, 0, described).TransactionStates)
		equal(t, "state", state.State, "Ongoing")
		in := one(t, "topics", state.Topics)
		equal(t, "topic in the transaction", in.Topic, "__consumer_offsets")
		one(t, "partitions", in.Partitions)
		whole(t, "the group again", p.addOffsets(v, group), &kmsg.AddOffsetsToTxnResponse{})
		p.epoch++
		whole(t, "an epoch that is to come", p.addOffsets(v, group), &kmsg.AddOffsetsToTxnResponse{ErrorCode: fencedCode(v, 2)})
		p.epoch--
		p.id++
		whole(t, "another producer", p.addOffsets(v, group), &kmsg.AddOffsetsToTxnResponse{ErrorCode: kerr.InvalidProducerIDMapping.Code})
	})
}

// offsetsRequest commits offsets 10, 11 and so on for partitions of a topic.
func (p *transactor) offsetsRequest(group, topic string, partitions ...int32) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = p.txnID, group, p.id, p.epoch, -1
	rt := kmsg.NewTxnOffsetCommitRequestTopic()
	rt.Topic = topic
	for _, n := range partitions {
		rt.Partitions = append(rt.Partitions, filled(func(rp *kmsg.TxnOffsetCommitRequestTopicPartition) {
			rp.Partition, rp.Offset, rp.LeaderEpoch = n, 10+int64(n), 0
			if n > 0 {
				rp.Metadata = new("of " + strconv.Itoa(int(n)))
			}
		}))
	}
	req.Topics = append(req.Topics, rt)
	return req
}

func (t *T) commitOffsets(version int16, req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	got := calm(t, version, req, func(r *kmsg.TxnOffsetCommitResponse) (codes []int16) {
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

func commitOffsetsAnswers(t *T) {
	topic, missing := t.Topic(2), t.name("missing")
	t.each(kmsg.TxnOffsetCommit, 0, 5, func(v int16) {
		group, p := t.Group(), &transactor{t: t, modern: v >= 5, txnID: t.transactionalID()}
		p.init()
		if !p.modern {
			t.ok("AddOffsetsToTxn", p.addOffsets(t.newest(kmsg.AddOffsetsToTxn, 3), group).ErrorCode)
		}
		unknown := kerr.UnknownTopicOrPartition.Code
		req := p.offsetsRequest(group, topic, 0, 1, 2, -1)
		req.Topics = append(req.Topics, p.offsetsRequest(group, missing, 0).Topics...)
		whole(t, "some are not there", t.commitOffsets(v, req),
			offsetsAnswer(entry{topic, map[int32]int16{-1: unknown, 0: 0, 1: 0, 2: unknown}}, entry{missing, map[int32]int16{0: unknown}}))
		whole(t, "none is there", t.commitOffsets(v, p.offsetsRequest(group, topic, 2)), offsetsAnswer(entry{topic, map[int32]int16{2: unknown}}))
		whole(t, "nothing to commit", t.commitOffsets(v, p.offsetsRequest(group, topic)), kmsg.NewPtrTxnOffsetCommitResponse())
		version := t.newest(kmsg.OffsetFetch, 7)
		equal(t, "offset while the transaction is open", t.committed(version, group, topic, 1).Offset, -1)
		p.end(true)
		t.until("the offsets", func() bool { return t.committed(version, group, topic, 1).Offset != -1 })
		epoch := int32(-1)
		if v >= 2 {
			epoch = 0
		}
		for i, metadata := range []string{"", "of 1"} {
			got := t.committed(version, group, topic, int32(i))
			equal(t, "committed offset", got.Offset, 10+int64(i))
			equal(t, "its leader epoch", got.LeaderEpoch, epoch)
			t.text("its metadata", got.Metadata, metadata)
		}
	})
}

func commitOffsetsRefused(t *T) {
	topic, joined := t.Topic(1), t.Group()
	m := t.stable(joined)
	t.each(kmsg.TxnOffsetCommit, 0, 5, func(v int16) {
		group, p := t.Group(), &transactor{t: t, modern: v >= 5, txnID: t.transactionalID()}
		p.init()
		commit := func(what, group string, want int16, change func(req *kmsg.TxnOffsetCommitRequest)) {
			req := p.offsetsRequest(group, topic, 0)
			if change != nil {
				change(req)
			}
			whole(t, what, t.commitOffsets(v, req), offsetsAnswer(entry{topic, map[int32]int16{0: want}}))
		}
		if !p.modern {
			t.ok("AddOffsetsToTxn", p.addOffsets(t.newest(kmsg.AddOffsetsToTxn, 3), group).ErrorCode)
		}
		commit("a group without a name", "", kerr.InvalidGroupID.Code, nil)
		commit("another producer", group, kerr.InvalidProducerIDMapping.Code, func(req *kmsg.TxnOffsetCommitRequest) { req.ProducerID++ })
		commit("an epoch that is to come", group, kerr.InvalidProducerEpoch.Code, func(req *kmsg.TxnOffsetCommitRequest) { req.ProducerEpoch++ })
		if v >= 3 {
			commit("a generation of a group that has none", group, kerr.IllegalGeneration.Code, func(req *kmsg.TxnOffsetCommitRequest) { req.Generation = 3 })
		}
		commit("all is well", group, 0, nil)
		if v >= 3 {
			if !p.modern {
				t.ok("AddOffsetsToTxn", p.addOffsets(t.newest(kmsg.AddOffsetsToTxn, 3), joined).ErrorCode)
			}
			as := func(id string, generation int32) func(req *kmsg.TxnOffsetCommitRequest) {
				return func(req *kmsg.TxnOffsetCommitRequest) { req.MemberID, req.Generation = id, generation }
			}
			commit("no member of a group that has one", joined, kerr.UnknownMemberID.Code, as("nobody", m.generation))
			commit("the generation before", joined, kerr.IllegalGeneration.Code, as(m.id, m.generation-1))
			commit("the generation after", joined, kerr.IllegalGeneration.Code, as(m.id, m.generation+1))
			commit("the member", joined, 0, as(m.id, m.generation))
		}
		p.end(false)
		equal(t, "offset after an abort", t.committed(t.newest(kmsg.OffsetFetch, 7), group, topic, 0).Offset, -1)
	})
}

func commitOffsetsNotAdded(t *T) {
	topic, group := t.Topic(1), t.Group()
	t.each(kmsg.TxnOffsetCommit, 0, 4, func(v int16) {
		want := kerr.InvalidTxnState.Code
		if v == 4 {
			want = kerr.TransactionAbortable.Code
		}
		p := t.older()
		whole(t, "a group that is not in the transaction", t.commitOffsets(v, p.offsetsRequest(group, topic, 0)), offsetsAnswer(entry{topic, map[int32]int16{0: want}}))
	})
}
