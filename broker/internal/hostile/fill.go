package hostile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol/batch"
	"github.com/moldau-broker/moldau/protocol/codec"
)

// Filler makes valid requests whose names and numbers mean something to a broker
// now and then: a random topic would be refused at the first gate. It belongs to
// one goroutine, and the same seed and answers make the same requests.
type Filler struct {
	rng   *rand.Rand
	known map[string][]reflect.Value // What answers told, by the name of the field.
}

// NewFiller returns a Filler that knows these topics and groups.
func NewFiller(rng *rand.Rand, topics, groups []string) *Filler {
	f := &Filler{rng: rng, known: map[string][]reflect.Value{}}
	for _, t := range topics {
		f.note("Topic", reflect.ValueOf(t))
	}
	for _, g := range groups {
		f.note("Group", reflect.ValueOf(g))
	}
	return f
}

// perName bounds what is remembered of one field.
const perName = 12

// learned names the fields of answers that are worth asking for later.
var learned = map[string]bool{
	"MemberID": true, "TopicID": true, "SessionID": true, "ProducerID": true, "ProducerEpoch": true,
	"Generation": true, "LeaderID": true, "ClusterID": true, "LeaderEpoch": true, "LogDir": true,
}

// synonyms are names of fields that mean the same.
var synonyms = map[string]string{
	"Name": "Topic", "ResourceName": "Topic", "Topics": "Topic", "TopicNames": "Topic",
	"GroupID": "Group", "Groups": "Group", "CoordinatorKey": "Group", "CoordinatorKeys": "Group",
	"SessionEpoch": "Generation", "GenerationID": "Generation", "MemberEpoch": "Generation",
	"CurrentLeaderEpoch": "LeaderEpoch", "LastFetchedEpoch": "LeaderEpoch", "ID": "TopicID",
}

// Learn remembers the ids that an answer gave out.
func (f *Filler) Learn(resp kmsg.Response) { f.learn("", reflect.ValueOf(resp).Elem()) }

func (f *Filler) learn(name string, v reflect.Value) {
	if learned[name] {
		f.note(name, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.learn(name, v.Elem())
		}
	case reflect.Slice:
		for i := range min(v.Len(), 4) {
			f.learn(name, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.learn(v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
}

func (f *Filler) note(name string, v reflect.Value) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	if list := f.known[name]; len(list) < perName {
		f.known[name] = append(list, own)
	} else {
		list[f.rng.IntN(perName)] = own
	}
}

// Request makes a request of that API and version; nil if there is no such API.
func (f *Filler) Request(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil
	}
	req.SetVersion(version)
	v := reflect.ValueOf(req).Elem()
	f.fill("", v, 0)
	req.SetVersion(version)
	return req
}

// fill gives v a value. The depth keeps frames small.
func (f *Filler) fill(name string, v reflect.Value, depth int) {
	if name == "UnknownTags" || name == "Version" {
		return
	}
	if f.fromKnown(name, v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.rng.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.integer(name, v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(f.rng.NormFloat64())
	case reflect.String:
		v.SetString(f.text(name))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(f.rng.IntN(256)))
		}
	case reflect.Pointer:
		if f.rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(name, v.Elem(), depth)
		}
	case reflect.Slice:
		f.slice(name, v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				f.fill(field.Name, v.Field(i), depth+1)
			}
		}
	}
}

func (f *Filler) slice(name string, v reflect.Value, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes(f.blob(name))
		return
	}
	n := f.rng.IntN(3)
	if depth <= 2 {
		n = f.rng.IntN(4)
	}
	if n == 0 && f.rng.IntN(2) == 0 {
		return // Null, where the schema allows it.
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(name, v.Index(i), depth+1)
	}
}

// fromKnown takes what an answer told, mostly.
func (f *Filler) fromKnown(name string, v reflect.Value) bool {
	list := f.known[name]
	if list == nil {
		list = f.known[synonyms[name]]
	}
	if len(list) == 0 || f.rng.IntN(5) == 0 {
		return false
	}
	from := list[f.rng.IntN(len(list))]
	if v.Kind() == reflect.Pointer && v.Type().Elem() == from.Type() {
		v.Set(reflect.New(from.Type()))
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice || !from.Type().ConvertibleTo(v.Type()) || from.Kind() != v.Kind() {
		return false
	}
	v.Set(from.Convert(v.Type()))
	return true
}

// edges are numbers at which code goes wrong.
var edges = []int64{
	-1, 0, 1, -2, -3, -4, -5, -6, 2, 3, 7, 127, 128, 255, 256, math.MaxInt16, math.MaxInt16 + 1, math.MaxInt32, math.MinInt32,
	math.MaxInt64, math.MinInt64, 10_000, 100_001, 1 << 20, 1 << 40,
}

// likelies are numbers that open a gate, by the name of the field.
var likelies = map[string][]int64{
	"ReplicaID": {-1, -1, -1, -2, 1}, "SessionEpoch": {-1, -1, 0, 0, 1}, "SessionID": {0, 0, 1}, "Acks": {-1, -1, 1, 0},
	"ResourceType": {2, 2, 4, 8, 16, 32}, "Op": {0, 1, 2, 3}, "CurrentLeaderEpoch": {-1, 0}, "LastFetchedEpoch": {-1, 0},
	"ReplicationFactor": {1, -1, 1, 2}, "Partition": {0, 0, 1, 2}, "ReplicaAssignment": {1}, "Replicas": {1, 1, 2},
	"PartitionMaxBytes": {1 << 20, 100, 0}, "MaxBytes": {1 << 20, 100, 0}, "FetchOffset": {0, 0, 1, 2, 5},
}

// millis are durations and times that mean something.
var millis = []int64{0, 1, 100, 6_000, 30_000, -1, math.MaxInt32}

func (f *Filler) integer(name string, bits int) int64 {
	var n int64
	likely := likelies[name]
	if strings.HasSuffix(name, "Millis") {
		likely = millis
	}
	switch {
	case likely != nil && f.rng.IntN(8) > 0:
		n = likely[f.rng.IntN(len(likely))]
	case f.rng.IntN(3) > 0:
		n = int64(f.rng.IntN(4)) // A partition, an epoch, an offset, a kind.
	default:
		n = edges[f.rng.IntN(len(edges))]
	}
	shift := 64 - bits
	return n << shift >> shift
}

// words are texts that mean something somewhere.
var words = []string{
	"", "a", "range", "consumer", "moldau", "1", "-1", "retention.ms", "cleanup.policy", "compact", "segment.bytes",
	"max.message.bytes", "compression.type", "zstd", "__consumer_offsets", "..", "../../etc", "a b", "\x00", "\xff\xfe",
	"metadata.version", "kraft.version", "__cluster_metadata", "min.insync.replicas", "log.retention.ms", "9223372036854775807",
}

func (f *Filler) text(name string) string {
	switch f.rng.IntN(8) {
	case 0:
		return strings.Repeat("x", f.rng.IntN(260))
	case 1:
		return name
	}
	return words[f.rng.IntN(len(words))]
}

func (f *Filler) blob(name string) []byte {
	switch {
	case name == "Records":
		return f.batch()
	case f.rng.IntN(3) == 0:
		m := kmsg.NewConsumerMemberMetadata()
		m.Topics = []string{"t", "u"}
		return m.AppendTo(nil)
	}
	b := make([]byte, f.rng.IntN(40))
	for i := range b {
		b[i] = byte(f.rng.Uint32())
	}
	return b
}

// batch makes record batches as producers do: mostly one, and mostly sound.
func (f *Filler) batch() []byte {
	meta := batch.Plain(0, -1)
	meta.Codec = codec.Codec(f.rng.IntN(5))
	meta.Level = codec.DefaultLevel
	if f.rng.IntN(2) == 0 {
		meta.ProducerID, meta.BaseSequence = int64(f.rng.IntN(3)), int32(f.rng.IntN(4))
		meta.Transactional = f.rng.IntN(4) == 0
		if ids := f.known["ProducerID"]; len(ids) > 0 {
			meta.ProducerID = ids[f.rng.IntN(len(ids))].Int()
		}
	}
	b := batch.NewBuilder(meta)
	for range 1 + f.rng.IntN(4) {
		b.Append(time.Now().UnixMilli(), []byte("key"), bytes.Repeat([]byte("v"), f.rng.IntN(60)),
			batch.Header{Key: []byte("h"), Value: nil})
	}
	return b.Build()
}
