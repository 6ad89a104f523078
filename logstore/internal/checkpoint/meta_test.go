package checkpoint

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

var (
	someID   = [16]byte{0xe5, 0x65, 0x89, 0x6d, 0x47, 0x9c, 0xa1, 0xb9, 0xd2, 0xcf, 0xef, 0x0a, 0x25, 0xdb, 0x4b, 0xd8}
	someText = "5WWJbUecobnSz-8KJdtL2A"
)

func TestID(t *testing.T) {
	if got := FormatID(someID); got != someText {
		t.Errorf("FormatID: %s, want %s", got, someText)
	}
	for in, ok := range map[string]bool{
		someText: true, someText + "==": true, someText[1:]: false, someText + "A": false, "": false,
		someText[:21] + "+": false, someText[:21] + "\n" + "A": false,
	} {
		id, err := ParseID(in)
		if ok != (err == nil) || (ok && id != someID) {
			t.Errorf("ParseID(%q): %v, %v", in, id, err)
		}
	}
}

func TestTopicID(t *testing.T) {
	golden := "version: 0\ntopic_id: " + someText
	if diff := cmp.Diff(golden, string(EncodeTopicID(someID))); diff != "" {
		t.Errorf("EncodeTopicID (-want +got):\n%s", diff)
	}
	for in, want := range map[string]string{
		golden:        "",
		golden + "\n": "",
		"version: 1\ntopic_id: " + someText + "\nmore: 3\n": "", // A newer version.
		"":                         "damaged file f, line 1 \"\": the line is missing",
		"version: 0\n":             "damaged file f, line 2 \"\": the line is missing",
		"version 0\ntopic_id: x":   `damaged file f, line 1 "version 0": not a name and a value`,
		"version: x\ntopic_id: x":  `damaged file f, line 1 "version: x": the version is not a number from 0 on`,
		"version: -1\ntopic_id: x": `damaged file f, line 1 "version: -1": the version is not a number from 0 on`,
		"version: 0\ntopic_id: x":  `damaged file f, line 2 "topic_id: x": "x" is not an id: 22 characters of URL-safe base64`,
		"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA": `damaged file f, line 2 "topic_id: AAAAAAAAAAAAAAAAAAAAAA": no topic has the id of zeros`,
	} {
		m := vfs.NewMem()
		mustDo(t, vfs.WriteFileAtomic(m, "f", []byte(in)))
		id, err := ReadTopicID(m, "f")
		if diff := cmp.Diff(want, text(err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
		if (err == nil) != (id == someID) {
			t.Errorf("%q: id %v, %v", in, id, err)
		}
	}
	m := vfs.NewMem()
	if _, err := ReadTopicID(m, PartitionMetadata); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	mustDo(t, WriteTopicID(m, PartitionMetadata, someID))
	if id, err := ReadTopicID(m, PartitionMetadata); id != someID || err != nil {
		t.Errorf("read back %v, %v", id, err)
	}
}

func TestMetaGolden(t *testing.T) {
	for golden, m := range map[string]Meta{
		"cluster.id=4L6g3nShT-eMCtK--X86sw\ndirectory.id=" + someText + "\nnode.id=1\nversion=1\n": {
			Version: 1, ClusterID: "4L6g3nShT-eMCtK--X86sw", NodeID: 1, Directory: someID,
		},
		"cluster.id=c\nnode.id=2147483647\nversion=1\n":    {Version: 1, ClusterID: "c", NodeID: 1<<31 - 1},
		"broker.id=0\ncluster.id=c\nversion=0\n":           {ClusterID: "c"},
		"version=0\n":                                      {NodeID: -1},
		"cluster.id=a ${b} \\\\ c\nnode.id=0\nversion=1\n": {Version: 1, ClusterID: `a ${b} \ c`},
	} {
		if diff := cmp.Diff(golden, string(EncodeMeta(m))); diff != "" {
			t.Errorf("EncodeMeta (-want +got):\n%s", diff)
		}
		fsys := vfs.NewMem()
		mustDo(t, WriteMeta(fsys, MetaProperties, m))
		got, err := ReadMeta(fsys, MetaProperties)
		if diff := cmp.Diff(m, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestDecodeMeta(t *testing.T) {
	v1 := Meta{Version: 1, ClusterID: "c", NodeID: 7}
	for in, want := range map[string]struct {
		meta Meta
		err  string
	}{
		"#\n#Mon Nov 30 15:28:09 UTC 2026\nnode.id=7\nversion=1\ncluster.id=c\n":        {v1, ""},
		"! old comment\r\nnode.id : 7\r\nversion 1\r\ncluster.id=\\u0063\r\nmore=x\r\n": {v1, ""},
		"version= 1 \nnode.id=7\ncluster.id=c":                                          {v1, ""},
		"node.id=5\nversion=1\ncluster.id=c\nnode.id=7\n":                               {v1, ""},
		"broker.id=7\n":                        {Meta{NodeID: 7}, ""},
		"":                                     {Meta{NodeID: -1}, ""},
		"version=2\n":                          {Meta{}, "meta.properties has version 2, the newest known here is 1: it was written by a newer release, use that one"},
		"version=-1\n":                         {Meta{}, `damaged file meta.properties, line 1 "version=-1": version=-1 is not a number from 0 on`},
		"a=b\nversion=x":                       {Meta{}, `damaged file meta.properties, line 2 "version=x": version=x is not a number from 0 on`},
		"version=1\nnode.id=7\n":               {Meta{}, "damaged file meta.properties: cluster.id is missing"},
		"version=1\ncluster.id=\nnode.id=7\n":  {Meta{}, "damaged file meta.properties: cluster.id is missing"},
		"version=1\ncluster.id=c\n":            {Meta{}, "damaged file meta.properties: node.id is missing"},
		"version=1\ncluster.id=c\nnode.id=-2":  {Meta{}, `damaged file meta.properties, line 3 "node.id=-2": node.id=-2 is not a number from 0 on`},
		"version=0\ncluster.id=c\nbroker.id=x": {Meta{}, `damaged file meta.properties, line 3 "broker.id=x": broker.id=x is not a number from 0 on`},
		"broker.id=1\ndirectory.id=x":          {Meta{}, `damaged file meta.properties, line 2 "directory.id=x": directory.id=x is not 22 characters of URL-safe base64`},
		"cluster.id=\\u00":                     {Meta{}, "damaged file meta.properties: not a properties file: properties: Line 1: invalid unicode literal"},
	} {
		fsys := vfs.NewMem()
		mustDo(t, vfs.WriteFileAtomic(fsys, MetaProperties, []byte(in)))
		got, err := ReadMeta(fsys, MetaProperties)
		if diff := cmp.Diff(want.meta, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
		if diff := cmp.Diff(want.err, text(err)); diff != "" {
			t.Errorf("%q, error (-want +got):\n%s", in, diff)
		}
	}
	if _, err := ReadMeta(vfs.NewMem(), MetaProperties); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestCleanShutdown(t *testing.T) {
	if got := string(EncodeCleanShutdown(151)); got != `{"version":0,"brokerEpoch":151}` {
		t.Errorf("EncodeCleanShutdown: %s", got)
	}
	for name, tc := range map[string]struct {
		content string
		epoch   int64
	}{
		"as written":         {`{"version":0,"brokerEpoch":151}`, 151},
		"by a newer Kafka":   {`{"version":1,"brokerEpoch":151,"more":{"x":[1]}}`, 151},
		"empty, as of old":   {"", -1},
		"no epoch":           {`{"version":0,"brokerEpoch":null}`, -1},
		"zeros by a crash":   {"\x00\x00\x00", -1},
		"epoch is no number": {`{"version":0,"brokerEpoch":"x"}`, -1},
	} {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMem()
			mustDo(t, vfs.WriteFileAtomic(m, CleanShutdown, []byte(tc.content)))
			epoch, clean, err := TakeCleanShutdown(m, ".")
			if epoch != tc.epoch || !clean || err != nil {
				t.Errorf("taken: %d, %v, %v; want %d", epoch, clean, err, tc.epoch)
			}
			after := m.Crash(rand.New(rand.NewPCG(1, 1)), vfs.CrashLoseAll)
			if epoch, clean, err := TakeCleanShutdown(after, "."); epoch != -1 || clean || err != nil {
				t.Errorf("taken again after a crash: %d, %v, %v", epoch, clean, err)
			}
		})
	}
}

func TestCleanShutdownIsDurable(t *testing.T) {
	m := vfs.NewMem()
	dir := filepath.FromSlash("/data")
	mustDo(t, m.MkdirAll(dir, 0o755))
	mustDo(t, m.SyncDir("/"))
	mustDo(t, WriteCleanShutdown(m, dir, 7))
	after := m.Crash(rand.New(rand.NewPCG(1, 1)), vfs.CrashLoseAll)
	if epoch, clean, err := TakeCleanShutdown(after, dir); epoch != 7 || !clean || err != nil {
		t.Errorf("taken: %d, %v, %v", epoch, clean, err)
	}
	for _, op := range []vfs.Op{vfs.OpRead, vfs.OpRemove, vfs.OpSyncDir} {
		f := vfs.NewFault(m)
		f.Inject(vfs.Rule{Op: op, Err: fs.ErrPermission})
		if _, clean, err := TakeCleanShutdown(f, dir); clean || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("failing %v: %v, %v", op, clean, err)
		}
	}
}

// FuzzDecodeMeta holds DecodeMeta to its contract on any bytes: a named error, or
// content that encodes to a text that decodes to it.
func FuzzDecodeMeta(f *testing.F) {
	f.Add([]byte("#\n#Mon Nov 30 15:28:09 UTC 2026\nnode.id=7\nversion=1\ncluster.id=c\ndirectory.id=" + someText))
	f.Add([]byte("broker.id=7\ncluster.id=\\u00e9\\\n ${x}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		meta, err := DecodeMeta(in)
		checkNamed(t, err)
		if err != nil {
			return
		}
		again, err := DecodeMeta(EncodeMeta(meta))
		if diff := cmp.Diff(meta, again); diff != "" || err != nil {
			t.Fatalf("%v (-first +again):\n%s", err, diff)
		}
	})
}

// FuzzDecodeSmall holds the decoders of the other small files to their contracts.
func FuzzDecodeSmall(f *testing.F) {
	f.Add([]byte("version: 0\ntopic_id: " + someText))
	f.Add([]byte(`{"version":0,"brokerEpoch":151}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		id, err := DecodeTopicID(in)
		checkNamed(t, err)
		if err == nil {
			if again, err := DecodeTopicID(EncodeTopicID(id)); again != id || err != nil {
				t.Fatalf("topic id %v, again %v, %v", id, again, err)
			}
		}
		epoch, err := DecodeCleanShutdown(in)
		checkNamed(t, err)
		if err == nil {
			if again, err := DecodeCleanShutdown(EncodeCleanShutdown(epoch)); again != epoch || err != nil {
				t.Fatalf("broker epoch %d, again %d, %v", epoch, again, err)
			}
		}
	})
}
