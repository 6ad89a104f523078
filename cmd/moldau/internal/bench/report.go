package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// notesMark ends what a comparison writes of a report. What people have written
// below it, why a target is missed and where the time goes, is kept.
const notesMark = "<!-- Written by hand from here on. -->"

// write prints the report, and writes the files that were asked for.
func (f findings) write(out io.Writer) error {
	text := f.markdown()
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if f.report != "" {
		if err := os.WriteFile(f.report, []byte(keepNotes(f.report, text)), 0o644); err != nil {
			return err
		}
	}
	if f.picture != "" {
		return os.WriteFile(f.picture, []byte(f.svg()), 0o644)
	}
	return nil
}

// cutShort prints what was measured before the end came, an interruption say. The
// files are left alone: half a report must not stand in a whole one's place.
func (f findings) cutShort(out io.Writer, cause error) error {
	f.machine.loadAfter = loadAverage()
	f.cut = cause
	_, err := io.WriteString(out, f.markdown())
	return errors.Join(cause, err)
}

// keepNotes appends the notes of an earlier report to a new one.
func keepNotes(path, text string) string {
	old, err := os.ReadFile(path)
	if err != nil {
		return text
	}
	if _, notes, ok := strings.Cut(string(old), notesMark); ok {
		return text + "\n" + notesMark + notes
	}
	return text
}

func (f findings) markdown() string {
	var b strings.Builder
	m := f.machine
	fmt.Fprintf(&b, "# Benchmarks\n\n")
	fmt.Fprintf(&b, "Written by `make bench` at commit %s on %s. Scale %g, median of %d runs.\n\n",
		f.commit, m.when.Format("2006-01-02 15:04 MST"), f.scale, f.runs)
	if f.cut != nil {
		fmt.Fprintf(&b, "**Not complete**: it ended after %d rows: %v.\n\n", len(f.rows)+len(f.restarted), f.cut)
	}
	fmt.Fprintf(&b, "Machine: %s, %d cores, %s of memory, %s %s on %s, %s. Client and brokers share it; "+
		"the load average was %s before and %s after, this comparison's own load included.\n\n",
		m.model, m.cores, size(m.memoryBytes), m.goos, m.kernel, m.gar, m.goVersion, m.loadBefore, m.loadAfter)
	b.WriteString("All brokers run at once and are measured in turn by the same client. The *floor* is a probe that does\n" +
		"nothing but what no broker can leave out: frames, CRC, write and sendfile. Absolute figures drift with\n" +
		"the machine; the ratio to the floor, measured in the same minute, is what counts. CPU is the broker\n" +
		"process's user and system time for a GiB of records as the application sees them; memory is its peak,\n" +
		"anonymous and file-backed.\n\n")
	if f.picture != "" {
		fmt.Fprintf(&b, "![CPU over the floor's](%s)\n\n", filepath.Base(f.picture))
	}
	f.writeVerdicts(&b)
	f.writeRows(&b)
	f.writeRestarts(&b)
	f.writeStanding(&b)
	return b.String()
}

func (f findings) writeVerdicts(b *strings.Builder) {
	b.WriteString("## Targets\n\n| workload | target | found | |\n|---|---|---|---|\n")
	line := func(v verdict) {
		mark := "met"
		if !v.ok {
			mark = "**missed**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", v.what, v.promise, v.found, mark)
	}
	for _, r := range f.rows {
		for _, v := range r.verdicts() {
			line(v)
		}
	}
	for _, r := range f.restarted {
		for _, v := range r.verdicts() {
			line(v)
		}
	}
	if s := f.standing[nameOurs]; s != nil {
		for _, v := range s.verdicts() {
			line(v)
		}
	}
	b.WriteString("\n")
}

func (f findings) writeRows(b *strings.Builder) {
	b.WriteString("## Workloads\n\n" +
		"The ratio is of CPU, and of p99 where the workload is of a fixed rate.\n\n" +
		"| workload | broker | × floor | CPU | records/s | MiB/s | p50 | p99 | p99.9 | anonymous | file-backed |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range f.rows {
		for _, name := range f.peers {
			c, ok := r.cells[name]
			if !ok {
				continue
			}
			if c.err != nil {
				fmt.Fprintf(b, "| %s | %s%s | failed: %s |\n", r.name, name, c.failures(), oneLine(c.err))
				continue
			}
			fmt.Fprintf(b, "| %s | %s%s | %s | %s | %.0f | %.1f | %s | %s | %s | %s |\n",
				r.name, name, c.failures(), ratioText(r.ratio(name)), r.cpu(c.Result), c.RecordsPerSecond(), c.BytesPerSecond()/(1<<20),
				short(c.Latency.P50), short(c.Latency.P99), short(c.Latency.P999), memoryText(c.Broker))
		}
	}
	b.WriteString("\nLatency: of a record from Produce to its acknowledgement, which at full speed is mostly its wait in the\n" +
		"client's buffer; of a fetch; or from producer to consumer.\n\n")
}

// oneLine has an error fit into a cell of a table.
func oneLine(err error) string {
	return strings.NewReplacer("\n", " ", "|", "\\|").Replace(err.Error())
}

// failures tells of runs that failed, if any did.
func (c cell) failures() string {
	if c.failed == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of %d runs failed)", c.failed, c.runs)
}

// cpu prints what a row's work cost, in the unit that suits it.
func (r row) cpu(found Result) string {
	if r.by == latencyP99 {
		return cpuPerRecord.text(found)
	}
	return r.by.text(found)
}

func ratioText(x float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.2f", x)
}

// memoryText fills two columns.
func memoryText(u *Usage) string {
	if u == nil {
		return "– | –"
	}
	return size(u.AnonPeakBytes) + " | " + size(u.FilePeakBytes)
}

func (f findings) writeStanding(b *strings.Builder) {
	fmt.Fprintf(b, "## At rest\n\nWatched for %s. Start is from the start of the process, on a data directory that exists, to the\n"+
		"first answered request.\n\n"+
		"| broker | start | idle CPU | anonymous | file-backed | making %d partitions | idle CPU with them | anonymous | file-backed |\n"+
		"|---|---|---|---|---|---|---|---|---|\n", short(f.idle), f.partitions)
	for _, name := range f.peers {
		s := f.standing[name]
		if s.startErr != nil {
			fmt.Fprintf(b, "| %s | failed: %s |\n", name, oneLine(s.startErr))
			continue
		}
		idle, crowded := "– | – | –", "– | – | – | –"
		if s.idleErr != nil {
			idle = "failed: " + oneLine(s.idleErr) + " | – | –"
		} else if s.idleFor > 0 {
			idle = coreText(s.idle.CPU, s.idleFor) + " | " + memoryText(&s.idle)
		}
		switch {
		case s.err != nil:
			crowded = "failed: " + oneLine(s.err) + " | – | – | –"
		case s.created > 0:
			crowded = fmt.Sprintf("%s | %s | %s", short(s.created), coreText(s.partitions.CPU, s.idleFor), memoryText(&s.partitions))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, short(s.start), idle, crowded)
	}
}

// writeRestarts prints what brokers did that were stopped and started again.
func (f findings) writeRestarts(b *strings.Builder) {
	if len(f.restarted) == 0 {
		return
	}
	b.WriteString("## After a clean stop\n\n" +
		"Each broker is given what the row says, stopped in good order and started again. Times are from the\n" +
		"start of the process; the rate leaves out what came before the first answer; CPU and memory, its peak,\n" +
		"are of all until the end. Groups have " + strconv.Itoa(partitionsOfGroup) + " committed offsets each. Of the log that is compacted each key\n" +
		"was written twice, and what is left was read and found to be right; its bound is of the default\n" +
		"`log.cleaner.dedupe.buffer.size`.\n\n" +
		"| row | broker | stop | first answer | until | took | a second | CPU | anonymous | file-backed |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range f.restarted {
		for _, name := range f.peers {
			found, ok := r.found[name]
			if !ok {
				continue
			}
			if found.err != nil {
				fmt.Fprintf(b, "| %s | %s | failed: %s |\n", r.name, name, oneLine(found.err))
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %.2f s | %s |\n", r.name, name, short(found.stopped),
				short(found.first), r.done, short(found.done), r.rate(found), found.usage.CPU.Seconds(), memoryText(&found.usage))
		}
	}
	b.WriteString("\n")
}

// coreText is a share of one core.
func coreText(cpu, elapsed time.Duration) string {
	return fmt.Sprintf("%.2f %%", 100*per(cpu.Seconds(), elapsed.Seconds()))
}
