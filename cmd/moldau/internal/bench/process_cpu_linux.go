package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// readCPU returns the user and system time that a process and all its threads, those
// that have ended too, have had. The clock of a process is exact to the nanosecond,
// where /proc counts in hundredths of a second: too coarse for what takes some tenths.
func readCPU(pid int) (time.Duration, error) {
	const (
		scheduled = 2       // CPUCLOCK_SCHED; the number is made as by clock_getcpuclockid(3).
		most      = 1 << 22 // PID_MAX_LIMIT: a higher one would be the number of some other clock.
	)
	if pid <= 0 || pid > most {
		return 0, fmt.Errorf("--pid %d: ids of processes are from 1 to %d", pid, most)
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &ts); err != nil {
		return 0, fmt.Errorf("--pid %d: is the process on this machine? %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
