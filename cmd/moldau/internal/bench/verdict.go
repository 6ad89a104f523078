package bench

import (
	"fmt"
	"strings"
	"time"
)

func contains(name, part string) bool { return strings.Contains(name, part) }

// of is the figure of a result.
func (m measure) of(r Result) float64 {
	switch m {
	case cpuPerGiB:
		return r.CPUPerGiB()
	case cpuPerRecord:
		return float64(r.CPUPerRecord())
	case latencyP99:
		return float64(r.Latency.P99)
	}
	panic(fmt.Sprintf("BUG: measure %d", m))
}

// text prints the figure.
func (m measure) text(r Result) string {
	switch m {
	case cpuPerGiB:
		return fmt.Sprintf("%.2f CPU s/GiB", r.CPUPerGiB())
	case cpuPerRecord:
		return fmt.Sprintf("%.1f CPU us/record", float64(r.CPUPerRecord())/float64(time.Microsecond))
	case latencyP99:
		return "p99 " + short(r.Latency.P99)
	}
	panic(fmt.Sprintf("BUG: measure %d", m))
}

// ratio is a broker's figure over the floor's; false if one is not known.
func (r row) ratio(name string) (float64, bool) {
	return r.over(name, nameFloor, r.by.of)
}

// over is one broker's figure over another's.
func (r row) over(name, base string, of func(Result) float64) (float64, bool) {
	a, okA := r.cells[name]
	b, okB := r.cells[base]
	if !okA || !okB || a.err != nil || b.err != nil || of(b.Result) == 0 {
		return 0, false
	}
	return of(a.Result) / of(b.Result), true
}

// verdict is one promise and whether it was kept.
type verdict struct {
	what    string
	promise string
	found   string
	ok      bool
}

// verdicts holds a row against its target.
func (r row) verdicts() []verdict {
	var found []verdict
	add := func(promise string, value float64, unit string, known, ok bool) {
		v := verdict{what: r.name, promise: promise, found: fmt.Sprintf("%.2f%s", value, unit), ok: known && ok}
		if !known {
			v.found = "not measured"
		}
		found = append(found, v)
	}
	if limit := r.want.cpuToFloor; limit > 0 {
		x, known := r.ratio(nameOurs)
		add(fmt.Sprintf("CPU ≤ %.1f × floor", limit), x, " ×", known, x <= limit)
	}
	if limit := r.want.rateToFloor; limit > 0 {
		x, known := r.over(nameOurs, nameFloor, Result.RecordsPerSecond)
		add(fmt.Sprintf("rate ≥ %.2f × floor", limit), x, " ×", known, x >= limit)
	}
	for _, other := range r.want.below {
		if _, there := r.cells[other]; !there {
			continue // Not asked to take part.
		}
		what := "CPU"
		if r.by == latencyP99 {
			what = "p99"
		}
		x, known := r.over(nameOurs, other, r.by.of)
		add(fmt.Sprintf("%s below %s", what, other), x, " ×", known, x < 1)
	}
	for _, other := range r.want.notSlower {
		if _, there := r.cells[other]; !there {
			continue
		}
		x, known := r.over(nameOurs, other, Result.RecordsPerSecond)
		unit := " ×"
		if n := float64(r.transactions); known && n > 0 {
			unit += fmt.Sprintf(", %.0f/s", r.cells[nameOurs].RecordsPerSecond()/n)
		}
		add("rate ≥ "+other, x, unit, known, x >= 1)
	}
	memory := func(what string, limit int64, of func(*Usage) int64) {
		if limit == 0 {
			return
		}
		ours := r.cells[nameOurs]
		known, bytes := ours.err == nil && ours.Broker != nil, int64(0)
		if known {
			bytes = of(ours.Broker)
		}
		add(fmt.Sprintf("%s memory < %d MiB", what, limit>>20), float64(bytes)/(1<<20), " MiB", known, bytes < limit)
	}
	memory("anonymous", r.want.anonBytes, func(u *Usage) int64 { return u.AnonPeakBytes })
	memory("file-backed", r.want.fileBytes, func(u *Usage) int64 { return u.FilePeakBytes })
	return found
}

// What a broker at rest is held to.
const (
	startTarget     = 30 * time.Millisecond
	idleBytesTarget = 25 << 20
	idleCoreTarget  = 0.001
)

func (s standing) verdicts() []verdict {
	idle := s.idle.AnonPeakBytes + s.idle.FilePeakBytes
	core := per(s.idle.CPU.Seconds(), s.idleFor.Seconds())
	all := []verdict{
		{"start to first answer", "< " + short(startTarget), short(s.start), s.start < startTarget},
		{"idle, resident memory", "< " + size(idleBytesTarget), size(idle), idle < idleBytesTarget},
		{"idle, CPU", fmt.Sprintf("< %.1f %% of a core", 100*idleCoreTarget), fmt.Sprintf("%.2f %%", 100*core), core < idleCoreTarget},
	}
	for i := range all {
		if known := s.startErr == nil && (i == 0 || s.idleErr == nil); !known {
			all[i].found, all[i].ok = "not measured", false
		}
	}
	return all
}
