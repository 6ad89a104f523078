package script

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// TestInbox polls what was put, commits the offsets after it once, and keeps a failure.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, never := NewInbox(), make(chan struct{})
		go func() {
			in.Put(never, "a", Record{Partition: 1, Offset: 4})
			in.Put(never, "a", Record{Partition: 1, Offset: 5})
			in.Put(never, "b", Record{Offset: 7})
		}()
		got, err := in.Poll(time.Second)
		if err != nil || len(got) != 3 || got[1].Offset != 5 {
			t.Fatalf("polled %v, %v", got, err)
		}
		refused := errors.New("refused")
		if err := in.CommitPolled(func(map[string]map[int]int64) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("a refused commit: %v", err)
		}
		for _, want := range []map[string]map[int]int64{{"a": {1: 6}, "b": {0: 8}}, {}} {
			err := in.CommitPolled(func(offsets map[string]map[int]int64) error {
				if !reflect.DeepEqual(offsets, want) {
					t.Errorf("committed %v, want %v", offsets, want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}

		first := errors.New("first")
		in.Fail(first)
		in.Fail(errors.New("second"))
		for range 2 {
			if _, err := in.Poll(time.Second); !errors.Is(err, first) {
				t.Errorf("after a failure: %v", err)
			}
		}
		done := make(chan struct{})
		close(done)
		in.Put(done, "a", Record{}) // Returns, though nobody polls.
	})
}
