package hostile

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kind is what a field is on the wire.
type Kind int8

// The kinds of fields. Lengths and counts come before what they count.
const (
	Number Kind = iota // A number or a truth value, of fixed width.
	Text               // The length of a string.
	Blob               // The length of bytes.
	Array              // The count of an array.
)

// Field is where a part of a request lies on the wire.
type Field struct {
	Kind    Kind
	Offset  int // In the body, of the number, length or count.
	Width   int // Of the number, length or count itself.
	Compact bool
	Path    string // In Go's names, for messages.
}

// Frame is a request on the wire, without its header, and a map of it.
type Frame struct {
	Key, Version int16
	Body         []byte
	Fields       []Field
}

// Locate encodes a request and finds where its fields lie: it changes one after
// another, and the first byte that comes out differently is where that one
// begins. req is as before when it returns.
func Locate(req kmsg.Request) Frame {
	l := locator{req: req, frame: Frame{Key: req.Key(), Version: req.GetVersion(), Body: req.AppendTo(nil)}}
	l.walk(kmsg.NameForKey(req.Key()), reflect.ValueOf(req).Elem())
	return l.frame
}

type locator struct {
	req     kmsg.Request
	frame   Frame
	scratch []byte
}

// stretch is by how much a length is changed: both bytes of a short one differ,
// and a varint's first.
const stretch = 257

func (l *locator) walk(path string, v reflect.Value) {
	if strings.HasSuffix(path, ".UnknownTags") || strings.HasSuffix(path, ".Version") {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		l.change(v, reflect.ValueOf(!v.Bool()), Field{Kind: Number, Width: 1, Path: path})
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		l.change(v, reflect.ValueOf(^v.Int()).Convert(v.Type()), Field{Kind: Number, Width: v.Type().Bits() / 8, Path: path})
	case reflect.String:
		l.change(v, reflect.ValueOf(v.String()+strings.Repeat("x", stretch)), l.length(Text, v.Len(), path))
	case reflect.Array:
		to := reflect.New(v.Type()).Elem()
		for i := range v.Len() {
			to.Index(i).SetUint(^v.Index(i).Uint() & 0xff)
		}
		l.change(v, to, Field{Kind: Number, Width: v.Len(), Path: path})
	case reflect.Pointer:
		l.pointer(path, v)
	case reflect.Slice:
		l.slice(path, v)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				l.walk(path+"."+f.Name, v.Field(i))
			}
		}
	}
}

func (l *locator) pointer(path string, v reflect.Value) {
	if !v.IsNil() {
		if v.Elem().Kind() == reflect.String {
			to := v.Elem().String() + strings.Repeat("x", stretch)
			l.change(v, reflect.ValueOf(&to), l.length(Text, v.Elem().Len(), path))
			return
		}
		l.walk(path, v.Elem())
		return
	}
	if v.Type().Elem().Kind() == reflect.String {
		to := strings.Repeat("x", stretch)
		l.change(v, reflect.ValueOf(&to), l.length(Text, -1, path))
	}
}

func (l *locator) slice(path string, v reflect.Value) {
	kind, n := Array, v.Len()
	if v.IsNil() {
		n = -1
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		kind = Blob
	}
	to := reflect.MakeSlice(v.Type(), v.Len()+stretch, v.Len()+stretch)
	reflect.Copy(to, v)
	l.change(v, to, l.length(kind, n, path))
	if kind == Blob {
		return
	}
	for i := range v.Len() {
		l.walk(path, v.Index(i))
	}
}

// length describes the length of something of n bytes or elements.
func (l *locator) length(kind Kind, n int, path string) Field {
	f := Field{Kind: kind, Width: 4, Path: path}
	switch {
	case l.req.IsFlexible():
		f.Compact, f.Width = true, len(binary.AppendUvarint(nil, uint64(n+1)))
	case kind == Text:
		f.Width = 2
	}
	return f
}

// change encodes the request with another value in v and notes where that shows.
func (l *locator) change(v, to reflect.Value, f Field) {
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	v.Set(to)
	l.scratch = l.req.AppendTo(l.scratch[:0])
	v.Set(was)
	at := 0
	body := l.frame.Body
	for at < len(body) && at < len(l.scratch) && body[at] == l.scratch[at] {
		at++
	}
	if at == len(body) {
		return // This version has no such field, or it is a tag that is not there.
	}
	if f.Width == 4 && !f.Compact && f.Kind != Number && at >= 2 {
		// The upper half of a count differs only if it was null before.
		if int32(binary.BigEndian.Uint32(pad(body[at:]))) != -1 {
			at -= 2
		}
	}
	if at+f.Width <= len(body) {
		f.Offset = at
		l.frame.Fields = append(l.frame.Fields, f)
	}
}

func pad(b []byte) []byte { return append(b[:min(len(b), 4):min(len(b), 4)], 0, 0, 0, 0)[:4] }

// Set writes the number n where a field has its number, length or count, and
// returns the body that results; a compact one may become longer.
func (f Frame) Set(at Field, n int64) []byte {
	if at.Compact {
		out := append([]byte(nil), f.Body[:at.Offset]...)
		out = binary.AppendUvarint(out, uint64(n+1)&math.MaxUint32)
		return append(out, f.Body[at.Offset+at.Width:]...)
	}
	out := append([]byte(nil), f.Body...)
	for i := range at.Width {
		shift := 8 * (at.Width - 1 - i)
		if shift < 64 {
			out[at.Offset+i] = byte(n >> shift)
		}
	}
	return out
}

// Get reads the number, length or count of a field.
func (f Frame) Get(at Field) int64 {
	b := f.Body[at.Offset : at.Offset+at.Width]
	if at.Compact {
		n, _ := binary.Uvarint(b)
		return int64(n) - 1
	}
	n := int64(int8(b[0]))
	for _, c := range b[1:] {
		n = n<<8 | int64(c)
	}
	return n
}
