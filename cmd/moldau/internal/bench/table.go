package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// write prints a result for people, or as JSON.
func (r Result) write(w io.Writer, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r.object())
	case "table":
	default:
		return fmt.Errorf("--format %s: use table or json", format)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "records\t%d\n", r.Records)
	fmt.Fprintf(out, "bytes\t%s\n", size(r.Bytes))
	fmt.Fprintf(out, "took\t%s\n", short(r.Elapsed))
	fmt.Fprintf(out, "rate\t%.0f records/s, %.1f MiB/s\n", r.RecordsPerSecond(), r.BytesPerSecond()/(1<<20))
	l := r.Latency
	fmt.Fprintf(out, "latency\tp50 %s, p90 %s, p99 %s, p99.9 %s, max %s (%d samples)\n",
		short(l.P50), short(l.P90), short(l.P99), short(l.P999), short(l.Max), l.Samples)
	if b := r.Broker; b != nil {
		fmt.Fprintf(out, "broker CPU\t%s, %.2f s/GiB, %s a record\n", short(b.CPU), r.CPUPerGiB(), short(r.CPUPerRecord()))
		fmt.Fprintf(out, "broker memory\tanonymous %s, file-backed %s (peaks)\n", size(b.AnonPeakBytes), size(b.FilePeakBytes))
	}
	return out.Flush()
}

// object is a result with its derived figures.
func (r Result) object() any {
	return struct {
		Result

		RecordsPerSecond float64       `json:"records_per_second"`
		BytesPerSecond   float64       `json:"bytes_per_second"`
		CPUPerGiB        float64       `json:"broker_cpu_seconds_per_gib,omitempty"`
		CPUPerRecord     time.Duration `json:"broker_cpu_ns_per_record,omitempty"`
	}{r, r.RecordsPerSecond(), r.BytesPerSecond(), r.CPUPerGiB(), r.CPUPerRecord()}
}

// size prints bytes in a unit that leaves few digits.
func size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// short prints a duration with three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= 10*time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.Round(10 * time.Nanosecond).String()
}
