package metadata

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// introduced says which version brought the fields that not all versions have.
var introduced = map[Key]map[string]int16{
	KeyRegisterBroker:           {"InControlledShutdown": 1, "IsMigratingZkBroker": 2, "LogDirs": 3, "CordonedLogDirs": 4},
	KeyPartition:                {"Directories": 1, "ELR": 2, "LastKnownELR": 2},
	KeyPartitionChange:          {"Directories": 1, "ELR": 2, "LastKnownELR": 2},
	KeyBrokerRegistrationChange: {"InControlledShutdown": 1, "LogDirs": 2, "CordonedLogDirs": 3},
}

// nullable names the slices in which nil and empty differ.
var nullable = map[Key][]string{
	KeyRegisterBroker:           {"CordonedLogDirs"},
	KeyPartition:                {"ELR", "LastKnownELR"},
	KeyPartitionChange:          {"ISR", "Replicas", "RemovingReplicas", "AddingReplicas", "ELR", "LastKnownELR", "Directories"},
	KeyBrokerRegistrationChange: {"CordonedLogDirs"},
}

// fill gives v random content.
func fill(t *rapid.T, v reflect.Value, null bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), false)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), false)
		}
	case reflect.Slice:
		n := rapid.IntRange(-1, 3).Draw(t, "len")
		if n < 0 || n == 0 && !null {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), false)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), false)
		}
	case reflect.String:
		v.SetString(rapid.StringN(0, 6, 300).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(float64(rapid.Int32().Draw(t, "float")) / 4)
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(rapid.Uint64Range(0, 255).Draw(t, "uint"))
	default:
		bits := v.Type().Bits()
		v.SetInt(rapid.Int64Range(-1<<(bits-1), 1<<(bits-1)-1).Draw(t, "int"))
	}
}

// record draws a record of any kind and version, with only what the version has.
func record(t *rapid.T) (Record, int16) {
	key := rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(t, "key")
	version := rapid.Int16Range(0, key.MaxVersion()).Draw(t, "version")
	r := kinds[key].make()
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if introduced[key][name] <= version {
			fill(t, v.Field(i), slices.Contains(nullable[key], name))
		}
	}
	return r, version
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, version := record(t)
		in := Encode(r, version)
		got, v, err := DecodeVersion(in)
		if err != nil {
			t.Fatalf("%s: %v", r.Key(), err)
		}
		if v != version {
			t.Fatalf("version %d became %d", version, v)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatalf("(-in +out)\n%s", diff)
		}
		if again := Encode(got, v); !bytes.Equal(in, again) {
			t.Fatalf("%x became %x", in, again)
		}
	})
}

// TestPrefix holds every cut of a record to a MalformedError.
func TestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, version := record(t)
		in := Encode(r, version)
		n := rapid.IntRange(0, len(in)-1).Draw(t, "cut")
		if _, err := Decode(in[:n]); !malformed(err) {
			t.Fatalf("%d of %d bytes of %s: %v", n, len(in), r.Key(), err)
		}
		if _, err := Decode(append(in, 0)); !malformed(err) {
			t.Fatalf("one byte more than %s: %v", r.Key(), err)
		}
	})
}

func malformed(err error) bool {
	_, ok := errors.AsType[*MalformedError](err)
	return ok
}

func TestDecodeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":                     {nil, &MalformedError{Key: "frame", Reason: "bad varint"}},
		"frame version 0":             {[]byte{0, 20, 0, 0}, &MalformedError{Key: "frame", Reason: "frame version 0, only 1 is known"}},
		"key never released":          {[]byte{1, 6, 0, 0}, &UnknownKeyError{Key: 6}},
		"key above 16 bits":           {[]byte{1, 0x80, 0x80, 0x04, 0, 0}, &UnknownKeyError{Key: 65536}},
		"version one too new":         {[]byte{1, 5, 3, 0}, &NewerVersionError{Key: KeyPartitionChange, Version: 3, Max: 2}},
		"array longer than its bytes": {[]byte{1, 14, 0, 0xff, 0xff, 0xff, 0x7f}, &MalformedError{Key: "CLIENT_QUOTA_RECORD", Reason: "array of 268435454 elements with 0 bytes left"}},
		"null where it may not be":    {[]byte{1, 28, 0, 0, 0}, &MalformedError{Key: "CLEAR_ELR_RECORD", Reason: "string is null"}},
		"tag with spare bytes":        {[]byte{1, 25, 0, 1, 0, 3, 1, 9, 9}, &MalformedError{Key: "ABORT_TRANSACTION_RECORD", Reason: "tagged field 0 has 2 bytes too many"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(tc.in)
			if diff := cmp.Diff(tc.want, err); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestUnknownTagIsDropped: within a version tags are optional by Kafka's rule.
func TestUnknownTagIsDropped(t *testing.T) {
	got, err := Decode([]byte{1, 20, 0, 1, 77, 2, 1, 2})
	if diff := cmp.Diff(Record(&NoOp{}), got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestEncodePanicsOnFieldBeyondVersion(t *testing.T) {
	for name, f := range map[string]func(){
		"plain field":      func() { Encode(&Partition{Directories: make([][16]byte, 1)}, 0) },
		"tagged field":     func() { Encode(&Partition{ELR: []int32{}}, 1) },
		"version too new":  func() { Encode(&NoOp{}, 1) },
		"voter of version": func() { EncodeControl(&LeaderChange{Version: 2}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestControlRoundTrip(t *testing.T) {
	dir := [16]byte{1, 2, 3}
	for name, r := range map[string]Control{
		"leader change 0": &LeaderChange{LeaderID: 3, Voters: []Voter{{ID: 3}, {ID: 4}}, GrantingVoters: []Voter{{ID: 3}}},
		"leader change 1": &LeaderChange{Version: 1, LeaderID: 3, Voters: []Voter{{3, dir}}, GrantingVoters: []Voter{{3, dir}}},
		"header":          &SnapshotHeader{LastContainedLogTimestamp: 77},
		"header, index":   &SnapshotHeader{LastContainedLogTimestamp: 77, RaftIndex: 12},
		"footer":          &SnapshotFooter{},
		"kraft.version":   &KRaftVersion{KRaftVersion: 1},
		"voters": &Voters{Voters: []VoterNode{
			{ID: 1, DirectoryID: dir, MaxKRaftVersion: 1, Endpoints: []VoterEndpoint{{"CONTROLLER", "a.example", 9093}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeControl(r.ControlType(), EncodeControl(r))
			if diff := cmp.Diff(r, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if _, err := DecodeControl(9, nil); err == nil {
		t.Error("control type 9 was read")
	}
	if _, err := DecodeControl(ControlLeaderChange, []byte{0, 2, 0}); !malformed(err) {
		t.Errorf("leader change version 2: %v", err)
	}
}

// FuzzDecode holds Decode to its contract on any bytes: a named error, or a record
// that encodes and reads back as itself, and no memory beyond what the bytes pay
// for.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(NewPartitionChange([16]byte{1}, 3), 2))
	f.Add(Encode(&RegisterBroker{Rack: new("r"), LogDirs: make([][16]byte, 2)}, 4))
	f.Add(Encode(&ClientQuota{Entity: []QuotaEntity{{Type: "user"}}, Name: "producer_byte_rate"}, 0))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, version, err := DecodeVersion(in)
		if err != nil {
			_, unknown := errors.AsType[*UnknownKeyError](err)
			_, newer := errors.AsType[*NewerVersionError](err)
			if !malformed(err) && !unknown && !newer {
				t.Fatalf("unnamed error %T: %v", err, err)
			}
			return
		}
		out := Encode(r, version)
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("%x encodes to %x, which fails: %v", in, out, err)
		}
		if !bytes.Equal(out, Encode(again, version)) {
			t.Fatalf("%x is not stable", out)
		}
	})
}

func BenchmarkDecodePartition(b *testing.B) {
	in := Encode(&Partition{Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}, Directories: make([][16]byte, 3)}, 2)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
