package bench

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/broker/brokertest"
)

// TestRestarts gives a broker what the rows give it, restarts it and has it found
// again; and has what is missing noticed.
func TestRestarts(t *testing.T) {
	for name, r := range map[string]restart{
		"groups": manyGroups(25), "partitions": manyPartitions(25), "compaction": compaction(2000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mb := brokertest.Start(t, brokertest.Dir(dir))
			p := &peer{addr: mb.Addr(), data: dir}
			given, err := r.fill(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			mb.Stop()
			mb.Restart()
			if err := given.await(t.Context(), p); err != nil {
				t.Error(err)
			}
			if given.check != nil {
				if err := given.check(t.Context(), p); err != nil {
					t.Error(err)
				}
			}
			given.remove(t.Context())
		})
	}
}

func TestGroupsThatAreNotTheirs(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", partitionsOfGroup))
	p := &peer{addr: mb.Addr()}
	g := committed{topic: "orders", groups: []string{"a", "b"}}
	if err := g.commit(t.Context(), p.target()); err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]committed{
		"a group without offsets": {"orders", []string{"a", "b", "c"}},
		"the offsets of another":  {"orders", []string{"b", "a"}},
	} {
		if _, wrong := errors.AsType[*wrongError](g.await(t.Context(), p)); !wrong {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func TestPartitionsThatAreNotAsTheyWere(t *testing.T) {
	mb := brokertest.Start(t, brokertest.Topic("orders", 2))
	p := &peer{addr: mb.Addr()}
	c := crowd{topics: []string{"orders"}, sizes: []int{2}}
	if _, wrong := errors.AsType[*wrongError](c.await(t.Context(), p)); !wrong {
		t.Error("empty partitions are taken for those with a record")
	}
	if err := c.produce(t.Context(), p.target()); err != nil {
		t.Fatal(err)
	}
	if err := c.await(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// TestKeysThatAreNotCompacted: the check finds each key twice.
func TestKeysThatAreNotCompacted(t *testing.T) {
	dir := t.TempDir()
	mb := brokertest.Start(t, brokertest.Dir(dir), brokertest.Config("log.cleaner.enable=false"))
	p := &peer{addr: mb.Addr(), data: dir}
	given, err := compaction(500).fill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := given.check(t.Context(), p); err == nil || !strings.Contains(err.Error(), "after compaction") {
		t.Errorf("check says %v", err)
	}
}

func TestShuffled(t *testing.T) {
	for _, n := range []int64{1, 2, 100, 2000} {
		var all []int64
		for i := range n {
			all = append(all, shuffled(i, n))
		}
		if n == 2000 && slices.IsSorted(all) {
			t.Error("keys come in order")
		}
		slices.Sort(all)
		if int64(len(slices.Compact(all))) != n || all[n-1] != n-1 {
			t.Errorf("the numbers below %d are not all there", n)
		}
	}
	for _, i := range []int64{0, 9_999_999} {
		if got := len(keyOf(i)); got != keyBytes {
			t.Errorf("a key of %d bytes", got)
		}
	}
}

func TestRestartVerdicts(t *testing.T) {
	r := restart{name: "many", done: "all of it", want: restartTarget{
		first: time.Second, done: 5 * time.Second, anonBytes: 100 << 20, residentBytes: 200 << 20,
	}}
	good := revival{first: time.Second - 1, done: 5*time.Second - 1, usage: Usage{AnonPeakBytes: 100<<20 - 1, FilePeakBytes: 100 << 20}}
	failed := good
	failed.err = errors.New("no")
	for name, tc := range map[string]struct {
		found map[string]revival
		met   []bool
	}{
		"all met":        {map[string]revival{nameOurs: good}, []bool{true, true, true, true}},
		"at each limit":  {map[string]revival{nameOurs: {first: time.Second, done: 5 * time.Second, usage: Usage{AnonPeakBytes: 100 << 20, FilePeakBytes: 100 << 20}}}, []bool{false, false, false, false}},
		"failed":         {map[string]revival{nameOurs: failed}, []bool{false, false, false, false}},
		"only of others": {map[string]revival{nameApache: good}, []bool{false, false, false, false}},
	} {
		var met []bool
		for _, v := range (restartRow{r, tc.found}).verdicts() {
			met = append(met, v.ok)
		}
		if !slices.Equal(met, tc.met) {
			t.Errorf("%s: %v, want %v", name, met, tc.met)
		}
	}
}

// TestCompactionSaysHowMuch: its name is true at every scale.
func TestCompactionSaysHowMuch(t *testing.T) {
	for s, want := range map[float64]string{1: "compaction of 10 M keys", 0.25: "compaction of 2.5 M keys", 0.001: "compaction of 10000 keys"} {
		if got := (comparison{scale: s}).restarts()[0].name; got != want {
			t.Errorf("at scale %g: %q", s, got)
		}
	}
}

func TestCleanedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cleaner-offset-checkpoint")
	if _, err := cleanedTo(path, "a"); err == nil {
		t.Error("a checkpoint that is not there is read")
	}
	if err := os.WriteFile(path, []byte("0\n2\nab 0 7\na 1 8\na 0 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]int64{"a": 9, "ab": 7, "b": 0} {
		if got, err := cleanedTo(path, topic); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", topic, got, err, want)
		}
	}
}
