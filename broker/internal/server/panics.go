package server

import (
	"runtime"
	"strings"
)

const module = "github.com/moldau-broker/moldau/"

// fatalHomes are the packages whose broken invariants must stop the process:
// going on could lose what was acknowledged, or elect two leaders. A panic from
// anywhere else costs the one connection it happened on.
var fatalHomes = []string{module + "logstore", module + "broker/internal/quorum"}

// isFatal says, in a deferred function while a panic unwinds, whether it began
// in one of fatalHomes.
func isFatal() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			return fatalAt(f.Function)
		}
		if !more {
			return false
		}
	}
}

// fatalAt says whether the function belongs to one of fatalHomes.
func fatalAt(function string) bool {
	for _, home := range fatalHomes {
		if rest, ok := strings.CutPrefix(function, home); ok && (rest[0] == '.' || rest[0] == '/') {
			return true
		}
	}
	return false
}
