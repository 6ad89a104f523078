package api

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/protocol"
)

// TestWireReaderAtTheEnd reads fields that end exactly with the frame, a byte after it,
// or that say they are of a length that cannot be.
func TestWireReaderAtTheEnd(t *testing.T) {
	str := func(r *wireReader) any {
		if s := r.str(); s != nil {
			return *s
		}
		return nil
	}
	blob := func(r *wireReader) any {
		b := r.blob()
		if b == nil {
			return nil
		}
		s := string(b)
		r.skip(len(b))
		return s
	}
	name := func(r *wireReader) any { return r.name() }
	array := func(r *wireReader) any { return r.array(3) }
	tags := func(r *wireReader) any { r.tags(); return nil }
	int16of := func(r *wireReader) any { return r.int16() }
	int32of := func(r *wireReader) any { return r.int32() }
	uuid := func(r *wireReader) any { return r.uuid() }
	uvarint := func(r *wireReader) any { return r.uvarint() }
	for name, tc := range map[string]struct {
		in   string
		flex bool
		read func(*wireReader) any
		want any
		err  error
		left int
	}{
		"int16":                    {"\x01\x02", false, int16of, int16(258), nil, 0},
		"int16, and more":          {"\x01\x02\x03", false, int16of, int16(258), nil, 1},
		"int16, one byte short":    {"\x01", false, int16of, int16(0), protocol.ErrFrameEnd, 1},
		"int32":                    {"\xff\xff\xff\xfe", false, int32of, int32(-2), nil, 0},
		"int32, one byte short":    {"\xff\xff\xff", false, int32of, int32(0), protocol.ErrFrameEnd, 3},
		"uuid":                     {"0123456789abcdef", true, uuid, [16]byte([]byte("0123456789abcdef")), nil, 0},
		"uuid, one byte short":     {"0123456789abcde", true, uuid, [16]byte{}, protocol.ErrFrameEnd, 15},
		"uvarint of one byte":      {"\x7f", true, uvarint, uint32(127), nil, 0},
		"uvarint of two":           {"\x80\x01", true, uvarint, uint32(128), nil, 0},
		"uvarint, one byte short":  {"\x80", true, uvarint, uint32(0), errMalformed, 1},
		"uvarint of nothing":       {"", true, uvarint, uint32(0), errMalformed, 0},
		"the largest uvarint":      {"\xff\xff\xff\xff\x0f", true, uvarint, uint32(1<<32 - 1), nil, 0},
		"a larger one":             {"\x80\x80\x80\x80\x10", true, uvarint, uint32(0), errMalformed, 5},
		"uvarint of six bytes":     {"\xff\xff\xff\xff\xff\x01", true, uvarint, uint32(0), errMalformed, 6},
		"string":                   {"\x00\x02ab", false, str, "ab", nil, 0},
		"string, empty":            {"\x00\x00", false, str, "", nil, 0},
		"string, null":             {"\xff\xff", false, str, nil, nil, 0},
		"string, of length -2":     {"\xff\xfeab", false, str, "", protocol.ErrFrameEnd, 2},
		"string, one byte short":   {"\x00\x03ab", false, str, "", protocol.ErrFrameEnd, 2},
		"compact string":           {"\x03ab", true, str, "ab", nil, 0},
		"compact string, null":     {"\x00", true, str, nil, nil, 0},
		"compact string, empty":    {"\x01", true, str, "", nil, 0},
		"compact, one byte short":  {"\x04ab", true, str, "", protocol.ErrFrameEnd, 2},
		"string without a length":  {"\x00", false, str, nil, protocol.ErrFrameEnd, 1},
		"name":                     {"\x00\x01a", false, name, "a", nil, 0},
		"name, null":               {"\xff\xff", false, name, "", errMalformed, 0},
		"bytes":                    {"\x00\x00\x00\x02ab", false, blob, "ab", nil, 0},
		"bytes, empty":             {"\x00\x00\x00\x00", false, blob, "", nil, 0},
		"bytes, null":              {"\xff\xff\xff\xff", false, blob, nil, nil, 0},
		"bytes, of length -2":      {"\xff\xff\xff\xfeab", false, blob, nil, protocol.ErrFrameEnd, 2},
		"bytes, one byte short":    {"\x00\x00\x00\x03ab", false, blob, nil, protocol.ErrFrameEnd, 2},
		"compact bytes":            {"\x03ab", true, blob, "ab", nil, 0},
		"array that just fits":     {"\x00\x00\x00\x02abcdef", false, array, 2, nil, 6},
		"array, one byte short":    {"\x00\x00\x00\x02abcde", false, array, 0, errMalformed, 5},
		"array, empty":             {"\x00\x00\x00\x00", false, array, 0, nil, 0},
		"array, null":              {"\xff\xff\xff\xff", false, array, 0, errMalformed, 0},
		"compact array, just fits": {"\x03abcdef", true, array, 2, nil, 6},
		"compact array, null":      {"\x00", true, array, 0, errMalformed, 0},
		"no tags":                  {"\x00", true, tags, nil, nil, 0},
		"tags of old versions":     {"ab", false, tags, nil, nil, 2},
		"a tag":                    {"\x01\x07\x02ab", true, tags, nil, nil, 0},
		"two tags, and more":       {"\x02\x07\x02ab\x09\x00c", true, tags, nil, nil, 1},
		"a tag, one byte short":    {"\x01\x07\x03ab", true, tags, nil, protocol.ErrFrameEnd, 2},
		"more tags than there are": {"\x02\x07\x02ab", true, tags, nil, errMalformed, 0},
		"a tag without its size":   {"\x01\x07", true, tags, nil, errMalformed, 0},
	} {
		m := memory(tc.in)
		r := wireReader{in: &m, flex: tc.flex}
		if got := tc.read(&r); got != tc.want || !errors.Is(r.err, tc.err) || m.Left() != tc.left {
			t.Errorf("%s: %#v, %v, with %d bytes left; want %#v, %v and %d", name, got, r.err, m.Left(), tc.want, tc.err, tc.left)
		}
	}
}

// TestWireReaderStopsAtAnError: what comes after a field that could not be read is empty,
// and the first reason stays.
func TestWireReaderStopsAtAnError(t *testing.T) {
	m := memory("\x00\x09\x00\x00\x00\x01\x00\x01a")
	r := wireReader{in: &m}
	if s := r.str(); s == nil || *s != "" {
		t.Errorf("read %v", s)
	}
	left := m.Left()
	if r.int16() != 0 || r.int32() != 0 || r.array(1) != 0 || r.str() != nil || r.name() != "" || r.blob() != nil || r.uuid() != [16]byte{} {
		t.Error("something was read behind the error")
	}
	if !errors.Is(r.err, protocol.ErrFrameEnd) || m.Left() != left {
		t.Errorf("%v, with %d bytes left of %d", r.err, m.Left(), left)
	}
}

// TestServeAtTheBounds: the lowest and the highest version of every API are read, and
// those beside them are not.
func TestServeAtTheBounds(t *testing.T) {
	for key, r := range routes {
		for version, served := range map[int16]bool{r.min - 1: false, r.min: true, r.max: true, r.max + 1: false} {
			req := kmsg.RequestForKey(key)
			req.SetVersion(min(max(version, 0), r.max))
			call := callOf(req)
			call.Version = version
			call.Body = nil // Which no version of any API but ApiVersions is.
			_, err := rightsNode(t).Serve(t.Context(), call)
			refused := is[*UnsupportedError](err)
			if key == int16(kmsg.ApiVersions) {
				served, refused = true, err != nil && refused
			}
			if refused == served {
				t.Errorf("%s version %d: %v", kmsg.NameForKey(key), version, err)
			}
		}
	}
	want := "Fetch version 3 is not served, only 4 to 18"
	if err := (&UnsupportedError{Key: 1, Version: 3, Min: 4, Max: 18}); err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// TestWireWriterOfNull: null has its own length in both encodings.
func TestWireWriterOfNull(t *testing.T) {
	a := "a"
	for name, tc := range map[string]struct {
		flex bool
		s    *string
		want string
	}{
		"null": {false, nil, "\xff\xff"}, "a string": {false, &a, "\x00\x01a"},
		"compact null": {true, nil, "\x00"}, "a compact string": {true, &a, "\x02a"},
	} {
		w := wireWriter{flex: tc.flex}
		if w.strOrNull(tc.s); string(w.b) != tc.want {
			t.Errorf("%s: %q, want %q", name, w.b, tc.want)
		}
	}
	w := wireWriter{}
	w.length(-1)
	if got := int32(binary.BigEndian.Uint32(w.b)); got != -1 {
		t.Errorf("an array that is null: %d", got)
	}
}
