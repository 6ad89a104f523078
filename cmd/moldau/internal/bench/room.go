package bench

import (
	"errors"
	"os"
	"path/filepath"
)

// makeRoom has the memory that a run's files will lie in be there. A virtual machine
// that has told its host of free memory pays again for each page that it first writes
// to: on one such, 256 MiB took 40 ms into memory that a deleted file had held a second
// ago, and 630 ms into other. Whoever runs after a broker that deletes at once would
// look better by that. So a file of as many bytes is written and deleted before each
// run, whoever runs.
func makeRoom(dir string, bytes int64) error {
	f, err := os.Create(filepath.Join(dir, "room"))
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for ; bytes > 0 && err == nil; bytes -= int64(len(block)) {
		_, err = f.Write(block)
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
