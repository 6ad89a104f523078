package transactions

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/compat/scenario"
)

// endScenarios are about how transactions end.
var endScenarios = []scenario.Scenario{
	{ID: "transactions.control-record", Says: "A transaction ends with a batch of one control record: key version and type, value version and coordinator epoch.", Refs: []string{"KIP-98", "redpanda#179", "quix-streams#1017", "case T13", "case C07"}, Run: scenario.ByBoth(controlRecord)},
	{ID: "transactions.end.whole-answer", Says: "EndTxn ends a transaction once and may be repeated, but not with the other outcome; fenced producers end none.", Refs: []string{"KIP-98", "KIP-890"}, Run: endAnswers},
	{ID: "transactions.markers.whole-answer", Says: "WriteTxnMarkers ends a producer's transaction in each partition that is there.", Refs: []string{"KIP-98", "KIP-664", "KIP-1228"}, Run: markersAnswers},
	{ID: "transactions.log-append-time", Says: "The marker of a transaction bears the timestamp type of its topic.", Refs: []string{"KIP-32", "KIP-98"}, Run: scenario.ByBoth(markerAppendTime)}, // Found by a differential run.
}

func controlRecord(p *scenario.Transactor) {
	t := p.T
	for commit, kind := range map[bool]int16{false: 0, true: 1} {
		topic := t.Topic(1)
		before := time.Now().Add(-time.Hour).UnixMilli()
		p.Write(topic, 2, 0)
		id, epoch := p.ID, p.Epoch
		p.End(commit, topic)
		bs := t.Batches(t.Fetch(11, topic, 0).RecordBatches)
		scenario.Equal(t, "batches", len(bs), 2)
		marker := bs[1]
		// The last offset below the high watermark is no record: it is read all the same.
		scenario.Equal(t, "offset of what a fetch of the marker begins with", scenario.One(t, "batches", t.Batches(t.Fetch(11, topic, 2).RecordBatches)).Base, 2)
		behind := t.Fetch(11, topic, 3)
		t.OK("a fetch behind the marker", behind.ErrorCode)
		scenario.Equal(t, "bytes behind the marker", len(behind.RecordBatches), 0)
		scenario.Equal(t, "high watermark", behind.HighWatermark, 3)
		scenario.Equal(t, "offset", marker.Base, 2)
		scenario.Equal(t, "last offset delta", marker.LastDelta, 0)
		scenario.Equal(t, "attributes: control and transactional", marker.Attrs, int16(scenario.AttrControl|scenario.AttrTransactional))
		scenario.Equal(t, "producer id", marker.Producer, id)
		if p.Modern {
			scenario.Equal(t, "epoch, which ends with the transaction", marker.Epoch, epoch+1)
		} else {
			scenario.Equal(t, "epoch", marker.Epoch, epoch)
		}
		scenario.Equal(t, "sequence", marker.Sequence, -1)
		r := scenario.One(t, "records", marker.Records)
		scenario.Equal(t, "headers", len(r.Headers), 0)
		scenario.Equal(t, "it was written today", r.At > before, true)
		scenario.Equal(t, "length of the key", len(r.Key), 4)
		scenario.Equal(t, "version of the key", binary.BigEndian.Uint16(r.Key), 0)
		scenario.Equal(t, "type", int16(binary.BigEndian.Uint16(r.Key[2:])), kind)
		scenario.Equal(t, "length of the value", len(r.Value), 6)
		scenario.Equal(t, "version of the value", binary.BigEndian.Uint16(r.Value), 0)
		if e := int32(binary.BigEndian.Uint32(r.Value[2:])); e < 0 {
			t.Fatalf("the coordinator epoch is %d", e)
		}
	}
}

func endAnswers(t *scenario.T) {
	topic := t.Topic(1)
	t.Each(kmsg.EndTxn, 0, 5, func(v int16) {
		p := &scenario.Transactor{T: t, Modern: v >= 5, TxnID: t.TransactionalID()}
		p.Init()
		end := func(what string, commit bool, epoch int16, want kmsg.EndTxnResponse) {
			req := kmsg.NewPtrEndTxnRequest()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.TxnID, p.ID, epoch, commit
			got := scenario.Calm(t, v, req, func(r *kmsg.EndTxnResponse) []int16 { return []int16{r.ErrorCode} })
			scenario.Whole(t, what, got, &want)
			clear(p.Entered)
		}
		refused := func(code int16) kmsg.EndTxnResponse {
			return kmsg.EndTxnResponse{ErrorCode: code, ProducerID: -1, ProducerEpoch: -1}
		}
		ended := func(epoch int16) kmsg.EndTxnResponse {
			return kmsg.EndTxnResponse{ProducerID: p.ID, ProducerEpoch: epoch}
		}
		end("a commit of no transaction", true, p.Epoch, refused(kerr.InvalidTxnState.Code))
		p.Write(topic, 1, 0)
		end("an epoch that is to come", true, p.Epoch+1, refused(fencedCode(v, 2)))
		end("a commit", true, p.Epoch, ended(p.Epoch+1))
		end("the commit repeated", true, p.Epoch, ended(p.Epoch+1))
		end("an abort after the commit", false, p.Epoch, refused(kerr.InvalidTxnState.Code))
		if p.Modern {
			p.Epoch++
			clear(p.Next) // A new epoch.
		}
		p.Write(topic, 1, 0)
		end("an abort", false, p.Epoch, ended(p.Epoch+1))
		end("the abort repeated", false, p.Epoch, ended(p.Epoch+1))
		end("a commit after the abort", true, p.Epoch, refused(kerr.InvalidTxnState.Code))
		p.ID++
		end("another producer", true, p.Epoch, refused(kerr.InvalidProducerIDMapping.Code))
	})
}

func markersAnswers(t *scenario.T) {
	missing := t.Name("missing")
	t.Each(kmsg.WriteTxnMarkers, 1, 2, func(v int16) {
		for _, commit := range []bool{false, true} {
			topic, other := t.Topic(2), t.Topic(1)
			p, q := t.OlderTransactor(), t.OlderTransactor()
			p.Init() // There is an epoch before.
			p.Write(topic, 2, 0, 1)
			q.Write(other, 1, 0)
			marker := func(of *scenario.Transactor, topics ...kmsg.WriteTxnMarkersRequestMarkerTopic) kmsg.WriteTxnMarkersRequestMarker {
				return scenario.Filled(func(m *kmsg.WriteTxnMarkersRequestMarker) {
					m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch, m.Topics = of.ID, of.Epoch, commit, 7, topics
				})
			}
			of := func(topic string, partitions ...int32) kmsg.WriteTxnMarkersRequestMarkerTopic {
				return kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: topic, Partitions: partitions}
			}
			answer := func(of *scenario.Transactor, entries ...entry) kmsg.WriteTxnMarkersResponseMarker {
				return scenario.Filled(func(m *kmsg.WriteTxnMarkersResponseMarker) {
					m.ProducerID = of.ID
					for _, e := range entries {
						rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
						rt.Topic = e.topic
						for _, n := range slices.Sorted(maps.Keys(e.codes)) {
							rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: n, ErrorCode: e.codes[n]})
						}
						m.Topics = append(m.Topics, rt)
					}
				})
			}
			write := func(what string, markers []kmsg.WriteTxnMarkersRequestMarker, want ...kmsg.WriteTxnMarkersResponseMarker) {
				req, resp := kmsg.NewPtrWriteTxnMarkersRequest(), kmsg.NewPtrWriteTxnMarkersResponse()
				req.Markers, resp.Markers = markers, want
				scenario.Whole(t, what, markersInOrder(scenario.Ask[*kmsg.WriteTxnMarkersResponse](t, v, req)), markersInOrder(resp))
			}
			list := func(all ...kmsg.WriteTxnMarkersRequestMarker) []kmsg.WriteTxnMarkersRequestMarker { return all }
			unknown := kerr.UnknownTopicOrPartition.Code
			write("nothing", nil)
			write("where there is nothing", list(marker(p, of(missing, 0), of(other, 1))),
				answer(p, entry{missing, map[int32]int16{0: unknown}}, entry{other, map[int32]int16{1: unknown}}))
			old := *p
			old.Epoch--
			write("an epoch before", list(marker(&old, of(topic, 0))), answer(&old, entry{topic, map[int32]int16{0: kerr.InvalidProducerEpoch.Code}}))
			scenario.Equal(t, "end of the log before", t.EndOffset(topic), 2)
			write("two producers, and one partition behind the last", list(marker(p, of(topic, 0, 1, 2)), marker(q, of(other, 0))),
				answer(p, entry{topic, map[int32]int16{0: 0, 1: 0, 2: unknown}}), answer(q, entry{other, map[int32]int16{0: 0}}))
			for _, name := range []string{topic, other} {
				got := t.FetchCommitted(name, 0)
				scenario.Equal(t, "stable offset of "+name, got.LastStableOffset, got.HighWatermark)
				scenario.Equal(t, "aborted transactions of "+name, len(got.AbortedTransactions) == 0, commit)
				bs := t.Batches(got.RecordBatches)
				last := bs[len(bs)-1]
				scenario.EqualLists(t, "key and value of the marker", slices.Concat(scenario.One(t, "records", last.Records).Key, last.Records[0].Value),
					[]byte{0, 0, 0, byte(boolToInt(commit)), 0, 0, 0, 0, 0, 7})
				producers := producersOf(t, name)
				scenario.Equal(t, "transaction of the producer", producers[0].CurrentTxnStartOffset, -1)
				scenario.Equal(t, "epoch of its coordinator", producers[0].CoordinatorEpoch, 7)
			}
			lower := marker(p, of(topic, 0))
			lower.CoordinatorEpoch = 6
			write("an epoch of a coordinator before", list(lower), answer(p, entry{topic, map[int32]int16{0: kerr.TransactionCoordinatorFenced.Code}}))
		}
	})
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func markersInOrder(resp *kmsg.WriteTxnMarkersResponse) *kmsg.WriteTxnMarkersResponse {
	slices.SortFunc(resp.Markers, func(a, b kmsg.WriteTxnMarkersResponseMarker) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	for _, m := range resp.Markers {
		slices.SortFunc(m.Topics, func(a, b kmsg.WriteTxnMarkersResponseMarkerTopic) int { return cmp.Compare(a.Topic, b.Topic) })
		for _, rt := range m.Topics {
			slices.SortFunc(rt.Partitions, func(a, b kmsg.WriteTxnMarkersResponseMarkerTopicPartition) int {
				return cmp.Compare(a.Partition, b.Partition)
			})
		}
	}
	return resp
}

// producersOf are the producers that partition 0 remembers.
func producersOf(t *scenario.T, topic string) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	got := scenario.One(t, "partitions", scenario.One(t, "topics", scenario.Ask[*kmsg.DescribeProducersResponse](t, 0, req).Topics).Partitions)
	t.OK("DescribeProducers", got.ErrorCode)
	return got.ActiveProducers
}

func markerAppendTime(p *scenario.Transactor) {
	t := p.T
	for settings, stamped := range map[string]int16{"CreateTime": 0, "LogAppendTime": scenario.AttrLogAppendTime} {
		topic := t.Topic(1, "message.timestamp.type="+settings)
		before := time.Now().Add(-time.Hour).UnixMilli()
		p.Write(topic, 1, 0)
		p.End(true, topic)
		bs := t.Batches(t.Fetch(11, topic, 0).RecordBatches)
		scenario.Equal(t, "batches", len(bs), 2)
		marker := bs[1]
		scenario.Equal(t, "attributes of the marker", marker.Attrs, scenario.AttrControl|scenario.AttrTransactional|stamped)
		scenario.Equal(t, "its record was written today", scenario.One(t, "records", marker.Records).At > before, true)
	}
}
