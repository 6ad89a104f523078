package api

import (
	"fmt"
	"reflect"
)

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

// maxElements is how many elements all arrays of a request may have together. Each
// becomes an element of the answer, which is larger, and
// some answers tell much of each. Kafka has no such limit; no client of its comes
// near it.
const maxElements = 250_000

var errTooMany = fmt.Errorf("its arrays have more than the %d elements allowed", maxElements)

// elements counts the elements of all arrays in v.
func elements(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return elements(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0
		}
		n = v.Len()
		if n > maxElements || flat(v.Type().Elem()) || v.Type().Elem().Kind() == reflect.String {
			return n
		}
		for i := range v.Len() {
			n += elements(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += elements(v.Field(i))
		}
	}
	return n
}

// chargeStep is how much of an answer may be made without being counted, each
// time.
const chargeStep = 256 << 10

// charge counts a piece of an answer, once for what it is and once for its bytes on
// the wire, against the memory that all requests share. It is for answers that may
// be far larger than their questions. An error of it ends the request.
func (c *Call) charge(piece any) error {
	c.charged += 2 * retained(piece)
	if c.charged < chargeStep || c.Reserve == nil {
		return nil
	}
	n := c.charged
	c.charged = 0
	return c.Reserve(n)
}
