package vfs

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outcomes collects what is left at path over many crashes of one moment, as
// "-" where the file is missing.
func outcomes(t *testing.T, m *Mem, mode CrashMode, paths ...string) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for seed := range uint64(400) {
		after := m.Crash(rand.New(rand.NewPCG(seed, 1)), mode)
		var parts []string
		for _, p := range paths {
			b, err := ReadFile(after, p)
			if err != nil {
				b = []byte("-")
			}
			parts = append(parts, string(b))
		}
		seen[strings.Join(parts, "|")] = true
	}
	return seen
}

// moment makes /f with durable content "old", then unsynced "AAAA" at 0 and
// "BBBB" at 4.
func moment(t *testing.T) *Mem {
	m := NewMem()
	f := open(t, m, "/f", os.O_CREATE|os.O_RDWR)
	write(t, f, 0, "old")
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	write(t, f, 0, "AAAA")
	write(t, f, 4, "BBBB")
	return m
}

func TestCrashModesReachTheirOutcomes(t *testing.T) {
	for mode, want := range map[CrashMode][]string{
		CrashLoseAll: {"old"},
		CrashKeepAll: {"AAAABBBB"},
		CrashPrefix:  {"old", "AAAA", "AAAABBBB"},
		// One block of 512 bytes each: a write survives or not; the length may be ahead.
		CrashSubset: {
			"old", "AAAA", "AAAABBBB", "old\x00BBBB",
			"old\x00", "old\x00\x00", "old\x00\x00\x00", "old\x00\x00\x00\x00", "old\x00\x00\x00\x00\x00",
			"AAAA\x00", "AAAA\x00\x00", "AAAA\x00\x00\x00", "AAAA\x00\x00\x00\x00",
		},
		CrashTorn: {
			"Ald", "AAd", "AAA", // The head of the first write.
			"Ald\x00", "AAd\x00", "AAA\x00", // The same, as long as the whole.
			"oAAA", "olAA", "oldA", // Its tail.
			"AAAAB", "AAAABB", "AAAABBB", "AAAAB\x00\x00\x00", "AAAABB\x00\x00", "AAAABBB\x00",
			"AAAA\x00BBB", "AAAA\x00\x00BB", "AAAA\x00\x00\x00B",
		},
	} {
		t.Run(mode.String(), func(t *testing.T) {
			got := slices.Sorted(maps.Keys(outcomes(t, moment(t), mode, "/f")))
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCrashSubsetSplitsAtBlocks(t *testing.T) {
	m := NewMem()
	f := open(t, m, "/f", os.O_CREATE|os.O_RDWR)
	must(t, m.SyncDir("/"))
	// One write of eight small blocks and a little, not aligned.
	write(t, f, 100, strings.Repeat("x", 8*512+10))
	var laterWithoutEarlier, inSmallBlocks bool
	for out := range outcomes(t, m, CrashSubset, "/f") {
		for i := 0; i+512 <= len(out); i += 512 {
			block := out[max(i, 100):min(i+512, len(out))]
			if n := strings.Count(block, "x"); n != 0 && n != len(block) {
				t.Fatalf("block at %d is split: %d of %d bytes", i, n, len(block))
			}
		}
		first := strings.IndexByte(out, 'x')
		laterWithoutEarlier = laterWithoutEarlier || first > 100
		inSmallBlocks = inSmallBlocks || (first > 0 && first < 4096 && strings.Contains(out[first:min(4096, len(out))], "\x00"))
	}
	if !laterWithoutEarlier || !inSmallBlocks {
		t.Errorf("never reached: later without earlier %v, holes of 512 bytes %v", laterWithoutEarlier, inSmallBlocks)
	}
}

func TestCrashOfUnsyncedTruncate(t *testing.T) {
	m := NewMem()
	f := open(t, m, "/f", os.O_CREATE|os.O_RDWR)
	write(t, f, 0, "abcdef")
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	must(t, f.Truncate(2))
	write(t, f, 2, "XY")
	for mode, want := range map[CrashMode][]string{
		CrashLoseAll: {"abcdef"},
		CrashKeepAll: {"abXY"},
		CrashPrefix:  {"ab", "abXY", "abcdef"},
		CrashSubset:  {"ab", "ab\x00", "ab\x00\x00", "abXY", "abXYef", "abcdef"},
	} {
		got := slices.Sorted(maps.Keys(outcomes(t, m, mode, "/f")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", mode, diff)
		}
	}
}

// TestCrashOfUnsyncedRename is the classic one: the new name is durable and the
// data is not, unless the file was synced before it was renamed.
func TestCrashOfUnsyncedRename(t *testing.T) {
	for name, tc := range map[string]struct {
		sync bool
		want []string // All there is under CrashSubset, "f|f.tmp".
	}{
		"not synced before": {false, []string{
			"new|-", "old|-", "|-", "\x00|-", "\x00\x00|-", "\x00\x00\x00|-",
			"old|", "old|new", "old|\x00", "old|\x00\x00", "old|\x00\x00\x00",
		}},
		"synced before": {true, []string{"new|-", "old|-", "old|new"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMem()
			must(t, WriteFileAtomic(m, "/f", []byte("old")))
			f := open(t, m, "/f.tmp", os.O_CREATE|os.O_RDWR)
			write(t, f, 0, "new")
			if tc.sync {
				must(t, f.Sync())
			}
			must(t, m.Rename("/f.tmp", "/f"))
			got := slices.Sorted(maps.Keys(outcomes(t, m, CrashSubset, "/f", "/f.tmp")))
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if got := outcomes(t, m, CrashPrefix, "/f", "/f.tmp")["|-"]; got == tc.sync {
				t.Errorf("by prefix, new name without data: %v", got)
			}
			must(t, m.SyncDir("/"))
			for out := range outcomes(t, m, CrashSubset, "/f", "/f.tmp") {
				if strings.HasPrefix(out, "old") || !strings.HasSuffix(out, "|-") {
					t.Errorf("a synced rename was lost: %q", out)
				}
			}
		})
	}
}

func TestCrashOfUnsyncedCreateAndRemove(t *testing.T) {
	m := NewMem()
	must(t, WriteFileAtomic(m, "/gone", []byte("x")))
	must(t, m.Remove("/gone"))
	f := open(t, m, "/made", os.O_CREATE|os.O_RDWR)
	write(t, f, 0, "y")
	must(t, f.Sync())
	for mode, want := range map[CrashMode][]string{
		CrashLoseAll: {"x|-"},
		CrashKeepAll: {"-|y"},
		CrashPrefix:  {"-|-", "-|y", "x|-"},
		CrashSubset:  {"-|-", "-|y", "x|-", "x|y"},
	} {
		got := slices.Sorted(maps.Keys(outcomes(t, m, mode, "/gone", "/made")))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", mode, diff)
		}
	}
}

func TestCrashOfNewDirectory(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/d", 0o755))
	f := open(t, m, "/d/f", os.O_CREATE|os.O_RDWR)
	must(t, f.Sync())
	must(t, m.SyncDir("/d"))
	lose := func() *Mem { return m.Crash(rand.New(rand.NewPCG(1, 1)), CrashLoseAll) }
	if got := names(t, lose(), "/"); len(got) != 0 {
		t.Errorf("a directory is durable by syncing its inside: %v", got)
	}
	must(t, m.SyncDir("/"))
	if got := names(t, lose(), "/d"); !slices.Equal(got, []string{"f"}) {
		t.Errorf("after syncing the parent too: %v", got)
	}
}

// TestSyncDirTakesWhatItRestsOn moves a file between directories over a name that
// another file has just left.
func TestSyncDirTakesWhatItRestsOn(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/a", 0o755))
	must(t, m.MkdirAll("/b", 0o755))
	must(t, m.SyncDir("/"))
	must(t, WriteFileAtomic(m, "/a/x", []byte("1")))
	must(t, m.Rename("/a/x", "/a/y"))
	must(t, writeFileSync(m, "/a/x", []byte("2")))
	must(t, m.Rename("/a/x", "/b/x"))
	must(t, m.SyncDir("/b"))
	after := m.Crash(rand.New(rand.NewPCG(1, 1)), CrashLoseAll)
	if got := read(t, after, "/a/y") + read(t, after, "/b/x"); got != "12" {
		t.Errorf("files hold %q, want 12", got)
	}
}

func TestCrashLeavesTheOriginalAlone(t *testing.T) {
	m := moment(t)
	after := m.Crash(rand.New(rand.NewPCG(1, 1)), CrashKeepAll)
	write(t, open(t, after, "/f", os.O_RDWR), 0, "after")
	write(t, open(t, m, "/f", os.O_RDWR), 7, "!")
	if got := read(t, m, "/f") + read(t, after, "/f"); got != "AAAABBB!afterBBB" {
		t.Errorf("content %q", got)
	}
	if _, err := m.Lock("/.lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Crash(rand.New(rand.NewPCG(1, 1)), CrashKeepAll).Lock("/.lock"); err != nil {
		t.Errorf("a crash keeps the lock: %v", err)
	}
}
