package batch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/moldau-broker/moldau/protocol/codec"
)

// apacheEnv names the address (host:port) of an Apache Kafka broker. The tests of
// this file send it what the other tests give to Admit, and compare.
const apacheEnv = "MOLDAU_APACHE"

// apache is the judge.
type apache struct {
	client *kgo.Client
	admin  *kadm.Client
	broker *kgo.Broker
	prefix string
	topics int
}

// dialApache connects with the newest Produce that names topics, or an old one.
func dialApache(t *testing.T, produce int16) *apache {
	addr := os.Getenv(apacheEnv)
	if addr == "" {
		t.Skipf("SKIP apache: %s is not set", apacheEnv)
	}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.Produce), produce)
	versions.SetMaxKeyVersion(int16(kmsg.Fetch), 12)
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.MaxVersions(versions))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	a := &apache{client: client, admin: kadm.NewClient(client), prefix: fmt.Sprintf("batch-%d", time.Now().UnixNano())}
	brokers, err := a.admin.ListBrokers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.broker = client.Broker(int(brokers[0].NodeID))
	return a
}

// topic makes a topic with the rules, to be deleted after the test.
func (a *apache) topic(t *testing.T, r Rules) string {
	a.topics++
	name := a.prefix + "-" + strconv.Itoa(a.topics)
	set := map[string]*string{
		"max.message.bytes":               kadm.StringPtr(strconv.Itoa(cmp.Or(r.MaxBytes, math.MaxInt32))),
		"message.timestamp.type":          kadm.StringPtr("CreateTime"),
		"message.timestamp.before.max.ms": kadm.StringPtr(strconv.FormatInt(r.BeforeMaxMs, 10)),
		"message.timestamp.after.max.ms":  kadm.StringPtr(strconv.FormatInt(r.AfterMaxMs, 10)),
	}
	if r.LogAppendTime {
		set["message.timestamp.type"] = kadm.StringPtr("LogAppendTime")
	}
	if r.Compacted {
		set["cleanup.policy"] = kadm.StringPtr("compact")
	}
	if r.Recompress {
		name := r.Codec.String()
		if r.Codec == codec.None {
			name = "uncompressed"
		}
		set["compression.type"] = kadm.StringPtr(name)
	}
	made, err := a.admin.CreateTopic(t.Context(), 1, 1, set, name)
	if err := errors.Join(err, made.Err); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := a.admin.DeleteTopics(context.WithoutCancel(t.Context()), name); err != nil {
			t.Log(err)
		}
	})
	return name
}

// produce sends in as one partition's records, and says what the broker made of
// it in the words of kind, with the records it found at fault.
func (a *apache) produce(t *testing.T, topic string, in []byte) (verdict string, faulty []int32, base int64) {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Records = in
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	var part kmsg.ProduceResponseTopicPartition
	for {
		resp, err := a.broker.RetriableRequest(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		part = resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		// The topic may be younger than the broker's knowledge of it.
		if part.ErrorCode != kerr.UnknownTopicOrPartition.Code && part.ErrorCode != kerr.NotLeaderForPartition.Code {
			break
		}
	}
	for _, e := range part.ErrorRecords {
		faulty = append(faulty, e.RelativeOffset)
	}
	verdict, known := map[int16]string{
		0:                                    "ok",
		kerr.CorruptMessage.Code:             "corrupt",
		kerr.InvalidRecord.Code:              "invalid",
		kerr.InvalidTimestamp.Code:           "timestamp",
		kerr.MessageTooLarge.Code:            "large",
		kerr.UnsupportedCompressionType.Code: "codec",
		kerr.UnknownServerError.Code:         "unknown",
		kerr.TransactionalIDAuthorizationFailed.Code: "transactional",
	}[part.ErrorCode]
	if !known {
		verdict = kerr.ErrorForCode(part.ErrorCode).Error()
	}
	return verdict, faulty, part.BaseOffset
}

// stored reads back the batch at offset.
func (a *apache) stored(t *testing.T, topic string, offset int64) Batch {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MaxWaitMillis, req.MinBytes = 1<<30, 1000, 1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.FetchOffset, rp.PartitionMaxBytes = offset, 1<<30
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := a.broker.RetriableRequest(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	part := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
		t.Fatal(err)
	}
	b, _, err := Next(part.RecordBatches)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestApacheHeaders(t *testing.T) {
	newest, oldest := dialApache(t, 9), dialApache(t, 6)
	byRules := map[Rules]string{}
	for name, tc := range headerCases() {
		t.Run(name, func(t *testing.T) {
			a := newest
			if !tc.rules.AllowZstd {
				a = oldest
			}
			topic, ok := byRules[tc.rules]
			if !ok {
				topic = a.topic(t, tc.rules)
			}
			got, _, _ := a.produce(t, topic, tc.in)
			if want := cmp.Or(tc.apache, tc.want); got != want {
				t.Errorf("Apache says %s, expected %s", got, want)
			}
		})
	}
}

func TestApacheRecords(t *testing.T) {
	a := dialApache(t, 9)
	for name := range recordCases(0) {
		t.Run(name, func(t *testing.T) {
			r := defaults
			for _, change := range recordCases(0)[name].rules {
				change(&r)
			}
			topic := a.topic(t, r)
			for c := codec.None; c <= codec.Zstd; c++ {
				r.NowMs = time.Now().UnixMilli()
				tc := recordCases(r.NowMs)[name]
				verdict, faulty, base := a.produce(t, topic, tc.batch(c))
				if verdict != tc.want {
					t.Errorf("%v: Apache says %s, expected %s", c, verdict, tc.want)
				}
				if diff := gocmp.Diff(tc.faulty, faulty); diff != "" {
					t.Errorf("%v: records at fault, expected (-), Apache (+):\n%s", c, diff)
				}
				if verdict == "ok" && tc.want == "ok" {
					compareStored(t, tc.batch(c), r, a.stored(t, topic, base))
				}
			}
		})
	}
}

// compareStored admits in and compares with what Apache stored of it.
func compareStored(t *testing.T, in Batch, r Rules, theirs Batch) {
	t.Helper()
	if r.LogAppendTime {
		r.NowMs = theirs.MaxTimestamp()
	}
	ours, err := Admit(in, r)
	if err != nil {
		t.Error(err)
		return
	}
	ours.SetBaseOffset(theirs.BaseOffset())
	ours.SetLeaderEpoch(theirs.LeaderEpoch())
	if bytes.Equal(ours, theirs) {
		return
	}
	// Compressed anew, the bytes differ; all else must not.
	want, err1 := entries(theirs, codec.NoLimit)
	got, err2 := entries(ours, codec.NoLimit)
	diff := diffEntries(want, got)
	if !bytes.Equal(theirs[atAttributes:HeaderLen], ours[atAttributes:HeaderLen]) || err1 != nil || err2 != nil || diff != "" || ours.Codec() == codec.None {
		t.Errorf("Apache stored\n%x, we\n%x\n%v, %v, records (Apache -, ours +):\n%s", []byte(theirs), []byte(ours), err1, err2, diff)
	}
}

// TestApacheBadRecords: what is no record is invalid there too, but for a length
// that is no number, which is an unknown error.
func TestApacheBadRecords(t *testing.T) {
	a := dialApache(t, 9)
	topic := a.topic(t, defaults)
	for name, tc := range badRecords() {
		for c := codec.None; c <= codec.Zstd; c++ {
			want := "invalid"
			if name == "length without end" && c == codec.None {
				want = "unknown"
			}
			verdict, faulty, _ := a.produce(t, topic, crafted(t, c, tc.count, tc.payload))
			if verdict != want || len(faulty) > 0 {
				t.Errorf("%s, %v: Apache says %s %v", name, c, verdict, faulty)
			}
		}
	}
}

// TestApacheOffsetDeltas shows what Admit does not take over.
func TestApacheOffsetDeltas(t *testing.T) {
	a := dialApache(t, 9)
	topic := a.topic(t, defaults)
	records := [][]byte{raw(byte(0), 0, 0, 1, "a", -1, 0), raw(byte(0), 1, 5, 1, "b", -1, 0)}
	if verdict, _, _ := a.produce(t, topic, crafted(t, codec.Gzip, 2, records...)); verdict != "unknown" {
		t.Errorf("compressed: Apache says %s", verdict)
	}
	verdict, _, base := a.produce(t, topic, crafted(t, codec.None, 2, records...))
	if verdict != "ok" {
		t.Fatalf("uncompressed: Apache says %s", verdict)
	}
	got, err := entries(a.stored(t, topic, base), codec.NoLimit)
	if err != nil || got[1].Offset != base+5 {
		t.Errorf("the second record at base %d is %+v, %v", base, got[1], err)
	}
	r := with(func(r *Rules) { r.Recompress, r.Codec = true, codec.Zstd })
	topic = a.topic(t, r)
	in := crafted(t, codec.Gzip, 2, records...)
	verdict, _, base = a.produce(t, topic, in)
	if verdict != "ok" {
		t.Fatalf("recompressed: Apache says %s", verdict)
	}
	compareStored(t, in, r, a.stored(t, topic, base))
}

// TestApacheRecompresses stores a batch in each codec, as the broker compresses.
// With MOLDAU_GOLDEN set to a directory it writes the golden files of TestGolden.
func TestApacheRecompresses(t *testing.T) {
	a := dialApache(t, 9)
	for c := codec.None; c <= codec.Zstd; c++ {
		r := with(func(r *Rules) { r.Recompress, r.Codec = true, c })
		topic := a.topic(t, r)
		for from := codec.None; from <= codec.Zstd; from++ {
			in := sample(from, 40, 60)
			verdict, _, base := a.produce(t, topic, in)
			if verdict != "ok" {
				t.Fatalf("%v to %v: Apache says %s", from, c, verdict)
			}
			theirs := a.stored(t, topic, base)
			compareStored(t, in, r, theirs)
			if dir := os.Getenv("MOLDAU_GOLDEN"); dir != "" && from == (c+1)%5 {
				if err := os.WriteFile(dir+"/apache-"+c.String()+".batch", theirs, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestApacheMarkers ends two transactions and reads their markers back. With
// MOLDAU_GOLDEN set it writes golden files of them.
func TestApacheMarkers(t *testing.T) {
	a := dialApache(t, 9)
	topic := a.topic(t, defaults)
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Getenv(apacheEnv)), kgo.TransactionalID(topic), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i, name := range []string{"commit", "abort"} {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(t.Context(), kgo.StringRecord("v")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := client.EndTransaction(t.Context(), name == "commit"); err != nil {
			t.Fatal(err)
		}
		marker := a.stored(t, topic, int64(2*i+1))
		if !marker.Control() || !marker.Transactional() || marker.Count() != 1 {
			t.Errorf("%s: %x", name, []byte(marker))
		}
		if dir := os.Getenv("MOLDAU_GOLDEN"); dir != "" {
			if err := os.WriteFile(dir+"/apache-"+name+".batch", marker, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
