package brokertest

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// noRoom names the APIs whose answers have no error code, or only beside something
// that the request does not name, up to which version.
var noRoom = map[kmsg.Key]int16{
	kmsg.AlterReplicaLogDirs: 2,
	kmsg.DescribeLogDirs:     2,
}

// Every request of a client, in every version of Kafka 4.2, can be made to fail:
// the code is in the answer as the client decodes it, for each thing that the
// request is about.
func TestEveryRequestCanFail(t *testing.T) {
	const code = 3
	kversion.V4_2_0().EachMaxKeyVersion(func(k, maxVersion int16) {
		key := kmsg.Key(k)
		for v := int16(0); v <= maxVersion; v++ {
			q := kmsg.RequestForKey(int16(key))
			q.SetVersion(v)
			fill(reflect.ValueOf(q).Elem())
			// As it arrives: what that version does not have is not there.
			in := kmsg.RequestForKey(int16(key))
			in.SetVersion(v)
			if err := in.ReadFrom(q.AppendTo(nil)); err != nil {
				t.Fatalf("%s version %d: %v", key.Name(), v, err)
			}
			resp := failure(in, code)
			resp.SetVersion(v)
			out := in.ResponseKind()
			out.SetVersion(v)
			if err := out.ReadFrom(resp.AppendTo(nil)); err != nil {
				t.Fatalf("%s version %d: %v", key.Name(), v, err)
			}
			last, listed := noRoom[key]
			if want := !listed || v > last; failed(out) != want {
				t.Errorf("%s version %d: has the answer a code? %v, want %v: %+v", key.Name(), v, !want, want, out)
			}
		}
	})
}

// fill puts something into every field of a request.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "UnknownTags" && name != "Version" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Array: // Ids.
		v.Index(0).SetUint(1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	}
}

// What an answer that is an error is about is what the request was about.
func TestFailureNamesTheSame(t *testing.T) {
	code := kerr.NotLeaderForPartition.Code
	id := [16]byte{1}
	for name, tc := range map[string]struct {
		req  kmsg.Request
		want kmsg.Response
	}{
		"Produce": {
			&kmsg.ProduceRequest{Version: 13, Topics: []kmsg.ProduceRequestTopic{
				{TopicID: id, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1}, {Partition: 4}}},
			}},
			&kmsg.ProduceResponse{Version: 13, Topics: []kmsg.ProduceResponseTopic{
				{TopicID: id, Partitions: []kmsg.ProduceResponseTopicPartition{produced(1, code), produced(4, code)}},
			}},
		},
		"a name that stands for a group": {
			&kmsg.DescribeGroupsRequest{Version: 5, Groups: []string{"g", "h"}},
			&kmsg.DescribeGroupsResponse{Version: 5, Groups: []kmsg.DescribeGroupsResponseGroup{
				described("g", code), described("h", code),
			}},
		},
		"numbers that stand for partitions": {
			&kmsg.AddPartitionsToTxnRequest{Version: 3, Topics: []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "a", Partitions: []int32{7}}}},
			&kmsg.AddPartitionsToTxnResponse{Version: 3, ErrorCode: code, Topics: []kmsg.AddPartitionsToTxnResponseTopic{
				{Topic: "a", Partitions: []kmsg.AddPartitionsToTxnResponseTopicPartition{{Partition: 7, ErrorCode: code}}},
			}},
		},
		"another name of the list": {
			&kmsg.FindCoordinatorRequest{Version: 4, CoordinatorKeys: []string{"g"}},
			&kmsg.FindCoordinatorResponse{Version: 4, ErrorCode: code, Coordinators: []kmsg.FindCoordinatorResponseCoordinator{
				{Key: "g", ErrorCode: code},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, failure(tc.req, code), cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func produced(n int32, code int16) kmsg.ProduceResponseTopicPartition {
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.LogStartOffset = n, code, -1, -1, -1
	return p
}

func described(group string, code int16) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group, g.ErrorCode = group, code
	return g
}
