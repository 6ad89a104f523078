//go:build !linux

package bench

import (
	"fmt"
	"runtime"
	"time"
)

func readCPU(pid int) (time.Duration, error) {
	return 0, fmt.Errorf("--pid %d: what a process costs is read on Linux alone, this is %s", pid, runtime.GOOS)
}
