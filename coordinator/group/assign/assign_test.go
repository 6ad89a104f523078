package assign

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func topic(n byte) TopicID { return TopicID{n} }

// groupOf makes a group of lines "member[@instance] topics: partitions", where
// topics are digits and a partition is topic/number.
func groupOf(counts string, lines ...string) Group {
	g := Group{Counts: make(map[TopicID]int32)}
	for _, c := range strings.Fields(counts) {
		var t byte
		var n int32
		fmt.Sscanf(c, "%d=%d", &t, &n)
		g.Counts[topic(t)] = n
	}
	for _, line := range lines {
		head, had, _ := strings.Cut(line, ":")
		words := strings.Fields(head)
		m := Member{ID: words[0], Assigned: make(Partitions)}
		if id, instance, ok := strings.Cut(words[0], "@"); ok {
			m.ID, m.Instance = id, &instance
		}
		for _, w := range words[1:] {
			m.Topics = append(m.Topics, topic(w[0]-'0'))
		}
		for _, w := range strings.Fields(had) {
			var t byte
			var n int32
			fmt.Sscanf(w, "%d/%d", &t, &n)
			m.Assigned.Add(topic(t), n)
		}
		g.Members = append(g.Members, m)
	}
	return g
}

func show(out map[string]Partitions) string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(out)) {
		line := id + ":"
		for _, t := range out[id].Topics() {
			for _, n := range out[id][t] {
				line += fmt.Sprintf(" %d/%d", t[0], n)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestUniform(t *testing.T) {
	for name, tc := range map[string]struct {
		group Group
		want  string
	}{
		"nobody":                {groupOf("1=3"), ""},
		"no topics":             {groupOf("", "a", "b"), ""},
		"one takes all":         {groupOf("1=2 2=1", "a 1 2"), "a: 1/0 1/1 2/0"},
		"a second takes half":   {groupOf("1=4", "a 1: 1/0 1/1 1/2 1/3", "b 1"), "a: 1/0 1/1; b: 1/2 1/3"},
		"who is first has more": {groupOf("1=3", "a 1: 1/0 1/1 1/2", "b 1"), "a: 1/0 1/1; b: 1/2"},
		"one more moves nothing": {
			groupOf("1=3", "a 1: 1/0", "b 1: 1/1 1/2"), "a: 1/0; b: 1/1 1/2",
		},
		"more members than partitions": {groupOf("1=1", "a 1", "b 1: 1/0", "c 1"), "a:; b: 1/0; c:"},
		"the rest of one who left":     {groupOf("1=4", "b 1: 1/2 1/3"), "b: 1/0 1/1 1/2 1/3"},
		"a topic is gone":              {groupOf("1=2", "a 1: 1/0 2/0", "b 1: 2/1 1/1"), "a: 1/0; b: 1/1"},
		"partitions are added":         {groupOf("1=4", "a 1: 1/0", "b 1: 1/1"), "a: 1/0 1/2; b: 1/1 1/3"},
		"two had the same":             {groupOf("1=2", "a 1: 1/0", "b 1: 1/0"), "a: 1/0; b: 1/1"},
		"mixed: only one reads it":     {groupOf("1=2 2=2", "a 1", "b 1 2"), "a: 1/0 1/1; b: 2/0 2/1"},
		"mixed: balanced by moving": {
			groupOf("1=4 2=2", "a 1", "b 1 2: 1/0 1/1 1/2 1/3"), "a: 1/1 1/2 1/3; b: 1/0 2/0 2/1",
		},
		"mixed: unsubscribed goes": {groupOf("1=2 2=2", "a 1: 1/0 2/0", "b 1 2: 1/1 2/1"), "a: 1/0 1/1; b: 2/0 2/1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(Uniform(tc.group)); got != tc.want {
				t.Errorf("assigned %s\nwant     %s", got, tc.want)
			}
		})
	}
}

func TestRange(t *testing.T) {
	for name, tc := range map[string]struct {
		group Group
		want  string
	}{
		"nobody":                 {groupOf("1=3"), ""},
		"topics line up":         {groupOf("1=3 2=3", "b 1 2", "a 1 2"), "a: 1/0 1/1 2/0 2/1; b: 1/2 2/2"},
		"statics come first":     {groupOf("1=3", "a 1", "c@y 1", "b@z 1"), "a: 1/2; b: 1/1; c: 1/0"},
		"by instance, not by id": {groupOf("1=2", "a@z 1", "b@y 1"), "a: 1/1; b: 1/0"},
		"mixed":                  {groupOf("1=3 2=2", "a 1", "b 1 2", "c 2"), "a: 1/0 1/1; b: 1/2 2/0; c: 2/1"},
		"fewer than members":     {groupOf("1=1", "a 1", "b 1"), "a: 1/0; b:"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(Range(tc.group)); got != tc.want {
				t.Errorf("assigned %s\nwant     %s", got, tc.want)
			}
		})
	}
}

// drawGroup draws a group whose members may have anything from before.
func drawGroup(t *rapid.T) Group {
	g := Group{Counts: make(map[TopicID]int32)}
	topics := byte(rapid.IntRange(1, 4).Draw(t, "topics"))
	for n := range topics {
		g.Counts[topic(n)] = rapid.Int32Range(1, 9).Draw(t, "partitions")
	}
	same := rapid.Bool().Draw(t, "all alike")
	for i := range rapid.IntRange(0, 6).Draw(t, "members") {
		m := Member{ID: fmt.Sprintf("m%d", i), Assigned: make(Partitions)}
		for n := range topics {
			if same || rapid.Bool().Draw(t, "subscribes") {
				m.Topics = append(m.Topics, topic(n))
			}
		}
		for range rapid.IntRange(0, 9).Draw(t, "had") {
			m.Assigned.Add(topic(rapid.ByteRange(0, topics).Draw(t, "topic")), rapid.Int32Range(0, 11).Draw(t, "partition"))
		}
		g.Members = append(g.Members, m)
	}
	return g
}

// TestAssignors: every partition that somebody subscribes to is assigned once, to
// a subscriber; nothing else is assigned; the order of the members does not
// matter; and what is asked for again stays as it is.
func TestAssignors(t *testing.T) {
	for name, assignor := range map[string]Assignor{UniformName: Uniform, RangeName: Range} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			g := drawGroup(t)
			out := assignor(g)
			checkComplete(t, g, out)
			if name == UniformName {
				checkEven(t, g, out)
			}
			shuffled := Group{Members: slices.Clone(g.Members), Counts: g.Counts}
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			rng.Shuffle(len(g.Members), func(i, j int) {
				shuffled.Members[i], shuffled.Members[j] = shuffled.Members[j], shuffled.Members[i]
			})
			if again := assignor(shuffled); show(again) != show(out) {
				t.Fatalf("%s\nin another order\n%s", show(out), show(again))
			}
			for i := range g.Members {
				g.Members[i].Assigned = out[g.Members[i].ID]
			}
			if again := assignor(g); show(again) != show(out) && len(out) > 0 {
				t.Fatalf("%s\nbecame\n%s", show(out), show(again))
			}
		}))
	}
}

func checkComplete(t *rapid.T, g Group, out map[string]Partitions) {
	owners := make(Partitions)
	for _, m := range g.Members {
		for id, list := range out[m.ID] {
			if !slices.Contains(m.Topics, id) || !slices.IsSorted(list) || len(list) == 0 {
				t.Fatalf("%s has %v of topic %v and subscribes to %v", m.ID, list, id, m.Topics)
			}
			for _, n := range list {
				if owners.Has(id, n) || n >= g.Counts[id] {
					t.Fatalf("%v/%d is assigned twice or is not there: %s", id, n, show(out))
				}
				owners.Add(id, n)
			}
		}
	}
	for _, m := range g.Members {
		for _, id := range m.Topics {
			if len(owners[id]) != int(g.Counts[id]) {
				t.Fatalf("topic %v has %d partitions, assigned are %v", id, g.Counts[id], owners[id])
			}
		}
	}
}

// checkEven: no partition could move to a subscriber that has two fewer.
func checkEven(t *rapid.T, g Group, out map[string]Partitions) {
	for _, m := range g.Members {
		for id := range out[m.ID] {
			for _, other := range g.Members {
				if slices.Contains(other.Topics, id) && out[m.ID].Len() > out[other.ID].Len()+1 {
					t.Fatalf("%s has more than %s: %s", m.ID, other.ID, show(out))
				}
			}
		}
	}
}

// TestSticky: of the partitions that members had, as many stay as their shares
// allow.
func TestSticky(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Group{Counts: map[TopicID]int32{topic(0): rapid.Int32Range(1, 30).Draw(t, "partitions")}}
		for i := range rapid.IntRange(1, 6).Draw(t, "members") {
			g.Members = append(g.Members, Member{ID: fmt.Sprint(i), Topics: []TopicID{topic(0)}})
		}
		before := Uniform(g)
		for i := range g.Members {
			g.Members[i].Assigned = before[g.Members[i].ID]
		}
		g.Members = append(g.Members, Member{ID: "new", Topics: []TopicID{topic(0)}})
		moved := 0
		after := Uniform(g)
		for id, had := range before {
			moved += had.Len()
			for _, n := range had[topic(0)] {
				if after[id].Has(topic(0), n) {
					moved--
				}
			}
		}
		if got := after["new"].Len(); moved != got {
			t.Fatalf("%d partitions moved, the new member has %d: %s, then %s", moved, got, show(before), show(after))
		}
	})
}

func BenchmarkUniform(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		b.Run(fmt.Sprintf("mixed=%v", mixed), func(b *testing.B) {
			g := Group{Counts: make(map[TopicID]int32)}
			var topics []TopicID
			for n := range byte(100) {
				g.Counts[topic(n)] = 100
				topics = append(topics, topic(n))
			}
			for i := range 1000 {
				m := Member{ID: fmt.Sprintf("m%04d", i), Topics: topics}
				if mixed && i%2 == 0 {
					m.Topics = topics[:50]
				}
				g.Members = append(g.Members, m)
			}
			for b.Loop() {
				Uniform(g)
			}
		})
	}
}
