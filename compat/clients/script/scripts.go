package script

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// all is in the order of the matrix. README.md says what each is about.
var all = []one{
	{"codecs", codecs},
	{"headers", headers},
	{"order", order},
	{"large", large},
	{"group", group},
	{"rebalance", func(c Client, r *Run) { moving(c, r, "classic") }},
	{"resume", resume},
	{"offsets", offsets},
	{"idempotent", idempotent},
	{"transactions", transactions},
	{"admin", admin},
	{"kip848", func(c Client, r *Run) { r.Must(c.Has("kip848")); moving(c, r, "consumer") }},
}

// sizes says how many records there are of each size.
var sizes = []struct{ bytes, records int }{{1, 20}, {100, 20}, {10_000, 6}, {300_000, 2}}

func numbered(n int, prefix string, partitions int) []Record {
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{Value: fmt.Appendf(nil, "%s-%d", prefix, i), Partition: i % partitions}
	}
	return records
}

func texts(records []Record) []string {
	values := make([]string, len(records))
	for i, r := range records {
		values[i] = string(r.Value)
	}
	return values
}

func sorted[T cmp.Ordered](list []T) []T { return slices.Sorted(slices.Values(list)) }

func offsetsOf(records []Record) []int64 {
	list := make([]int64, len(records))
	for i, r := range records {
		list[i] = r.Offset
	}
	return list
}

func count(from, end int64) []int64 {
	list := make([]int64, 0, end-from)
	for i := from; i < end; i++ {
		list = append(list, i)
	}
	return list
}

func in(partition int, records []Record) []Record {
	var list []Record
	for _, r := range records {
		if r.Partition == partition {
			list = append(list, r)
		}
	}
	return list
}

func numbers(r *Run, records []Record) []int64 {
	list := make([]int64, len(records))
	for i, record := range records {
		n, err := strconv.ParseInt(string(record.Value), 10, 64)
		r.Must(err)
		list[i] = n
	}
	return list
}

func produce(r *Run, c Client, topic string, records []Record, o Options) []Place {
	places, err := tryProduce(r, c, topic, records, o)
	r.Must(err)
	return places
}

func tryProduce(r *Run, c Client, topic string, records []Record, o Options) ([]Place, error) {
	p, err := c.Producer(o)
	r.Must(err)
	places, err := p.Send(topic, records)
	if closed := p.Close(); err == nil {
		err = closed
	}
	return places, err
}

// take polls until there are so many records.
func take(r *Run, c Consumer, want int, what string) []Record {
	var got []Record
	r.Until(fmt.Sprintf("%d records of %s", want, what), 40*time.Second, func() bool {
		more, err := c.Poll(200 * time.Millisecond)
		r.Must(err)
		got = append(got, more...)
		return len(got) >= want
	})
	return got
}

// read reads a whole topic: want records, and as far as the end that it has.
func read(r *Run, c Client, topic string, want, partitions int, committed bool) []Record {
	reader, err := c.Reader(topic, partitions, committed, 0)
	r.Must(err)
	defer func() { _ = reader.Close() }()
	got := take(r, reader, want, topic)
	// What is there too many has been fetched with the rest or comes at once.
	more, err := reader.Poll(300 * time.Millisecond)
	r.Must(err)
	return append(got, more...)
}

func codecs(c Client, r *Run) {
	topic := r.Name("codecs")
	r.Must(c.CreateTopic(topic, 1, nil))
	var sent []Record
	for n, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		if !r.Part(codec, c.Has(codec)) {
			continue
		}
		var records []Record
		for _, size := range sizes {
			for i := range size.records {
				records = append(records, Record{Value: payload(n*1000+i, size.bytes)})
			}
		}
		r.Waits(fmt.Sprintf("the acknowledgement of %d records in %s", len(records), codec))
		places := produce(r, c, topic, records, Options{Codec: codec})
		if c.Has("places") == nil {
			for i, p := range places {
				r.Same("offset of a record in "+codec, p.Offset, int64(len(sent)+i))
			}
		}
		sent = append(sent, records...)
	}
	got := read(r, c, topic, len(sent), 1, false)
	r.Same("offsets", offsetsOf(got), count(0, int64(len(sent))))
	for i, record := range got {
		r.Same(fmt.Sprintf("value at offset %d", i), record.Value, sent[i].Value)
	}
}

func headers(c Client, r *Run) {
	topic := r.Name("headers")
	r.Must(c.CreateTopic(topic, 1, nil))
	every := []byte(nil)
	for b := range 256 {
		every = append(every, byte(b))
	}
	b := func(s string) []byte { return []byte(s) }
	records := []Record{
		{Value: b("v"), Key: b("k"), Headers: []Header{{"a", b("1")}, {"b", b("2")}, {"a", b("3")}}},
		{Key: b("tombstone")},
		{Value: b("no key")},
		{Value: b(""), Key: b("")},
		{Value: every, Key: every, Headers: []Header{{"ключ", b("utf-8")}}},
		{Value: b("v"), Key: b("k"), Headers: []Header{{"empty", b("")}}},
	}
	if r.Part("headers of any byte", c.Has("binary headers")) {
		records = append(records, Record{Value: b("v"), Headers: []Header{{"bytes", every}}})
	}
	if r.Part("headers whose value is null", c.Has("null headers")) {
		records = append(records, Record{Value: b("v"), Key: b("k"), Headers: []Header{{"null", nil}}})
	}
	stamps := r.Part("timestamps", c.Has("timestamps"))
	for i := range records {
		if stamps {
			records[i].Timestamp = 1_700_000_000_000 + int64(i)
		}
	}
	nulls := r.Part("null apart from empty", c.Has("nulls"))
	r.Waits("the acknowledgements")
	produce(r, c, topic, records, Options{})
	got := read(r, c, topic, len(records), 1, false)
	r.Same("records", len(got), len(records))
	for i, want := range records {
		at := fmt.Sprintf(" at offset %d", i)
		r.Same("value"+at, string(got[i].Value), string(want.Value))
		r.Same("key"+at, string(got[i].Key), string(want.Key))
		if nulls {
			r.Same("value is null"+at, got[i].Value == nil, want.Value == nil)
			r.Same("key is null"+at, got[i].Key == nil, want.Key == nil)
		}
		r.Same("number of headers"+at, len(got[i].Headers), len(want.Headers))
		for j, h := range want.Headers {
			r.Same("header"+at, got[i].Headers[j].Key+"="+string(got[i].Headers[j].Value), h.Key+"="+string(h.Value))
			if nulls {
				r.Same("null header"+at, got[i].Headers[j].Value == nil, h.Value == nil)
			}
		}
		if stamps {
			r.Same("timestamp"+at, got[i].Timestamp, want.Timestamp)
		}
	}
}

func order(c Client, r *Run) {
	topic := r.Name("order")
	r.Must(c.CreateTopic(topic, 3, nil))
	records := make([]Record, 3000)
	for i := range records {
		records[i] = Record{Value: fmt.Append(nil, i), Key: fmt.Appendf(nil, "key-%d", i%60), Partition: Any}
	}
	r.Waits("3000 acknowledgements")
	places := produce(r, c, topic, records, Options{})
	got := read(r, c, topic, 3000, 3, false)
	r.Same("records", len(got), 3000)
	if c.Has("places") == nil {
		at := map[Place]string{}
		for _, record := range got {
			at[Place{record.Partition, record.Offset}] = string(record.Value)
		}
		for i, p := range places {
			r.Same(fmt.Sprintf("the record at %v", p), at[p], string(records[i].Value))
		}
	}
	home := map[string]int{}
	for _, record := range got {
		if _, ok := home[string(record.Key)]; !ok {
			home[string(record.Key)] = record.Partition
		}
		r.Same(fmt.Sprintf("the partition of %s", record.Key), record.Partition, home[string(record.Key)])
	}
	r.Same("keys", len(home), 60)
	for p := range 3 {
		mine := in(p, got)
		r.Same("a partition without a record", len(mine) == 0, false)
		r.Same(fmt.Sprintf("offsets in partition %d", p), offsetsOf(mine), count(0, int64(len(mine))))
		r.Same(fmt.Sprintf("order in partition %d", p), numbers(r, mine), sorted(numbers(r, mine)))
	}
}

func large(c Client, r *Run) {
	topic := r.Name("large")
	r.Must(c.CreateTopic(topic, 1, map[string]string{"max.message.bytes": strconv.Itoa(4 << 20)}))
	big := Record{Value: payload(7, 3<<20)}
	r.Waits("the acknowledgement of 3 MiB")
	produce(r, c, topic, []Record{big}, Options{MaxBytes: 10 << 20})
	r.Waits("the refusal of 5 MiB")
	_, err := tryProduce(r, c, topic, []Record{{Value: payload(9, 5<<20)}}, Options{MaxBytes: 10 << 20})
	refused := "accepted"
	if err != nil {
		refused = c.ErrorName(err)
	}
	r.Same("what became of 5 MiB", refused, "MESSAGE_TOO_LARGE")
	produce(r, c, topic, []Record{{Value: []byte("after")}}, Options{})
	got := read(r, c, topic, 2, 1, false)
	r.Same("records", len(got), 2)
	r.Same("3 MiB", got[0].Value, big.Value)
	r.Same("the record after", string(got[1].Value), "after")
}

func total(r *Run, members []*member) (records []Record) {
	for _, m := range members {
		records = append(records, m.look(r)...)
	}
	return records
}

// shared waits until the members hold all partitions, each a part and none twice.
func shared(r *Run, members []*member, partitions []string) {
	r.Until(fmt.Sprintf("%d members that share %d partitions", len(members), len(partitions)), 40*time.Second, func() bool {
		_ = total(r, members)
		var held []string
		for _, m := range members {
			if len(m.held()) == 0 {
				return false
			}
			held = append(held, m.held()...)
		}
		return slices.Equal(sorted(held), sorted(partitions))
	})
}

func await(r *Run, members []*member, want int) {
	r.Until(fmt.Sprintf("%d records in %d members", want, len(members)), 20*time.Second, func() bool {
		return len(total(r, members)) >= want
	})
}

func group(c Client, r *Run) {
	topics := []string{r.Name("group-a"), r.Name("group-b")}
	var every, want []string
	for _, t := range topics {
		r.Must(c.CreateTopic(t, 2, nil))
		every = append(every, t+"/0", t+"/1")
		want = append(want, texts(numbered(1000, t, 2))...)
	}
	pair := []*member{join(r, c, r.Name("pair"), topics, "classic"), join(r, c, r.Name("pair"), topics, "classic")}
	alone := []*member{join(r, c, r.Name("alone"), topics, "classic")}
	shared(r, pair, every)
	shared(r, alone, every)
	for _, t := range topics {
		produce(r, c, t, numbered(1000, t, 2), Options{})
	}
	await(r, pair, 2000)
	await(r, alone, 2000)
	for _, m := range append(pair, alone...) {
		m.leave(r)
	}
	r.Same("what the pair read", sorted(texts(total(r, pair))), sorted(want))
	r.Same("what the other read", sorted(texts(total(r, alone))), sorted(want))
	for _, g := range []string{"pair", "alone"} {
		for _, t := range topics {
			for p := range 2 {
				at, err := c.Committed(r.Name(g), t, p)
				r.Must(err)
				r.Same("committed by "+g, at, int64(500))
			}
		}
	}
}

func moving(c Client, r *Run, protocol string) {
	topic, name := r.Name("moving"), r.Name(protocol)
	r.Must(c.CreateTopic(topic, 4, nil))
	every := []string{topic + "/0", topic + "/1", topic + "/2", topic + "/3"}

	first := join(r, c, name, []string{topic}, protocol)
	shared(r, []*member{first}, every)
	produce(r, c, topic, numbered(200, "one", 4), Options{})
	await(r, []*member{first}, 200)

	second := join(r, c, name, []string{topic}, protocol)
	both := []*member{first, second}
	shared(r, both, every)
	r.Same("partitions of the first", len(first.held()), 2)
	produce(r, c, topic, numbered(200, "two", 4), Options{})
	await(r, both, 400)
	r.Same("records of the second", len(second.look(r)), 100)

	first.leave(r)
	shared(r, []*member{second}, every)
	produce(r, c, topic, numbered(200, "three", 4), Options{})
	await(r, both, 600)
	second.leave(r)

	var want []string
	for _, w := range []string{"one", "two", "three"} {
		want = append(want, texts(numbered(200, w, 4))...)
	}
	r.Same("what was read", sorted(texts(total(r, both))), sorted(want))
	for p := range 4 {
		for _, m := range both {
			mine := offsetsOf(in(p, m.look(r)))
			r.Same(fmt.Sprintf("order in partition %d", p), mine, sorted(mine))
		}
		at, err := c.Committed(name, topic, p)
		r.Must(err)
		r.Same(fmt.Sprintf("committed in partition %d", p), at, int64(150))
	}
}

func resume(c Client, r *Run) {
	topic, name := r.Name("resume"), r.Name("resume")
	r.Must(c.CreateTopic(topic, 1, nil))
	produce(r, c, topic, numbered(100, "r", 1), Options{})
	part := func(want int, commit int64) []Record {
		m, err := c.Member(name, []string{topic}, "classic")
		r.Must(err)
		got := take(r, m, want, topic)
		r.Must(m.CommitAt(topic, 0, commit))
		r.Must(m.Close())
		at, err := c.Committed(name, topic, 0)
		r.Must(err)
		r.Same("committed", at, commit)
		return got
	}
	r.Same("first offset", part(37, 37)[0].Offset, int64(0))
	r.Same("what came after", texts(part(63, 100)), texts(numbered(100, "r", 1)[37:]))
}

func offsets(c Client, r *Run) {
	topic := r.Name("offsets")
	r.Must(c.CreateTopic(topic, 1, nil))
	const start = 1_700_000_000_000
	records := numbered(20, "o", 1)
	times := r.Part("timestamps", c.Has("timestamps"))
	for i := range records {
		if times {
			records[i].Timestamp = start + int64(i)*1000
		}
	}
	produce(r, c, topic, records, Options{})
	begin, end, err := c.Offsets(topic, 0)
	r.Must(err)
	r.Same("beginning and end", []int64{begin, end}, []int64{0, 20})
	if times {
		for _, ask := range []struct {
			what     string
			ms, want int64
		}{{"between", start + 5500, 6}, {"exactly", start + 5000, 5}, {"after all", start + 50_000, -1}} {
			at, err := c.OffsetForTime(topic, 0, ask.ms)
			r.Must(err)
			r.Same("offset for a time "+ask.what, at, ask.want)
		}
	}
	reader, err := c.Reader(topic, 1, false, 12)
	r.Must(err)
	got := take(r, reader, 8, topic+" from offset 12")
	r.Must(reader.Close())
	r.Same("records from offset 12", texts(got), texts(records[12:]))
}

func idempotent(c Client, r *Run) {
	r.Must(c.Has("idempotent"))
	topic := r.Name("idempotent")
	r.Must(c.CreateTopic(topic, 2, nil))
	p, err := c.Producer(Options{Idempotent: true})
	r.Must(err)
	r.Waits("5000 acknowledgements")
	for n := range 10 {
		records := make([]Record, 500)
		for i := range records {
			records[i] = Record{Value: fmt.Append(nil, n*500+i), Partition: i % 2}
		}
		_, err := p.Send(topic, records)
		r.Must(err)
	}
	r.Must(p.Close())
	got := read(r, c, topic, 5000, 2, false)
	r.Same("records", len(got), 5000)
	for partition := range 2 {
		want := make([]int64, 2500)
		for i := range want {
			want[i] = int64(2*i + partition)
		}
		r.Same(fmt.Sprintf("partition %d", partition), numbers(r, in(partition, got)), want)
	}
}

func admin(c Client, r *Run) {
	r.Must(c.Has("admin"))
	topic, name := r.Name("admin"), r.Name("admin")
	r.Must(c.CreateTopic(topic, 2, map[string]string{"retention.ms": "86400001"}))
	partitions := func(want int) func() bool {
		return func() bool { n, err := c.Partitions(topic); return err == nil && n == want }
	}
	r.Until("two partitions", 10*time.Second, partitions(2))
	exists := func() bool { list, err := c.Topics(); r.Must(err); return slices.Contains(list, topic) }
	r.Same("a topic of that name", exists(), true)
	again := "created"
	if err := c.CreateTopic(topic, 2, nil); err != nil {
		again = c.ErrorName(err)
	}
	r.Same("a second topic of that name", again, "TOPIC_ALREADY_EXISTS")
	retention := func() string { v, err := c.Config(topic, "retention.ms"); r.Must(err); return v }
	r.Same("retention.ms", retention(), "86400001")
	r.Must(c.AlterConfig(topic, "retention.ms", "86400002"))
	r.Until("the new retention.ms", 10*time.Second, func() bool { return retention() == "86400002" })
	r.Must(c.AddPartitions(topic, 4))
	r.Until("four partitions", 10*time.Second, partitions(4))

	produce(r, c, topic, numbered(10, "a", 1), Options{})
	left := count(0, 10)
	if r.Part("delete records", c.DeleteRecords(topic, 0, 4)) {
		left = left[4:]
		begin, end, err := c.Offsets(topic, 0)
		r.Must(err)
		r.Same("beginning and end after the deletion", []int64{begin, end}, []int64{4, 10})
	}
	m := join(r, c, name, []string{topic}, "classic")
	await(r, []*member{m}, len(left))
	m.leave(r)
	r.Same("records that are left", offsetsOf(m.look(r)), left)
	listed := func() bool { list, err := c.Groups(); r.Must(err); return slices.Contains(list, name) }
	r.Same("the group in the list", listed(), true)
	if r.Part("delete groups", c.Has("delete groups")) {
		r.Must(c.DeleteGroup(name))
		r.Same("the group in the list after its deletion", listed(), false)
	}
	r.Must(c.DeleteTopic(topic))
	r.Until("the topic to be gone", 10*time.Second, func() bool { return !exists() })
}
