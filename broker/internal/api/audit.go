package api

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Unknowns names the fields of a response that carry UNKNOWN_SERVER_ERROR where
// Apache Kafka would never send it. Tests set Env.Audit to a function that
// fails when there are any: the code means that an error reached a client that
// nobody had thought of.
func Unknowns(resp kmsg.Response) []string {
	if _, ok := mayBeUnknown[kmsg.Key(resp.Key())]; ok {
		return nil
	}
	return unknowns(kmsg.NameForKey(resp.Key()), reflect.ValueOf(resp).Elem())
}

func unknowns(path string, v reflect.Value) (found []string) {
	switch v.Kind() {
	case reflect.Int16:
		if strings.HasSuffix(path, "ErrorCode") && v.Int() == int64(kerr.UnknownServerError.Code) {
			return []string{path}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return unknowns(path, v.Elem())
		}
	case reflect.Slice:
		if flat(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			found = append(found, unknowns(fmt.Sprintf("%s[%d]", path, i), v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			found = append(found, unknowns(path+"."+v.Type().Field(i).Name, v.Field(i))...)
		}
	}
	return found
}
