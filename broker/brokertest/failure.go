package brokertest

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// failure is the answer to a request that fails as a whole: it names all that the
// request names, each with the error code, as Kafka's own clients make it of an
// exception. An answer that has no room for a code, such as that to Metadata for
// all topics, has none.
//
// kmsg gives the parts of a request and of its answer the same names, but for
// those in sources, so one walk makes the answers of all APIs.
func failure(req kmsg.Request, code int16) kmsg.Response {
	resp := req.ResponseKind()
	mirror(reflect.ValueOf(req).Elem(), reflect.ValueOf(resp).Elem(), code)
	return resp
}

// sources names the lists of a request that a list of its answer speaks about,
// where the names differ.
var sources = map[string][]string{
	"Coordinators":      {"CoordinatorKeys"},
	"Topics":            {"Topics", "TopicNames"},
	"Groups":            {"Groups", "GroupIDs"},
	"TransactionStates": {"TransactionalIDs"},
	"Results":           {"Results", "Creations", "Filters", "Users", "Deletions", "Upsertions", "FeatureUpdates"},
}

// identities are the fields by which an answer says what it is about.
var identities = map[string]bool{
	"Topic": true, "TopicID": true, "Partition": true, "Group": true, "Key": true, "Entity": true,
	"MemberID": true, "InstanceID": true, "TransactionalID": true, "ProducerID": true,
	"ResourceType": true, "ResourceName": true, "User": true, "Feature": true, "Type": true, "Name": true,
}

// unknowns are the numbers that are -1 in an answer that is an error.
var unknowns = map[string]bool{
	"BaseOffset": true, "LogAppendTime": true, "LogStartOffset": true, "Offset": true, "Timestamp": true,
	"HighWatermark": true, "LastStableOffset": true, "LowWatermark": true, "LeaderEpoch": true, "EndOffset": true,
}

// mirror fills a part of an answer from the part of the request that it is about:
// a struct, or the bare name or number that stands for one.
func mirror(src, dst reflect.Value, code int16) {
	if src.Kind() != reflect.Struct {
		identify(src, dst)
	}
	for i := range dst.NumField() {
		name, field := dst.Type().Field(i).Name, dst.Field(i)
		switch {
		case name == "ErrorCode" && field.Kind() == reflect.Int16:
			field.SetInt(int64(code))
		case unknowns[name] && field.CanInt():
			field.SetInt(-1)
		case src.Kind() != reflect.Struct:
		case identities[name]:
			assign(field, src.FieldByName(name))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			mirrorList(src, field, name, code)
		}
	}
}

// mirrorList fills a list of an answer with one element for each of the
// request's.
func mirrorList(src, dst reflect.Value, name string, code int16) {
	from := sources[name]
	if from == nil {
		from = []string{name}
	}
	for _, name := range from {
		list := src.FieldByName(name)
		if !list.IsValid() || list.Kind() != reflect.Slice {
			continue
		}
		for i := range list.Len() {
			elem := reflect.New(dst.Type().Elem())
			if d, ok := elem.Interface().(interface{ Default() }); ok {
				d.Default()
			}
			mirror(list.Index(i), elem.Elem(), code)
			dst.Set(reflect.Append(dst, elem.Elem()))
		}
	}
}

// identify puts a bare name or number into the first field of its type.
func identify(src, dst reflect.Value) {
	for i := range dst.NumField() {
		if identities[dst.Type().Field(i).Name] && assign(dst.Field(i), src) {
			return
		}
	}
}

// assign copies a value, also between a type and a pointer to it.
func assign(dst, src reflect.Value) bool {
	switch {
	case !src.IsValid():
		return false
	case src.Type() == dst.Type():
		dst.Set(src)
	case dst.Kind() == reflect.Pointer && dst.Type().Elem() == src.Type():
		dst.Set(reflect.New(src.Type()))
		dst.Elem().Set(src)
	case src.Kind() == reflect.Pointer && src.Type().Elem() == dst.Type() && !src.IsNil():
		dst.Set(src.Elem())
	default:
		return false
	}
	return true
}

// failed says whether an answer has an error code anywhere.
func failed(resp kmsg.Response) bool { return hasCode(reflect.ValueOf(resp).Elem()) }

func hasCode(v reflect.Value) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case v.Type().Field(i).Name == "ErrorCode" && f.CanInt() && f.Int() != 0:
			return true
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			for j := range f.Len() {
				if hasCode(f.Index(j)) {
					return true
				}
			}
		}
	}
	return false
}
