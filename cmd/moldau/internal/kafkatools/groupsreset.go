package kafkatools

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// partitionsOf reads TOPIC and TOPIC:PARTITION[,...]. A topic that is not there is
// given to missing.
func (t *groupTool) partitionsOf(ctx context.Context, args []string, missing func(topic string, err error) error) ([]topicPartition, error) {
	var out []topicPartition
	var whole []string
	for _, arg := range args {
		if !strings.Contains(arg, ":") {
			whole = append(whole, arg)
			continue
		}
		parts := strings.Split(arg, ":")
		if len(parts) != 2 {
			return nil, illegalArgument("Invalid topic arg '" + arg + "', expected topic name and partitions")
		}
		for number := range strings.SplitSeq(parts[1], ",") {
			p, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				return nil, illegalArgument("Invalid partition '" + number + "' specified in topic arg '" + arg + "''")
			}
			out = append(out, topicPartition{parts[0], int32(p)})
		}
	}
	if len(whole) == 0 {
		return out, nil
	}
	topics, err := t.cl.ListTopicsWithInternal(ctx, whole...)
	if err != nil {
		return nil, err
	}
	for _, d := range topics.Sorted() {
		if d.Err != nil {
			if err := missing(d.Topic, d.Err); err != nil {
				return nil, err
			}
		}
		for _, p := range d.Partitions.Sorted() {
			out = append(out, topicPartition{d.Topic, p.Partition})
		}
	}
	return out, nil
}

// movement is where a group shall be.
type movement struct {
	group string
	to    map[topicPartition]int64
}

func (t *groupTool) reset(ctx context.Context) error {
	names, err := t.named(ctx)
	if err != nil {
		return err
	}
	var moves []movement
	for _, name := range names {
		m := movement{group: name}
		switch state, err := t.state(ctx, name); {
		case err != nil:
			return err
		case state != "Empty" && state != "Dead":
			t.say("Assignments can only be reset if the group '%s' is inactive, but the current state is %s.", name, state)
		default:
			if m.to, err = t.target(ctx, name); err != nil {
				return err
			}
			if t.o.has("execute") && !t.o.has("dry-run") {
				if err := t.commit(ctx, m); err != nil {
					return err
				}
			}
		}
		moves = append(moves, m)
	}
	if t.o.has("export") {
		return t.exportCSV(moves)
	}
	t.printMoves(moves)
	return nil
}

// state is a group's; one that is not there is as good as dead.
func (t *groupTool) state(ctx context.Context, name string) (string, error) {
	groups, err := t.describedGroups(ctx, []string{name})
	if err != nil {
		if strings.HasSuffix(thrown(err).class, "GroupIdNotFoundException") {
			return "Dead", nil
		}
		return "", err
	}
	return groups[0].state, nil
}

func (t *groupTool) commit(ctx context.Context, m movement) error {
	offsets := kadm.Offsets{}
	for p, at := range m.to {
		offsets.AddOffset(p.Topic, p.Partition, at, -1)
	}
	if len(offsets) == 0 {
		return nil
	}
	return t.cl.CommitAllOffsets(ctx, m.group, offsets)
}

// sortedPartitions are the partitions of a movement. Kafka's tool leaves them in the
// order of a hash map.
func sortedPartitions(m map[topicPartition]int64) []topicPartition {
	return slices.SortedFunc(maps.Keys(m), topicPartition.compare)
}

func (t *groupTool) printMoves(moves []movement) {
	group, topic := 15, 15
	for _, m := range moves {
		for p := range m.to {
			group, topic = max(group, len(m.group)), max(topic, len(p.Topic))
		}
	}
	row := func(g, t2, partition, offset string) {
		fmt.Fprintf(t.e.Out, "\n%-*s %-*s %-10s %s", group, g, topic, t2, partition, offset)
	}
	if len(moves) > 0 {
		row("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
	}
	for _, m := range moves {
		for _, p := range sortedPartitions(m.to) {
			row(m.group, p.Topic, strconv.Itoa(int(p.Partition)), strconv.FormatInt(m.to[p], 10))
		}
	}
	fmt.Fprintln(t.e.Out)
}

// exportCSV prints what --from-file reads.
func (t *groupTool) exportCSV(moves []movement) error {
	w := csv.NewWriter(t.e.Out)
	for _, m := range moves {
		for _, p := range sortedPartitions(m.to) {
			record := []string{p.Topic, strconv.Itoa(int(p.Partition)), strconv.FormatInt(m.to[p], 10)}
			if len(t.o.all("group")) != 1 {
				record = append([]string{m.group}, record...)
			}
			if err := w.Write(record); err != nil {
				return err
			}
		}
	}
	w.Flush()
	fmt.Fprintln(t.e.Out)
	return w.Error()
}

// target is where a group shall go.
func (t *groupTool) target(ctx context.Context, group string) (map[topicPartition]int64, error) {
	o := t.o
	committed := kadm.OffsetResponses{}
	var err error
	if o.has("all-topics") || o.has("shift-by") || o.has("to-current") {
		if committed, err = t.cl.FetchOffsets(ctx, group); err != nil {
			return nil, err
		}
	}
	partitions, err := t.scope(ctx, committed)
	if err != nil {
		return nil, err
	}
	if err := t.checkPartitions(ctx, partitions); err != nil {
		return nil, err
	}
	switch {
	case o.has("to-offset"):
		return t.within(ctx, same(partitions, o.num("to-offset", 0)))
	case o.has("to-earliest"):
		return t.places(ctx, partitions, earliest)
	case o.has("to-latest"):
		return t.places(ctx, partitions, latest)
	case o.has("shift-by"):
		want := map[topicPartition]int64{}
		for _, p := range partitions {
			c, ok := committed.Lookup(p.Topic, p.Partition)
			if !ok || c.At < 0 {
				return nil, illegalArgument(fmt.Sprintf("Cannot shift offset for partition %s since there is no current committed offset", p))
			}
			want[p] = c.At + o.num("shift-by", 0)
		}
		return t.within(ctx, want)
	case o.has("to-datetime"):
		at, err := parseDateTime(o.str("to-datetime"))
		if err != nil {
			return nil, err
		}
		return t.atTime(ctx, partitions, at)
	case o.has("by-duration"):
		ago, err := parseDuration(o.str("by-duration"))
		if err != nil {
			return nil, err
		}
		return t.atTime(ctx, partitions, time.Now().Add(-ago))
	case o.has("from-file"):
		want, err := t.fromFile(group)
		if err != nil {
			return nil, err
		}
		return t.within(ctx, want)
	case o.has("to-current"):
		return t.current(ctx, partitions, committed)
	}
	return nil, t.e.usage(groupOptions, "Option '[reset-offsets]' requires one of the following scenarios: [[%s]]", strings.Join(resetScenarios, "], ["))
}

// scope are the partitions that the options mean.
func (t *groupTool) scope(ctx context.Context, committed kadm.OffsetResponses) ([]topicPartition, error) {
	switch {
	case t.o.has("all-topics"):
		var out []topicPartition
		for topic, partitions := range committed {
			for p, c := range partitions {
				if c.At >= 0 {
					out = append(out, topicPartition{topic, p})
				}
			}
		}
		return out, nil
	case t.o.has("topic"):
		return t.partitionsOf(ctx, t.o.all("topic"), func(_ string, err error) error { return err })
	case t.o.has("from-file"):
		return nil, nil
	}
	return nil, t.e.usage(groupOptions, "One of the reset scopes should be defined: --all-topics, --topic.")
}

// checkPartitions wants that all partitions are there.
func (t *groupTool) checkPartitions(ctx context.Context, partitions []topicPartition) error {
	if len(partitions) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, p := range partitions {
		names[p.Topic] = true
	}
	topics, err := t.cl.ListTopicsWithInternal(ctx, slices.Collect(maps.Keys(names))...)
	if err != nil {
		return err
	}
	var missing []string
	for _, p := range partitions {
		if _, ok := topics[p.Topic].Partitions[p.Partition]; !ok {
			missing = append(missing, p.String())
		}
	}
	if len(missing) > 0 {
		return &failure{
			errorsPackage + "UnknownTopicOrPartitionException",
			"The partitions \"" + strings.Join(missing, ",") + "\" do not exist",
		}
	}
	return nil
}

func same(partitions []topicPartition, at int64) map[topicPartition]int64 {
	out := map[topicPartition]int64{}
	for _, p := range partitions {
		out[p] = at
	}
	return out
}

// places are the offsets of a place: the beginning or the end.
func (t *groupTool) places(ctx context.Context, partitions []topicPartition, place int64) (map[topicPartition]int64, error) {
	out := map[topicPartition]int64{}
	if len(partitions) == 0 {
		return out, nil
	}
	found, err := t.cl.offsetsAt(ctx, partitions, place)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		if found[p].err != nil {
			return nil, fromBroker(found[p].err)
		}
		out[p] = found[p].offset
	}
	return out, nil
}

// within moves offsets outside of a log to its nearer end.
func (t *groupTool) within(ctx context.Context, want map[topicPartition]int64) (map[topicPartition]int64, error) {
	partitions := sortedPartitions(want)
	first, err := t.places(ctx, partitions, earliest)
	if err != nil {
		return nil, err
	}
	last, err := t.places(ctx, partitions, latest)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		switch at := want[p]; {
		case at > last[p]:
			t.warnRange("New offset (%d) is higher than latest offset for topic partition %s. Value will be set to %d.", at, p, last[p])
			want[p] = last[p]
		case at < first[p]:
			t.warnRange("New offset (%d) is lower than earliest offset for topic partition %s. Value will be set to %d.", at, p, first[p])
			want[p] = first[p]
		}
	}
	return want, nil
}

func (t *groupTool) warnRange(format string, args ...any) {
	t.e.log("WARN", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", fmt.Sprintf(format, args...))
}

// atTime are the first offsets not before a time, or the end where there are none.
func (t *groupTool) atTime(ctx context.Context, partitions []topicPartition, at time.Time) (map[topicPartition]int64, error) {
	out, err := t.places(ctx, partitions, at.UnixMilli())
	if err != nil {
		return nil, err
	}
	for _, p := range sortedPartitions(out) {
		if out[p] >= 0 {
			continue
		}
		fmt.Fprintf(t.e.Out, "\nWarn: Partition %d from topic %s is empty. Falling back to latest known offset.\n", p.Partition, p.Topic)
		end, err := t.places(ctx, []topicPartition{p}, latest)
		if err != nil {
			return nil, err
		}
		out[p] = end[p]
	}
	return out, nil
}

func (t *groupTool) current(ctx context.Context, partitions []topicPartition, committed kadm.OffsetResponses) (map[topicPartition]int64, error) {
	var without []topicPartition
	out := map[topicPartition]int64{}
	for _, p := range partitions {
		if c, ok := committed.Lookup(p.Topic, p.Partition); ok && c.At >= 0 {
			out[p] = c.At
		} else {
			without = append(without, p)
		}
	}
	ends, err := t.places(ctx, without, latest)
	maps.Copy(out, ends)
	return out, err
}

// fromFile reads the plan for one group.
func (t *groupTool) fromFile(group string) (map[topicPartition]int64, error) {
	content, err := os.ReadFile(t.o.str("from-file"))
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(content))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	out := map[topicPartition]int64{}
	found := false
	for _, rec := range records {
		if len(rec) == 4 {
			if rec[0] != group {
				continue
			}
			rec = rec[1:]
		}
		if len(rec) != 3 {
			return nil, errors.New("a line of the plan is not TOPIC,PARTITION,OFFSET or GROUP,TOPIC,PARTITION,OFFSET: " + strings.Join(rec, ","))
		}
		p, err1 := strconv.ParseInt(strings.TrimSpace(rec[1]), 10, 32)
		at, err2 := strconv.ParseInt(strings.TrimSpace(rec[2]), 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		found = true
		out[topicPartition{strings.TrimSpace(rec[0]), int32(p)}] = at
	}
	if !found {
		t.say("No reset plan for group %s found.", group)
	}
	return out, nil
}

// parseDateTime reads a time as Kafka's tools do: of UTC unless it says otherwise.
func parseDateTime(s string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05.000", "2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000Z0700", "2006-01-02T15:04:05.000Z07"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, &failure{"java.text.ParseException", fmt.Sprintf("Unparseable date: %q", s)}
}

var duration = regexp.MustCompile(`^([-+]?)P(?:([-+]?[0-9]+)D)?(?:T(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?(?:([-+]?[0-9]+(?:\.[0-9]{0,9})?)S)?)?$`)

// parseDuration reads a length of time as Java does: P1DT2H3M4.5S.
func parseDuration(s string) (time.Duration, error) {
	m := duration.FindStringSubmatch(strings.ToUpper(s))
	if m == nil || m[2]+m[3]+m[4]+m[5] == "" {
		return 0, &failure{"java.time.format.DateTimeParseException", "Text cannot be parsed to a Duration"}
	}
	var sum time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+2] == "" {
			continue
		}
		n, err := strconv.ParseFloat(m[i+2], 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n * float64(unit))
	}
	if m[1] == "-" {
		sum = -sum
	}
	return sum, nil
}
