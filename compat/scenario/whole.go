package scenario

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Whole fails unless every field of an answer is the wanted one. What an answer of
// got's version cannot say is left out of want: it may be set for every version.
func Whole[R kmsg.Response](t *T, what string, got, want R) {
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
		return []string{fmt.Sprintf("%s: got %s, want %s", strings.TrimPrefix(at, "."), Plain(got.Interface()), Plain(want.Interface()))}
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

// Filled is a struct of the protocol with its default values, and what set does.
func Filled[V any, P interface {
	*V
	Default()
}](set func(v P)) V {
	var v V
	P(&v).Default()
	set(&v)
	return v
}

// FilledPtr is filled, as a pointer.
func FilledPtr[V any, P interface {
	*V
	Default()
}](set func(v P)) P {
	v := Filled[V, P](set)
	return &v
}
