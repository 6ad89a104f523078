package api

import "reflect"

// retained is how many bytes a decoded request holds: what a connection goes
// on owing the budget of memory while the handler works or waits. It is called
// for large requests only, so it may take the slow way over reflection.
func retained(v any) int64 {
	return int64(reflect.TypeOf(v).Elem().Size()) + behind(reflect.ValueOf(v).Elem())
}

// behind is how many bytes v points to, besides those of v itself.
func behind(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return int64(v.Type().Elem().Size()) + behind(v.Elem())
	case reflect.Slice:
		n = int64(v.Cap()) * int64(v.Type().Elem().Size())
		if flat(v.Type().Elem()) {
			return n
		}
		for i := range v.Len() {
			n += behind(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += behind(v.Field(i))
		}
	case reflect.Map: // Unknown tagged fields: rare, so a rough figure does.
		n = int64(v.Len()) * 64
	}
	return n
}

// flat says that values of that type point to nothing.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct, reflect.Interface:
		return false
	case reflect.Array:
		return flat(t.Elem())
	}
	return true
}
