package differential

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// node is a value of a request or an answer, without what a broker drew itself.
type node struct {
	text   string // Of a plain value.
	zero   bool
	list   bool
	names  []string // Of the fields, if it has any.
	inside []*node
}

// hour is the width of a world's own time, ms.
const hour = 3_600_000

// unordered are the lists whose order Kafka does not fix, by their elements or place, with
// the reason. All others must agree in order too.
var unordered = map[string]string{
	"MetadataResponseTopic":                                        "Kafka keeps the topics of a request in a set",
	"MetadataResponseTopicPartition":                               "and a topic's partitions in a map",
	"CreateTopicsResponseTopicConfig":                              "a map of settings",
	"DescribeConfigsResponseResourceConfig":                        "a map of settings",
	"ListGroupsResponseGroup":                                      "all groups of the broker, from a map",
	"ListTransactionsResponseTransactionState":                     "all transactional ids of the broker, from a map",
	"DescribeGroupsResponseGroupMember":                            "the members of a group are a map",
	"ConsumerGroupDescribeResponseGroupMember":                     "the members of a group are a map",
	"JoinGroupResponseMember":                                      "the members of a group are a map",
	"DescribeTransactionsResponseTransactionStateTopic":            "the partitions of a transaction are a set",
	"ProduceResponseTopic":                                         "what was refused and what was appended are gathered in maps",
	"ProduceResponseTopicPartition":                                "what was refused and what was appended are gathered in maps",
	"ListOffsetsResponseTopic":                                     "the topics that are known are told from the others by a map",
	"ListOffsetsResponseTopicPartition":                            "the partitions of a topic are a map",
	"DescribeGroupsResponseGroup":                                  "groups are asked by their coordinators' partitions, which are a map",
	"ConsumerGroupDescribeResponseGroup":                           "groups are asked by their coordinators' partitions, which are a map",
	"DeleteGroupsResponseGroup":                                    "groups are asked by their coordinators' partitions, which are a map",
	"DescribeProducersResponseTopicPartitionActiveProducer":        "the producers of a partition are a map",
	"DeleteRecordsResponseTopic":                                   "the partitions of the answer are a map",
	"DeleteRecordsResponseTopicPartition":                          "the partitions of the answer are a map",
	"AddPartitionsToTxnResponseTopic":                              "the partitions of the answer are a map",
	"AddPartitionsToTxnResponseTopicPartition":                     "the partitions of the answer are a map",
	"AddPartitionsToTxnResponseTransaction":                        "the answers are gathered as they come",
	"AddPartitionsToTxnResponseTransactionTopic":                   "the partitions of the answer are a map",
	"AddPartitionsToTxnResponseTransactionTopicPartition":          "the partitions of the answer are a map",
	"DescribeLogDirsResponseDirTopic":                              "the logs of a directory are a map",
	"DescribeLogDirsResponseDirTopicPartition":                     "the logs of a directory are a map",
	"OffsetFetchResponseTopic":                                     "all offsets of a group are a map",
	"OffsetFetchResponseGroupTopic":                                "all offsets of a group are a map",
	"OffsetFetchResponseTopicPartition":                            "all offsets of a group are a map",
	"OffsetFetchResponseGroupTopicPartition":                       "all offsets of a group are a map",
	"ConsumerGroupHeartbeatResponseAssignmentTopic":                "an assignment is a map",
	"AssignmentTopicPartition":                                     "an assignment is a map",
	"ConsumerMemberAssignmentTopic":                                "the broker makes it of a map by topic id, if the group is a consumer group",
	"ApiVersionsResponseApiKey":                                    "keys may come in any order",
	"ApiVersionsResponseSupportedFeature":                          "features are a map",
	"ApiVersionsResponseFinalizedFeature":                          "features are a map",
	"CreateTopicsResponseTopic":                                    "the controller gathers results in a map",
	"DeleteTopicsResponseTopic":                                    "the controller gathers results in a map, and shuffles them",
	"CreatePartitionsResponseTopic":                                "the controller gathers results in a map",
	"AlterConfigsResponseResource":                                 "results are a map",
	"IncrementalAlterConfigsResponseResource":                      "results are a map",
	"DescribeTransactionsResponseTransactionStateTopic.Partitions": "the partitions of a transaction are a set",
	"string":                      "lists of names, as of states, are sets",
	"FetchResponseTopic":          "errors come first, and clients take the partitions for a map",
	"FetchResponseTopicPartition": "errors come first, and clients take the partitions for a map",
	"FetchResponseTopicPartitionAbortedTransaction": "clients sort them",
}

// normalise makes what is comparable of a request or an answer.
func (v *view) normalise(m any) *node {
	if f, ok := m.(*kmsg.FetchResponse); ok {
		m = merged(f)
	}
	return v.node(reflect.ValueOf(m), "", "")
}

// merged is a Fetch answer with one entry for each topic: Kafka begins another one
// whenever the next partition is of another topic.
func merged(f *kmsg.FetchResponse) *kmsg.FetchResponse {
	out := *f
	out.Topics = nil
	for _, t := range f.Topics {
		at := slices.IndexFunc(out.Topics, func(o kmsg.FetchResponseTopic) bool { return o.Topic == t.Topic && o.TopicID == t.TopicID })
		if at < 0 {
			out.Topics = append(out.Topics, t)
			continue
		}
		out.Topics[at].Partitions = slices.Concat(out.Topics[at].Partitions, t.Partitions)
	}
	return &out
}

func (v *view) node(x reflect.Value, owner, field string) *node {
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() || field == "ErrorMessage" && x.Elem().String() == "" {
			return &node{text: "null", zero: true}
		}
		n := v.node(x.Elem(), owner, field)
		n.zero = false // An empty text is not none.
		return n
	case reflect.Struct:
		return v.structure(x)
	case reflect.Slice:
		if x.Type().Elem().Kind() == reflect.Uint8 {
			return v.raw(x, field)
		}
		return v.elements(x, owner, field)
	case reflect.Array:
		return v.uuid(x)
	case reflect.String:
		return v.word(x.String(), field)
	case reflect.Bool:
		return &node{text: strconv.FormatBool(x.Bool()), zero: !x.Bool()}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.number(x.Int(), owner, field)
	default:
		return &node{text: fmt.Sprint(x.Interface()), zero: x.IsZero()}
	}
}

func (v *view) structure(x reflect.Value) *node {
	n := &node{zero: true}
	for i := range x.NumField() {
		f := x.Type().Field(i)
		switch f.Name {
		case "Version", "UnknownTags", "ThrottleMillis":
			continue
		}
		if !f.IsExported() {
			continue
		}
		inner := v.node(x.Field(i), x.Type().Name(), f.Name)
		n.names, n.inside = append(n.names, f.Name), append(n.inside, inner)
		n.zero = n.zero && inner.zero
	}
	return n
}

func (v *view) elements(x reflect.Value, owner, field string) *node {
	n := &node{list: true, zero: x.IsNil()}
	if _, filtered := v.foreign(reflect.Zero(x.Type().Elem())); x.IsNil() && !filtered {
		n.text = "null"
	}
	anyOrder := unordered[x.Type().Elem().Name()] != "" || unordered[owner+"."+field] != ""
	for _, i := range v.turns(x, field, anyOrder) {
		if foreign, _ := v.foreign(x.Index(i)); foreign {
			continue
		}
		n.inside = append(n.inside, v.node(x.Index(i), x.Type().Elem().Name(), field))
	}
	if anyOrder {
		slices.SortStableFunc(n.inside, func(a, b *node) int { return cmp.Compare(a.String(), b.String()) })
	}
	return n
}

// turns is the order in which the elements of a list are looked at. Where the list has no
// order, what brokers draw is named in the order of what else the elements say: of two
// members that are heard of at once the same one is the first on both sides.
func (v *view) turns(x reflect.Value, field string, anyOrder bool) []int {
	all := make([]int, x.Len())
	said := make([]string, x.Len())
	for i := range all {
		all[i] = i
	}
	if !anyOrder || len(all) < 2 {
		return all
	}
	before := v.peeks
	v.peeks = true
	for i := range said {
		said[i] = v.node(x.Index(i), x.Type().Elem().Name(), field).String()
	}
	v.peeks = before
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(said[a], said[b]) })
	return all
}

// foreign says whether an element of a list of everything is of no concern to this
// world, and whether such lists have any.
func (v *view) foreign(x reflect.Value) (foreign, filtered bool) {
	switch e := x.Interface().(type) {
	case kmsg.ListGroupsResponseGroup:
		return !strings.HasPrefix(e.Group, v.prefix), true
	case kmsg.ListTransactionsResponseTransactionState:
		return !strings.HasPrefix(e.TransactionalID, v.prefix), true
	case kmsg.MetadataResponseTopic: // One that was asked for by another name has an error.
		return e.ErrorCode == 0 && e.Topic != nil && !strings.HasPrefix(*e.Topic, v.prefix), true
	}
	return false, false
}

func (v *view) raw(x reflect.Value, field string) *node {
	b := x.Bytes()
	switch {
	case x.IsNil():
		return &node{text: "null", zero: true}
	case field == "RecordBatches" || field == "Records":
		return v.batches(b)
	case field == "MemberAssignment":
		if n := v.assignment(b); n != nil {
			return n
		}
	}
	return &node{text: fmt.Sprintf("%q", strings.ReplaceAll(string(b), v.prefix, ""))}
}

// assignment reads an assignment as consumers do; nil if it is none.
func (v *view) assignment(b []byte) *node {
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(b) != nil || !bytes.Equal(a.AppendTo(nil), b) {
		return nil
	}
	n := v.structure(reflect.ValueOf(a))
	n.names = append(n.names, "AssignmentVersion") // Which is no version of a request.
	n.inside = append(n.inside, &node{text: strconv.Itoa(int(a.Version))})
	n.zero = false
	return n
}

func (v *view) uuid(x reflect.Value) *node {
	b := make([]byte, x.Len())
	reflect.Copy(reflect.ValueOf(b), x)
	if x.IsZero() {
		return &node{text: "0", zero: true}
	}
	if [16]byte(b) == strangerTopic {
		return &node{text: "unknown-id"}
	}
	return &node{text: v.symbol("topic", string(b))}
}

// word is a text without what the broker drew or may say in its own words.
func (v *view) word(s, field string) *node {
	switch field {
	case "ClusterID", "Host", "LogDir", "Dir", "Documentation":
		return &node{text: "a " + field, zero: s == ""}
	case "ErrorMessage":
		return &node{text: "said", zero: s == ""}
	case "MemberID", "LeaderID":
		if name := strings.TrimPrefix(s, v.prefix); s != "" && name != "nobody" && !slices.Contains(memberNames, name) {
			return &node{text: v.symbol("member", s)}
		}
	}
	return &node{text: strconv.Quote(strings.ReplaceAll(s, v.prefix, "")), zero: s == ""}
}

func (v *view) number(i int64, _, field string) *node {
	n := &node{text: strconv.FormatInt(i, 10), zero: i == 0}
	switch {
	case field == "ErrorCode":
		n.text = codeName(int16(i))
	case field == "Port" && i > 0, field == "TotalBytes" && i > 0, field == "UsableBytes" && i > 0:
		n.text = "a " + field
	case field == "CoordinatorEpoch" && i >= 0: // It counts restarts.
		n.text, n.zero = "an epoch", false
	case field == "SessionID" && i != 0 && i != strangerSession:
		n.text = v.symbol("session", n.text)
	case (field == "ProducerID" || field == "ProducerIDs" || field == "ProducerIDFilters") && i >= 0:
		n.text, n.zero = v.producerName(i), false
	case (strings.Contains(field, "Timestamp") || field == "LogAppendTime") && i >= v.base && i < 1<<62:
		n.text = v.time(i)
	}
	return n
}

func (v *view) producerName(id int64) string {
	if name, ok := v.symbols["producer"][strconv.FormatInt(id, 10)]; ok {
		return name
	}
	if id == strangerProducer {
		return "unknown-producer"
	}
	return "a producer never seen"
}

// time is a timestamp in the world's own time, or one of the broker's.
func (v *view) time(at int64) string {
	if at < v.base+hour {
		return fmt.Sprintf("t+%d", at-v.base)
	}
	return "now"
}

func codeName(code int16) string {
	if code == 0 {
		return "0"
	}
	if err := kerr.TypedErrorForCode(code); err != nil && err.Code == code {
		return err.Message
	}
	return strconv.Itoa(int(code))
}

// String prints a node as a person would write it, without fields that are zero.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch {
	case n.list && n.text == "null":
		b.WriteString("null")
	case n.list:
		b.WriteByte('[')
		for i, e := range n.inside {
			if i > 0 {
				b.WriteByte(' ')
			}
			e.write(b)
		}
		b.WriteByte(']')
	case n.names != nil:
		n.writeFields(b)
	default:
		b.WriteString(n.text)
	}
}

func (n *node) writeFields(b *strings.Builder) {
	b.WriteByte('{')
	first := true
	for i, name := range n.names {
		if n.inside[i].zero {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(name + ":")
		n.inside[i].write(b)
	}
	b.WriteByte('}')
}

// place is where two nodes do not agree.
type place struct {
	path        string  // Without the places in lists.
	here, there string  // What stands there.
	near        [2]node // What holds it: the innermost with fields.
}

// saysMore says whether an error is explained here that Kafka does not explain. The
// words are a broker's own.
func (p place) saysMore() bool {
	code := p.near[0].field("ErrorCode")
	return strings.HasSuffix(p.path, ".ErrorMessage") && p.there == "null" && code != "" && code != "0"
}

// differ finds the places where two nodes do not agree.
func differ(a, b *node) []place {
	var found []place
	seek(a, b, "", [2]*node{a, b}, &found)
	return found
}

func seek(a, b *node, path string, near [2]*node, found *[]place) {
	switch {
	case a.list != b.list, len(a.names) != len(b.names), (a.text == "null") != (b.text == "null"), len(a.inside) != len(b.inside):
		*found = append(*found, place{path, a.String(), b.String(), [2]node{*near[0], *near[1]}})
	case a.list:
		for i := range a.inside {
			seek(a.inside[i], b.inside[i], path+"[]", near, found)
		}
	case a.names != nil:
		for i := range a.inside {
			seek(a.inside[i], b.inside[i], path+"."+a.names[i], [2]*node{a, b}, found)
		}
	case a.text != b.text:
		*found = append(*found, place{path, a.text, b.text, [2]node{*near[0], *near[1]}})
	}
}

// field is what a field of a node says, nothing if there is none.
func (n *node) field(name string) string {
	for i := range n.names {
		if n.names[i] == name {
			return n.inside[i].String()
		}
	}
	return ""
}
