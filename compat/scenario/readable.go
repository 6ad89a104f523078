package scenario

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxReadable bounds what is printed of one request or response.
const maxReadable = 2000

// Readable prints a request or response as a person would write it: its name and
// version, and those fields that are not zero.
func Readable(m any) string {
	if m == nil || reflect.ValueOf(m).Kind() == reflect.Pointer && reflect.ValueOf(m).IsNil() {
		return "nothing"
	}
	var name string
	switch m := m.(type) {
	case kmsg.Request:
		name = fmt.Sprintf("%sRequest v%d ", kmsg.NameForKey(m.Key()), m.GetVersion())
	case kmsg.Response:
		name = fmt.Sprintf("%sResponse v%d ", kmsg.NameForKey(m.Key()), m.GetVersion())
	}
	return cut(name+Plain(m), maxReadable)
}

// Readable is both sides of an exchange in readable form.
func (e Exchange) Readable() (request, response string) {
	if e.Err != nil {
		return Readable(e.Request), e.Err.Error()
	}
	return Readable(e.Request), Readable(e.Response)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Plain prints a value without zero fields, type names and pointers.
func Plain(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("null")
			return
		}
		write(b, v.Elem())
	case reflect.Struct:
		writeStruct(b, v)
	case reflect.Slice, reflect.Array:
		writeList(b, v)
	case reflect.String:
		b.WriteString(strconv.Quote(cut(v.String(), 200)))
	case reflect.Invalid:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func writeStruct(b *strings.Builder, v reflect.Value) {
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || field.Name == "Version" || field.Name == "UnknownTags" || v.Field(i).IsZero() {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(field.Name)
		b.WriteByte(':')
		if field.Name == "ErrorCode" {
			b.WriteString(CodeName(int16(v.Field(i).Int())))
			continue
		}
		write(b, v.Field(i))
	}
	b.WriteByte('}')
}

func writeList(b *strings.Builder, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		writeBytes(b, v)
		return
	}
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i == 50 {
			fmt.Fprintf(b, "… %d more", v.Len()-i)
			break
		}
		write(b, v.Index(i))
	}
	b.WriteByte(']')
}

func writeBytes(b *strings.Builder, v reflect.Value) {
	raw := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(raw), v)
	switch {
	case len(raw) == 16 && v.Kind() == reflect.Array:
		fmt.Fprintf(b, "%x", raw)
	case len(raw) > 80:
		fmt.Fprintf(b, "<%d bytes: %x…>", len(raw), raw[:70])
	default:
		fmt.Fprintf(b, "<%x>", raw)
	}
}
