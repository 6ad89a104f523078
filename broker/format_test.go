package broker

import (
	"errors"
	"testing"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// A directory that was formatted for a cluster is that cluster's, and is not
// formatted again.
func TestFormatNamesTheCluster(t *testing.T) {
	disk := vfs.NewMem()
	cfg := Config{
		FS: disk, Dir: "/data", ClusterID: "4L6g3nShT-eMCtK--X86sw",
		Settings: map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0"},
	}
	levels, err := Format(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(levels) == 0 || levels[0].Name != "metadata.version" {
		t.Errorf("begins with %v, want metadata.version first", levels)
	}
	if _, err := Format(cfg); !errors.Is(err, errFormatted) {
		t.Errorf("formatted twice: %v", err)
	}
	cfg.ClusterID = "MkU3OEVBNTcwNTJENDM2Qk"
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*ForeignDirectoryError](b.Run(t.Context())); !ok {
		t.Error("a broker of another cluster took the directory")
	}
}
