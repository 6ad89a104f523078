package logstore

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/moldau-broker/moldau/logstore/producer"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/batch"
)

func TestAppendReadReopen(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem()} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{SegmentBytes: 2000, IndexIntervalBytes: 100}
			s, l := openLog(t, fs, cfg)
			var want []byte
			for i := range 100 {
				b := records(1+i%5, t0.Add(time.Duration(i)*time.Second), "value")
				a := mustAppend(t, l, b)
				if a.Base != b.BaseOffset() || a.Last != b.LastOffset() || b.LeaderEpoch() != 1 {
					t.Fatalf("batch %d went to %+v", i, a)
				}
				want = append(want, b...)
			}
			if l.Segments() < 5 {
				t.Fatalf("%d segments", l.Segments())
			}
			for range 2 {
				for _, maxBytes := range []int{1, 500, 1 << 20} {
					if got := drain(t, l, 0, maxBytes); !bytes.Equal(got, want) {
						t.Fatalf("read %d bytes, want %d", len(got), len(want))
					}
				}
				end, epoch := l.End(), l.LastEpoch()
				closeStore(t, s)
				s, l = openLog(t, fs, cfg)
				if l.End() != end || l.LastEpoch() != epoch || l.TopicID() != testID {
					t.Fatalf("end %+v epoch %d id %v", l.End(), l.LastEpoch(), l.TopicID())
				}
				if n, clean := s.CleanShutdown(); n != 7 || !clean {
					t.Fatalf("clean shutdown %d %v", n, clean)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	_, l := openLog(t, vfs.NewMem(), Config{SegmentBytes: 1000})
	mustAppend(t, l, records(3, t0, "x"))
	var offset *OffsetError
	if _, err := l.Read(4, 1, l.End(), true); !errors.As(err, &offset) || *offset != (OffsetError{4, 0, 3}) {
		t.Errorf("read above the end: %v", err)
	}
	if span, err := l.Read(3, 1, l.End(), true); err != nil || span.Len() != 0 {
		t.Errorf("read at the end: %v, %d bytes", err, span.Len())
	}
	var large *BatchTooLargeError
	if _, err := l.Append(t0, records(1, t0, string(make([]byte, 2000))), 1, producer.Client); !errors.As(err, &large) {
		t.Errorf("large batch: %v", err)
	}
	var below *AppendOffsetError
	b := records(2, t0, "x")
	b.SetBaseOffset(1)
	if err := l.AppendReplica(t0, b); !errors.As(err, &below) {
		t.Errorf("replica append below the end: %v", err)
	}
	var corrupt *batch.CorruptError
	b = records(2, t0, "x")
	b.SetBaseOffset(3)
	b[len(b)-1]++
	if err := l.AppendReplica(t0, b); !errors.As(err, &corrupt) {
		t.Errorf("damaged replica append: %v", err)
	}
	if l.End().Offset != 3 {
		t.Errorf("end is %d", l.End().Offset)
	}
}
