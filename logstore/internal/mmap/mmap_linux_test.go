package mmap

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDontNeedLowersResidentMemory asks the kernel how much of the mapping counts
// as resident memory of this process.
func TestDontNeedLowersResidentMemory(t *testing.T) {
	const sizeBytes = 1 << 20
	f, m := open(t, sizeBytes)
	if _, err := f.WriteAt(bytes.Repeat([]byte("x"), sizeBytes), 0); err != nil {
		t.Fatal(err)
	}
	b := m.Pin()
	defer m.Unpin()
	if n := bytes.Count(b, []byte("x")); n != sizeBytes { // Touches every page.
		t.Fatalf("%d bytes of %d", n, sizeBytes)
	}
	if got := residentKB(t, b); got != sizeBytes/1024 {
		t.Fatalf("%d KB resident after reading %d", got, sizeBytes/1024)
	}
	if err := m.DontNeed(0, sizeBytes); err != nil {
		t.Fatal(err)
	}
	if got := residentKB(t, b); got != 0 {
		t.Errorf("%d KB resident after DontNeed", got)
	}
}

// residentKB finds the mapping by its address in the kernel's list.
func residentKB(t *testing.T, b []byte) (kb int) {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("no list of mappings: %v", err)
	}
	_, mine, ok := strings.Cut(string(smaps), strings.TrimPrefix(fmt.Sprintf("%p-", &b[0]), "0x"))
	if !ok {
		t.Fatal("mapping not found")
	}
	_, rss, _ := strings.Cut(mine, "\nRss:")
	if _, err := fmt.Sscan(rss, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}
