package metadata

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldenLine is one record that Apache Kafka 4.2.2 wrote, and what its own
// kafka-dump-log says of it. The files hold one a line: offset, "record" or
// "control:" and the key in hex, the value in hex, the dump; separated by tabs.
type goldenLine struct {
	where   string
	control bool
	key     []byte
	value   []byte
	dump    string
}

func golden(t *testing.T) []goldenLine {
	t.Helper()
	files, err := filepath.Glob("testdata/kafka-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var lines []goldenLine
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			part := strings.SplitN(sc.Text(), "\t", 4)
			l := goldenLine{where: filepath.Base(name) + " offset " + part[0], dump: part[3]}
			var key string
			key, l.control = strings.CutPrefix(part[1], "control:")
			if l.control {
				l.key = unhex(t, key)
			}
			l.value = unhex(t, part[2])
			lines = append(lines, l)
		}
	}
	return lines
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGolden decodes what Kafka wrote, compares each value with Kafka's own dump,
// and encodes it to the same bytes.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range golden(t) {
		var again []byte
		var got any
		var err error
		if l.control {
			var c Control
			c, err = DecodeControl(int16(l.key[3]), l.value)
			if err == nil {
				again, got = EncodeControl(c), c
				if diff := cmp.Diff(l.key, ControlKey(c.ControlType())); diff != "" {
					t.Errorf("%s: key (-kafka +ours)\n%s", l.where, diff)
				}
			}
		} else {
			var r Record
			var version int16
			r, version, err = DecodeVersion(l.value)
			if err == nil {
				again, got = Encode(r, version), r
				kind := `"type":"` + r.Key().String() + `","version":` + strconv.Itoa(int(version)) + `,`
				if !strings.Contains(l.dump, kind) {
					t.Errorf("%s: read as %s, Kafka reads %s", l.where, kind, l.dump)
				}
				if v := Level42IV1.VersionOf(r); v != version {
					t.Errorf("%s: VersionOf(%s) = %d, Kafka wrote %d", l.where, r.Key(), v, version)
				}
				seen[r.Key().String()] = true
			}
		}
		if err != nil {
			t.Errorf("%s: %v", l.where, err)
			continue
		}
		if diff := cmp.Diff(l.value, again); diff != "" {
			t.Errorf("%s: bytes (-kafka +ours)\n%s", l.where, diff)
		}
		sameLeaves(t, l, got)
	}
	if len(seen) < 17 {
		t.Errorf("the golden files hold %d kinds of records, want 17 or more: %v", len(seen), seen)
	}
}

// sameLeaves fails unless every value in Kafka's dump is in what we read.
func sameLeaves(t *testing.T, l goldenLine, got any) {
	t.Helper()
	_, dump, ok := strings.Cut(l.dump, "{")
	if !ok {
		t.Fatalf("%s: no object in %q", l.where, l.dump)
	}
	dec := json.NewDecoder(strings.NewReader("{" + dump))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		t.Fatalf("%s: %v", l.where, err)
	}
	if m := tree.(map[string]any); m["data"] != nil {
		tree = m["data"]
	}
	ours := map[string]int{}
	goLeaves(reflect.ValueOf(got), ours)
	for leaf, n := range jsonLeaves(tree, map[string]int{}) {
		if ours[leaf] < n {
			t.Errorf("%s: %q is %d times in Kafka's dump, %d times in ours\n%s\n%+v", l.where, leaf, n, ours[leaf], l.dump, got)
		}
	}
}

func jsonLeaves(v any, out map[string]int) map[string]int {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			jsonLeaves(x, out)
		}
	case []any:
		for _, x := range v {
			jsonLeaves(x, out)
		}
	case json.Number:
		f, _ := v.Float64()
		out[strconv.FormatFloat(f, 'g', -1, 64)]++
	case bool:
		out[strconv.FormatBool(v)]++
	case string:
		out[v]++
	}
	return out
}

func goLeaves(v reflect.Value, out map[string]int) {
	switch x := v.Interface().(type) {
	case [16]byte:
		out[base64.RawURLEncoding.EncodeToString(x[:])]++
		return
	case []byte:
		out[base64.StdEncoding.EncodeToString(x)]++
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			goLeaves(v.Elem(), out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			goLeaves(v.Field(i), out)
		}
	case reflect.Slice:
		for i := range v.Len() {
			goLeaves(v.Index(i), out)
		}
	case reflect.String:
		out[v.String()]++
	case reflect.Bool:
		out[strconv.FormatBool(v.Bool())]++
	case reflect.Float64:
		out[strconv.FormatFloat(v.Float(), 'g', -1, 64)]++
	case reflect.Uint16:
		out[strconv.FormatFloat(float64(v.Uint()), 'g', -1, 64)]++
	default:
		out[strconv.FormatFloat(float64(v.Int()), 'g', -1, 64)]++
	}
}
