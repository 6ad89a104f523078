package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	streamsInput, streamsOutput = "lines", "counts"
	streamsPartitions           = 4
	streamsLines                = 3000 // In each of the three parts of the input.
	streamsWords                = 5    // Of each line.
	streamsVocabulary           = 200
)

// TestStreamsExactlyOnceAcrossKill: a word count with Kafka Streams and
// exactly_once_v2 runs while lines come in. In the middle of the second part the
// broker is killed, in the middle of the third the application. For each word the
// output's committed records then are 1, 2, 3 and so on up to how often it came in:
// nothing was counted twice, nothing is missing, and no count was told twice.
func TestStreamsExactlyOnceAcrossKill(t *testing.T) {
	requireJava(t)
	b := newBroker(t)
	b.Start(t)
	adm := admin(t, b.Addr())
	createTopic(t, adm, streamsInput, streamsPartitions)
	createTopic(t, adm, streamsOutput, streamsPartitions)
	state := filepath.Join(t.TempDir(), "state")
	run := func() *program {
		return startProgram(t, func(string) {}, "WordCount", b.Addr(), "word-count", streamsInput, streamsOutput, state)
	}
	var out valuesByPartition
	reader := startProgram(t, out.add, "Reader", b.Addr(), streamsOutput, "read_committed")
	app := run()

	rng := rand.New(rand.NewPCG(1, 2))
	want := map[string]int{}
	const wordsOfPart = streamsLines * streamsWords
	counted := func(words int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		if err := until(ctx, fmt.Sprint(words, " words to be counted"), func() bool { return out.len() >= words }); err != nil {
			t.Fatalf("%v; %d are\n%s", err, out.len(), app.stderr.String())
		}
	}
	produceLines(t, b.Addr(), rng, want)
	counted(wordsOfPart)

	produceLines(t, b.Addr(), rng, want)
	counted(wordsOfPart + wordsOfPart/10)
	b.Kill(t)
	b.Start(t)
	counted(2 * wordsOfPart)

	produceLines(t, b.Addr(), rng, want)
	counted(2*wordsOfPart + wordsOfPart/10)
	app.kill(t)
	if out.len() >= 3*wordsOfPart {
		t.Log("the application was done before it was killed")
	}
	app = run()
	counted(3 * wordsOfPart)
	app.end(t)
	reader.end(t) // Whatever comes besides, it sees.

	checkCounts(t, &out, want)
	b.Stop(t)
	dumpLog(t, b.Dir())
}

// produceLines produces a part of the input and adds its words to what is counted
// independently.
func produceLines(t *testing.T, addr string, rng *rand.Rand, count map[string]int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(streamsInput),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var rs []*kgo.Record
	for range streamsLines {
		words := make([]string, streamsWords)
		for i := range words {
			words[i] = "w" + strconv.Itoa(int(float64(streamsVocabulary)*rng.Float64()*rng.Float64())) // Some come often.
			count[words[i]]++
		}
		rs = append(rs, kgo.StringRecord(strings.Join(words, " ")))
	}
	if err := cl.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// checkCounts compares the output, word by word, with how often each word was
// produced.
func checkCounts(t *testing.T, out *valuesByPartition, want map[string]int) {
	t.Helper()
	got, bad := out.byKey()
	for _, line := range bad {
		t.Errorf("the reader told %q", line)
	}
	for word, n := range want {
		counts := make([]string, n)
		for i := range counts {
			counts[i] = strconv.Itoa(i + 1)
		}
		compareLists(t, "counts of "+word, got[word], counts)
	}
	for word := range got {
		if want[word] == 0 {
			t.Errorf("%s was counted and never produced", word)
		}
	}
}
