package group

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/moldau-broker/moldau/coordinator"
	"github.com/moldau-broker/moldau/coordinator/group/assign"
)

// again writes a record of a consumer group from what was read of it.
func (g *group) again(typ int16, about string) coordinator.Record {
	c := g.consumers
	switch typ {
	case keyEpoch:
		return epochRecord(g.id, c.epoch, c.hash)
	case keyMember:
		return memberRecord(g.id, c.members[about])
	case keyTargetEpoch:
		return targetEpochRecord(g.id, c.assignmentEpoch)
	case keyTarget:
		return targetRecord(g.id, about, c.target[about])
	case keyCurrent:
		return currentRecord(g.id, c.members[about])
	}
	return regexRecord(g.id, about, c.regexes[about])
}

// keyAbout is what a key names after the group.
func keyAbout(k []byte) string {
	key := reader{kbin.Reader{Src: k[2:]}}
	_ = key.String()
	if len(key.Src) == 0 {
		return ""
	}
	return key.String()
}

// TestKafkasConsumerRecords reads what Kafka wrote for three consumer groups: the
// same bytes are written for it again, and the invariants hold all the way.
func TestKafkasConsumerRecords(t *testing.T) {
	raw, err := os.ReadFile("testdata/kafka-4.2/consumer-groups.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := New(DefaultConfig())
	seen := make(map[int16]int)
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		offset, err := strconv.ParseInt(words[1], 10, 64)
		must(err)
		r := coordinator.Record{}
		r.Key, err = hex.DecodeString(words[2])
		must(err)
		if words[3] != "null" {
			r.Value, err = hex.DecodeString(words[3])
			must(err)
		}
		if err := s.Replay(coordinator.At{Offset: offset, ProducerID: -1}, r); err != nil {
			t.Fatal(err)
		}
		typ := int16(binary.BigEndian.Uint16(r.Key))
		if r.Value == nil {
			continue
		}
		seen[typ]++
		if got := s.groups[words[0]].again(typ, keyAbout(r.Key)); !bytes.Equal(got.Key, r.Key) || !bytes.Equal(got.Value, r.Value) {
			t.Errorf("offset %d: wrote\n%x %x\nKafka wrote\n%x %x", offset, got.Key, got.Value, r.Key, r.Value)
		}
	}
	for _, typ := range []int16{keyEpoch, keyMember, keyTargetEpoch, keyTarget, keyCurrent, keyRegex} {
		if seen[typ] == 0 {
			t.Errorf("no record of type %d was compared", typ)
		}
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
	for id, g := range s.groups {
		if g.consumers.state() != "Empty" || len(g.consumers.target)+len(g.consumers.regexes) > 0 {
			t.Errorf("all members left group %q, and it is %s", id, showConsumers(g))
		}
	}
}

// TestTopicsHash compares with what Kafka wrote for groups that read these topics.
func TestTopicsHash(t *testing.T) {
	im := image{topics: make(map[string]Topic)}
	for _, topic := range []struct {
		count int32
		id    string
	}{
		{1, "b2925ae03df249978192476a9ef4faae"},
		{30, "3d138dc797fb4fc0a5701dde53ad5912"},
		{60, "7f99d0b4218c43cd81992978245a4975"},
		{400, "36b0060ac2e34dee974cd908dd481ac8"},
	} {
		raw, err := hex.DecodeString(topic.id)
		must(err)
		name := fmt.Sprintf("k848h1796056949-%d", topic.count)
		im.topics[name] = Topic{ID: assign.TopicID(raw), Name: name, Partitions: topic.count}
	}
	for names, want := range map[string]string{
		"-1": "9f5a34439c665792", "-30": "3ec91649797970f3", "-60": "c1d78ee291afa8d5", "-400": "a9cff8e91e0f4726",
		"-1 -30 -400 -60": "c4fa1fce4272a8ce",
		"-30 nowhere":     "3ec91649797970f3",
		"nowhere":         "0000000000000000",
	} {
		var full []string
		for _, n := range strings.Fields(names) {
			full = append(full, "k848h1796056949"+n)
		}
		if got := fmt.Sprintf("%016x", uint64(topicsHash(full, im))); got != want {
			t.Errorf("hash of %s is %s, Kafka's %s", names, got, want)
		}
	}
}

// TestXXH3 compares with hash4j 0.22.0, the library of Kafka, at lengths on both
// sides of each limit.
func TestXXH3(t *testing.T) {
	b := make([]byte, 2100)
	for i := range b {
		b[i] = byte(i * 7)
	}
	for n, want := range xxh3Vectors {
		if got := xxh3(b[:n]); got != want {
			t.Errorf("hash of %d bytes is %016x, want %016x", n, got, want)
		}
	}
}

// xxh3Vectors holds hashes by length.
var xxh3Vectors = map[int]uint64{
	0:    0x2d06800538d394c2,
	1:    0xc44bdff4074eecdb,
	2:    0x9093381c8763d62e,
	3:    0xc3489259e968ad9e,
	4:    0xd3d60c1519014e89,
	7:    0x0ffc4827844c63a6,
	8:    0xb88dee77f6bf6980,
	9:    0x03688dcad730d826,
	15:   0x2e52bc81c6a30fa3,
	16:   0x9da23836adf2be1e,
	17:   0xf34c3c9cf5a112d1,
	32:   0x99cb9ad0f1a11fbe,
	33:   0xc077b45492d29cde,
	64:   0x6efb76ff16f37561,
	65:   0x2640848e9137156b,
	96:   0x764d2d5db92942df,
	97:   0x077acb7e5f4fd940,
	128:  0x65f3c2c00fa93185,
	129:  0x28065c6ec25f5b25,
	143:  0x2a0cabb0c54e9ca6,
	144:  0x600e8d345ff9620d,
	239:  0x6ce0b13191e635ea,
	240:  0x4917a75c0ef8eed7,
	241:  0x541b19226f0052e8,
	255:  0x99b37c2c806e33d3,
	256:  0xff5a1cefade75bb9,
	320:  0x35e81fc050847c13,
	321:  0x15e79d3ae256e4da,
	1024: 0xdc5acf0b043c445b,
	1025: 0xe1d9cd946277ae26,
	1087: 0x1f4c2c7a0a0b083c,
	1088: 0x4a9c221912b93194,
	1089: 0x0e6de48c4a6482d5,
	2048: 0x848d24cc268f7498,
	2049: 0xc757a52bb931999d,
	2100: 0xb21bfac9b2686b00,
}
