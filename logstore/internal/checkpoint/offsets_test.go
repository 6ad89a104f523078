package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

func TestOffsetsGolden(t *testing.T) {
	want := []Offset{{"payments", 0, 42}, {"payments", 10, 1 << 40}, {"a.b-c_d", 0, 0}}
	const golden = "0\n3\npayments 0 42\npayments 10 1099511627776\na.b-c_d 0 0\n"
	if diff := cmp.Diff(golden, string(EncodeOffsets(want))); diff != "" {
		t.Errorf("EncodeOffsets (-want +got):\n%s", diff)
	}
	got, err := DecodeOffsets([]byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("DecodeOffsets (-want +got):\n%s", diff)
	}
	if got := string(EncodeOffsets(nil)); got != "0\n0\n" {
		t.Errorf("no entries: %q", got)
	}
}

func TestDecodeOffsets(t *testing.T) {
	for name, tc := range map[string]struct {
		in      string
		want    []Offset
		wantErr string
	}{
		"empty file":               {"", nil, ""},
		"version alone":            {"0\n", nil, ""},
		"no entries":               {"0\n0\n", nil, ""},
		"no end of line":           {"0\n1\nt 0 5", []Offset{{"t", 0, 5}}, ""},
		"ends of lines of Windows": {"0\r\n1\r\nt 0 5\r\n", []Offset{{"t", 0, 5}}, ""},
		"more blanks":              {"0\n1\nt  0\t5 \n", []Offset{{"t", 0, 5}}, ""},
		"twice":                    {"0\n2\nt 0 5\nt 0 6\n", []Offset{{"t", 0, 5}, {"t", 0, 6}}, ""},
		"other version":            {"1\n0\n", nil, "dir/f has version 1, the newest known here is 0: it was written by a newer release, use that one"},
		"no version":               {"x\n0\n", nil, `damaged file dir/f, line 1 "x": the version is not a number from 0 on`},
		"empty version":            {"\n0\n", nil, `damaged file dir/f, line 1 "": the version is not a number from 0 on`},
		"no count":                 {"0\nx\n", nil, `damaged file dir/f, line 2 "x": the count of entries is not a number from 0 on`},
		"negative count":           {"0\n-1\n", nil, `damaged file dir/f, line 2 "-1": the count of entries is not a number from 0 on`},
		"too few":                  {"0\n2\nt 0 5\n", nil, "damaged file dir/f: 1 entries, the second line says 2"},
		"too many":                 {"0\n1\nt 0 5\nt 1 5\n", nil, "damaged file dir/f: 2 entries, the second line says 1"},
		"field missing":            {"0\n1\nt 5\n", nil, `damaged file dir/f, line 3 "t 5": 2 fields, want 3`},
		"blank before":             {"0\n1\n t 0 5\n", nil, `damaged file dir/f, line 3 " t 0 5": 3 fields, want 3`},
		"empty line":               {"0\n1\nt 0 5\n\n", nil, `damaged file dir/f, line 4 "": 0 fields, want 3`},
		"partition no number":      {"0\n1\nt x 5\n", nil, `damaged file dir/f, line 3 "t x 5": the partition is not a number from 0 on`},
		"partition too large":      {"0\n1\nt 2147483648 5\n", nil, `damaged file dir/f, line 3 "t 2147483648 5": the partition is not a number from 0 on`},
		"offset no number":         {"0\n1\nt 0 5x\n", nil, `damaged file dir/f, line 3 "t 0 5x": the offset is not a number`},
		"zeros after a crash":      {string(make([]byte, 200)), nil, "damaged file dir/f, line 1 \"" + string(bytes.Repeat([]byte(`\x00`), 80)) + `...": the version is not a number from 0 on`},
	} {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMem()
			path := filepath.Join("dir", "f")
			mustDo(t, m.MkdirAll("dir", 0o755))
			mustDo(t, vfs.WriteFileAtomic(m, path, []byte(tc.in)))
			got, err := ReadOffsets(m, path)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantErr, text(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			checkNamed(t, err)
		})
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// checkNamed wants one of the package's errors, or none.
func checkNamed(t *testing.T, err error) {
	t.Helper()
	_, damage := errors.AsType[*Error](err)
	_, version := errors.AsType[*VersionError](err)
	if err != nil && !damage && !version {
		t.Errorf("unnamed error %T: %v", err, err)
	}
}

func TestOffsetsOnDisk(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	got, err := ReadOffsets(f, HighWatermarks)
	if got != nil || err != nil {
		t.Errorf("missing file: %v, %v", got, err)
	}
	f.StartTrace("")
	want := []Offset{{"t", 0, 5}}
	mustDo(t, WriteOffsets(f, HighWatermarks, want))
	const trace = `open replication-offset-checkpoint.tmp create truncate
write replication-offset-checkpoint.tmp 0+10
sync replication-offset-checkpoint.tmp
rename replication-offset-checkpoint.tmp -> replication-offset-checkpoint
syncdir .
`
	if diff := cmp.Diff(trace, f.TakeTrace()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	got, err = ReadOffsets(f, HighWatermarks)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	f.Inject(vfs.Rule{Op: vfs.OpRead, Err: os.ErrPermission})
	if _, err := ReadOffsets(f, HighWatermarks); !errors.Is(err, os.ErrPermission) {
		t.Errorf("unreadable file: %v", err)
	}
}

// FuzzDecodeOffsets holds DecodeOffsets to its contract on any bytes: a named
// error, or entries that encode to a text that decodes to them.
func FuzzDecodeOffsets(f *testing.F) {
	f.Add([]byte("0\n2\npayments 0 42\npayments 10 1099511627776\n"))
	f.Add([]byte("0\r\n1\r\nt  0\t-5 "))
	f.Fuzz(func(t *testing.T, in []byte) {
		offsets, err := DecodeOffsets(in)
		checkNamed(t, err)
		if err != nil {
			return
		}
		again, err := DecodeOffsets(EncodeOffsets(offsets))
		if diff := cmp.Diff(offsets, again); diff != "" || err != nil {
			t.Fatalf("%v (-first +again):\n%s", err, diff)
		}
	})
}
