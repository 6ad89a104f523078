package hostile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Locate has to be right about every field of every version: what is written where
// it says must come out of the decoder, and nothing else may have changed.
func TestLocate(t *testing.T) {
	f := NewFiller(rand.New(rand.NewPCG(1, 2)), []string{"t"}, []string{"g"})
	found := map[Kind]int{}
	for key := range int16(kmsg.MaxKey + 1) {
		if kmsg.RequestForKey(key) == nil {
			continue
		}
		for version := range kmsg.RequestForKey(key).MaxVersion() + 1 {
			frame := Locate(f.Request(key, version))
			for _, at := range frame.Fields {
				found[at.Kind]++
				n := frame.Get(at)
				if body := frame.Set(at, n); at.Width <= 8 && !bytes.Equal(body, frame.Body) {
					t.Fatalf("%s version %d: %s is %d, and writing that changes\n%x to\n%x", kmsg.NameForKey(key), version, at.Path, n, frame.Body, body)
				}
				if at.Kind != Number && (n < -1 || n > int64(len(frame.Body))) {
					t.Errorf("%s version %d: the length of %s is %d in %x", kmsg.NameForKey(key), version, at.Path, n, frame.Body)
				}
			}
		}
	}
	for kind := Number; kind <= Array; kind++ {
		if found[kind] < 50 {
			t.Errorf("%d fields of kind %d were found", found[kind], kind)
		}
	}
}

func TestLocateKnowsPlaces(t *testing.T) {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.Generation, r.MemberID = 4, "group", 0x01020304, "me"
	frame := Locate(r)
	want := map[string]Field{
		"Heartbeat.Group":      {Kind: Text, Offset: 0, Width: 1, Compact: true},
		"Heartbeat.Generation": {Kind: Number, Offset: 6, Width: 4},
		"Heartbeat.MemberID":   {Kind: Text, Offset: 10, Width: 1, Compact: true},
		"Heartbeat.InstanceID": {Kind: Text, Offset: 13, Width: 1, Compact: true},
	}
	for _, at := range frame.Fields {
		w, ok := want[at.Path]
		w.Path = at.Path
		if !ok || at != w {
			t.Errorf("found %+v, want %+v", at, w)
		}
		delete(want, at.Path)
	}
	for path := range want {
		t.Errorf("%s was not found", path)
	}
}

// Every mutation has to change something, mostly, or the siege besieges nothing.
func TestMutate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	f := NewFiller(rng, []string{"t"}, []string{"g"})
	same := map[string]int{}
	for range 5_000 {
		a := Locate(f.Request(int16(kmsg.Produce), 9))
		body, how := Mutate(rng, a, Locate(f.Request(int16(kmsg.Metadata), 12)))
		if bytes.Equal(body, a.Body) {
			same[how]++
		}
	}
	for how, n := range same {
		if n > 200 {
			t.Errorf("%q changed nothing %d times", how, n)
		}
	}
}
