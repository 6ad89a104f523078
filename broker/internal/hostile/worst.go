package hostile

import (
	"encoding/binary"
	"fmt"
	"iter"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bomb is a request one of whose arrays is as long as a frame allows.
type Bomb struct {
	Key, Version int16
	Path         string // The array, in Go's names.
	Elements     int
	// The body is Before, Element as many times as Elements says, and After.
	Before, Element, After []byte
}

func (b Bomb) String() string {
	return fmt.Sprintf("%s version %d with %d times %s (%d bytes each)", kmsg.NameForKey(b.Key), b.Version, b.Elements, b.Path, len(b.Element))
}

// Bytes is the length of the body.
func (b Bomb) Bytes() int { return len(b.Before) + b.Elements*len(b.Element) + len(b.After) }

// AppendTo appends the body.
func (b Bomb) AppendTo(dst []byte) []byte {
	dst = append(dst, b.Before...)
	for range b.Elements {
		dst = append(dst, b.Element...)
	}
	return append(dst, b.After...)
}

// Worst makes a Bomb of at most limit bytes from each array of a request, twice:
// with the leanest element, of which there can be most, and with one that f fills.
func Worst(f *Filler, key, version int16, limit int) iter.Seq[Bomb] {
	return func(yield func(Bomb) bool) {
		for _, filled := range []bool{false, true} {
			req := kmsg.RequestForKey(key)
			req.SetVersion(version)
			w := &worst{req: req, fill: f, filled: filled, limit: limit, yield: yield}
			root := reflect.ValueOf(req).Elem()
			w.thin("", root)
			req.SetVersion(version)
			if !w.walk(kmsg.NameForKey(key), root) {
				return
			}
		}
	}
}

type worst struct {
	req    kmsg.Request
	fill   *Filler
	filled bool
	limit  int
	yield  func(Bomb) bool
}

// thin gives every array one element, and every field a value or nothing.
func (w *worst) thin(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "UnknownTags" && f.Name != "Version" {
				w.thin(f.Name, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		w.thin(name, v.Index(0))
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.String && w.filled {
			w.fill.fill(name, v, 9)
		}
	default:
		if w.filled {
			w.fill.fill(name, v, 9)
		}
	}
}

func (w *worst) walk(path string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Name != "UnknownTags" && !w.walk(path+"."+f.Name, v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 || v.Len() == 0 {
			return true
		}
		// The inner ones first: then the outer may have an element without them.
		if !w.walk(path, v.Index(0)) {
			return false
		}
		return w.array(path, v)
	}
	return true
}

// array makes the bomb of one array: what is encoded with no element, and with one,
// tells where its count and its elements are.
func (w *worst) array(path string, v reflect.Value) bool {
	one := reflect.MakeSlice(v.Type(), 1, 1)
	if w.filled {
		reflect.Copy(one, v)
	}
	was := reflect.ValueOf(v.Interface())
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	without := w.req.AppendTo(nil)
	v.Set(one)
	with := w.req.AppendTo(nil)
	v.Set(was)

	size := len(with) - len(without)
	at := 0
	for at < len(without) && with[at] == without[at] {
		at++
	}
	if size == 0 || at == len(without) {
		return true // Not in this version.
	}
	b := Bomb{Key: w.req.Key(), Version: w.req.GetVersion(), Path: path}
	elements := at + 1
	if w.req.IsFlexible() {
		b.Before = with[:at:at]
	} else {
		b.Before = with[: at-3 : at-3]
	}
	b.Element, b.After = with[elements:elements+size], with[elements+size:]
	b.Elements = (w.limit - len(b.Before) - len(b.After) - binary.MaxVarintLen32) / size
	if w.req.IsFlexible() {
		b.Before = binary.AppendUvarint(b.Before, uint64(b.Elements)+1)
	} else {
		b.Before = binary.BigEndian.AppendUint32(b.Before, uint32(b.Elements))
	}
	return w.yield(b)
}
