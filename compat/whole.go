package compat

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// whole fails unless every field of an answer is the wanted one. What an answer of
// got's version cannot say is left out of want: it may be set for every version.
func whole[R kmsg.Response](t *T, what string, got, want R) {
	want.SetVersion(got.GetVersion())
	said := want.RequestKind().ResponseKind()
	said.SetVersion(got.GetVersion())
	if err := said.ReadFrom(want.AppendTo(nil)); err != nil {
		t.Fatalf("%s: the wanted answer cannot be written as version %d: %v", what, got.GetVersion(), err)
	}
	if all := differences("", reflect.ValueOf(got).Elem(), reflect.ValueOf(said).Elem()); len(all) > 0 {
		t.Fatalf("%s: %s", what, strings.Join(all, "; "))
	}
}

// differences tells where two values of one type differ: fields that have the same
// name in both, elements at the same place.
func differences(at string, got, want reflect.Value) []string {
	differ := func() []string {
		return []string{fmt.Sprintf("%s: got %s, want %s", strings.TrimPrefix(at, "."), plain(got.Interface()), plain(want.Interface()))}
	}
	switch got.Kind() {
	case reflect.Pointer:
		if got.IsNil() || want.IsNil() {
			break
		}
		return differences(at, got.Elem(), want.Elem())
	case reflect.Struct:
		if got.Type() == reflect.TypeFor[kmsg.Tags]() {
			break
		}
		var all []string
		for i := range got.NumField() {
			all = append(all, differences(at+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))...)
		}
		return all
	case reflect.Slice:
		if got.Type().Elem().Kind() != reflect.Struct || got.Len() != want.Len() || got.IsNil() != want.IsNil() {
			break
		}
		var all []string
		for i := range got.Len() {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, i), got.Index(i), want.Index(i))...)
		}
		return all
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		return differ()
	}
	return nil
}

// filled is a struct of the protocol with its default values, and what set does.
func filled[V any, P interface {
	*V
	Default()
}](set func(v P)) V {
	var v V
	P(&v).Default()
	set(&v)
	return v
}

// broker is where Metadata says that this broker is reached.
func (t *T) broker() kmsg.MetadataResponseBroker {
	resp := ask[*kmsg.MetadataResponse](t, t.newest(kmsg.Metadata, 9), metadataRequest())
	i := slices.IndexFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == t.Node() })
	if i < 0 {
		t.Fatalf("Metadata does not tell broker %d", t.Node())
	}
	return resp.Brokers[i]
}

// recent fails unless a time, in ms, is one of this hour.
func (t *T) recent(what string, ms int64) {
	if age := time.Since(time.UnixMilli(ms)); age.Abs() > time.Hour {
		t.Fatalf("%s: %v is %v ago", what, time.UnixMilli(ms), age)
	}
}
