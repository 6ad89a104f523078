package protocol

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestReadRequestHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		hex  string
		want RequestHeader
		body string
		err  string
	}{
		"header 1, client id":        {"0003 0008 00000007 0002 6869 beef", RequestHeader{3, 8, 7, []byte("hi")}, "beef", ""},
		"header 1, empty client id":  {"0003 0008 00000007 0000 beef", RequestHeader{3, 8, 7, []byte{}}, "beef", ""},
		"header 1, null client id":   {"0003 0008 00000007 ffff", RequestHeader{3, 8, 7, nil}, "", ""},
		"header 2":                   {"0003 0009 00000007 ffff 00 beef", RequestHeader{3, 9, 7, nil}, "beef", ""},
		"header 2 with tags":         {"0003 0009 00000007 ffff 02 00 02 aaaa 05 00 beef", RequestHeader{3, 9, 7, nil}, "beef", ""},
		"ApiVersions 3 is flexible":  {"0012 0003 00000001 ffff 00", RequestHeader{18, 3, 1, nil}, "", ""},
		"a version from the future":  {"0012 0063 00000001 ffff 00", RequestHeader{18, 99, 1, nil}, "", ""},
		"SaslHandshake never is":     {"0011 0001 00000001 ffff 0005", RequestHeader{17, 1, 1, nil}, "0005", ""},
		"a negative version":         {"0003 ffff 00000007 ffff", RequestHeader{3, -1, 7, nil}, "", ""},
		"no key":                     {"00", RequestHeader{}, "", "no API key"},
		"no room for a header":       {"0003 0008 00000007 00", RequestHeader{}, "", "9 bytes are too few (best guess of the API: 3 Metadata)"},
		"client id longer than all":  {"0003 0008 00000007 7530 6869", RequestHeader{}, "", "client id of length 30000 in 2 bytes"},
		"client id of length -2":     {"0003 0008 00000007 fffe 6869", RequestHeader{}, "", "client id of length -2"},
		"unknown key":                {"03e7 0000 00000007 ffff", RequestHeader{}, "", "unknown API key"},
		"negative key":               {"ffff 0000 00000007 ffff", RequestHeader{}, "", "unknown API key"},
		"no tags where there should": {"0003 0009 00000007 ffff", RequestHeader{}, "", "tagged fields in 0 bytes"},
		"more tags than bytes":       {"0003 0009 00000007 ffff ffffffff0f", RequestHeader{}, "", "4294967295 tagged fields in 5 bytes"},
		"a tag longer than all":      {"0003 0009 00000007 ffff 01 00 7f 00", RequestHeader{}, "", "a tagged field of 127 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			h, body, err := ReadRequestHeader(unhex(t, tc.hex))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Key != tc.want.Key || h.Version != tc.want.Version || h.Correlation != tc.want.Correlation ||
				!bytes.Equal(h.ClientID, tc.want.ClientID) || (h.ClientID == nil) != (tc.want.ClientID == nil) {
				t.Errorf("header %+v, want %+v", h, tc.want)
			}
			if got := hex.EncodeToString(body); got != tc.body {
				t.Errorf("body %s, want %s", got, tc.body)
			}
		})
	}
}

// TestHeaderAsKmsgFormatsIt compares every API and version with the client
// side of kmsg, which was written against the same schemas by other hands.
func TestHeaderAsKmsgFormatsIt(t *testing.T) {
	id := "client"
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(id))
	for key := range int16(kmsg.MaxKey + 1) {
		req := kmsg.RequestForKey(key)
		for v := int16(0); v <= req.MaxVersion(); v++ {
			if key == int16(kmsg.ControlledShutdown) && v == 0 {
				continue // The one request with header version 0; Kafka 4.0 removed it.
			}
			req.SetVersion(v)
			frame := format.AppendRequest(nil, req, 5)[sizeBytes:]
			want := RequestHeader{Key: key, Version: v, Correlation: 5, ClientID: []byte(id)}
			h, body, err := ReadRequestHeader(frame)
			if err != nil || string(h.ClientID) != id || h.Correlation != 5 {
				t.Fatalf("%s v%d: %+v, %v", kmsg.NameForKey(key), v, h, err)
			}
			if want := req.AppendTo(nil); !bytes.Equal(body, want) {
				t.Fatalf("%s v%d: body %x, want %x", kmsg.NameForKey(key), v, body, want)
			}
			if again := append(AppendRequestHeader(nil, want), body...); !bytes.Equal(again, frame) {
				t.Fatalf("%s v%d: wrote %x, want %x", kmsg.NameForKey(key), v, again, frame)
			}
		}
	}
}

func TestResponseHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		key, version int16
		want         string
	}{
		"old":                          {3, 8, "00000007"},
		"flexible":                     {3, 9, "0000000700"},
		"ApiVersions is old for ever":  {18, 3, "00000007"},
		"ApiVersions from the future":  {18, 99, "00000007"},
		"unknown API":                  {999, 0, "00000007"},
		"SaslHandshake never flexible": {17, 1, "00000007"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hex.EncodeToString(AppendResponseHeader(nil, tc.key, tc.version, 7)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	l := Limits{}.WithDefaults()
	for name, tc := range map[string]struct {
		key  int16
		size int64
		auth bool
		max  int64 // Of the error; 0 for none.
	}{
		"smallest request":           {3, MinRequestBytes, true, 0},
		"below the smallest":         {3, MinRequestBytes - 1, true, 100 << 20},
		"empty":                      {3, 0, true, 100 << 20},
		"negative":                   {3, -1, true, 100 << 20},
		"largest produce":            {0, 100 << 20, true, 0},
		"one byte more":              {0, 100<<20 + 1, true, 100 << 20},
		"2 GiB":                      {0, 1<<31 - 1, true, 100 << 20},
		"largest other":              {3, 8 << 20, true, 0},
		"other, one byte more":       {3, 8<<20 + 1, true, 8 << 20},
		"largest before login":       {36, 512 << 10, false, 0},
		"one byte more before login": {36, 512<<10 + 1, false, 512 << 10},
		"produce before login":       {0, 1 << 20, false, 512 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			err := l.Check(tc.size, tc.auth)
			if err == nil {
				err = l.CheckAPI(tc.key, tc.size)
			}
			if tc.max == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			size, ok := errors.AsType[*SizeError](err)
			if !ok || size.Max != tc.max || size.Size != tc.size {
				t.Errorf("error %v, want a limit of %d", err, tc.max)
			}
		})
	}
	if small := (Limits{Produce: 1 << 20}).WithDefaults(); small.Other != 1<<20 {
		t.Errorf("other requests may have %d bytes where socket.request.max.bytes is less", small.Other)
	}
}

func TestSizeErrorGuessesTheProtocol(t *testing.T) {
	for first, want := range map[string]string{
		"\x16\x03\x01\x02": "TLS handshake",
		"GET /":            "HTTP request",
		"\x7f\xff\xff\xff": "more than the",
		"\xff\xff\xff\xff": "fewer than a request has",
	} {
		r := NewReader(strings.NewReader(first+"rest"), new(Pool), nil)
		if _, err := next(r, Limits{}.WithDefaults()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", first, err, want)
		}
	}
}

// FuzzRequestHeader holds the parser to its contract on any bytes: it takes a
// prefix, and what it understood it can write again.
func FuzzRequestHeader(f *testing.F) {
	f.Add([]byte("\x00\x03\x00\x09\x00\x00\x00\x07\x00\x02hi\x00"))
	f.Add([]byte("\x00\x12\x00\x03\x00\x00\x00\x07\xff\xff\x01\x00\x02zz"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, body, err := ReadRequestHeader(in)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(in, body) {
			t.Fatalf("body %x is no suffix of %x", body, in)
		}
		again, rest, err := ReadRequestHeader(append(AppendRequestHeader(nil, h), body...))
		if err != nil || again.Key != h.Key || again.Version != h.Version || again.Correlation != h.Correlation ||
			!bytes.Equal(again.ClientID, h.ClientID) || !bytes.Equal(rest, body) {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
