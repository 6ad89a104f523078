package producer

import (
	"errors"
	"testing"
	"time"
)

func isA[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }

// begin asks for a guard for producer 9.
func begin(t *testing.T, s *State, epoch int16, seq int32) Guard {
	t.Helper()
	g, err := s.Verify(Verification{ProducerID: 9, Epoch: epoch, FirstSequence: seq}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// try checks a transactional batch, and applies it if it passes.
func try(s *State, at head, o Origin, g Guard) error {
	at.pid, at.txn = 9, true
	_, err := s.Check(at.batch(), o, g)
	if err == nil {
		s.Apply(at.batch(), nil)
	}
	return err
}

func end(s *State, offset int64, epoch int16) {
	s.Apply(head{offset: offset, pid: 9, epoch: epoch, control: true}.batch(), &Marker{Abort: true})
}

func TestGuardBeginsTransaction(t *testing.T) {
	for _, o := range []Origin{Client, Coordinator} {
		s := New(expiry)
		if err := try(s, head{}, o, NoGuard); !isA[*UnverifiedError](err) {
			t.Errorf("%v: without a guard: %v", o, err)
		}
		g := begin(t, s, 0, 0)
		if err := try(s, head{}, o, g+1); !isA[*UnverifiedError](err) {
			t.Errorf("%v: with another guard: %v", o, err)
		}
		if err := try(s, head{}, o, g); err != nil {
			t.Errorf("%v: with the guard: %v", o, err)
		}
		// It is open now: no more guard is needed, nor given.
		if g := begin(t, s, 0, 1); g != NoGuard {
			t.Errorf("%v: guard %d for an open transaction", o, g)
		}
		if err := try(s, head{offset: 1, seq: 1}, o, NoGuard); err != nil {
			t.Errorf("%v: next batch: %v", o, err)
		}
	}
}

// TestGuardEndsWithTransaction: the answer of a coordinator that is overtaken by the
// marker opens nothing, not even when the next transaction is being verified.
func TestGuardEndsWithTransaction(t *testing.T) {
	s := New(expiry)
	old := begin(t, s, 0, 0)
	end(s, 0, 0)
	if err := try(s, head{offset: 1}, Client, old); !isA[*UnverifiedError](err) {
		t.Errorf("after the marker: %v", err)
	}
	g := begin(t, s, 0, 0)
	if err := try(s, head{offset: 1}, Client, old); g == old || !isA[*UnverifiedError](err) {
		t.Errorf("guard %d after %d: %v", g, old, err)
	}
	if err := try(s, head{offset: 1}, Client, g); err != nil {
		t.Errorf("with the new one: %v", err)
	}
	// An epoch that is over is told as such, whatever the guard.
	end(s, 2, 1)
	if err := try(s, head{offset: 3}, Client, g); !isA[*EpochError](err) {
		t.Errorf("old epoch: %v", err)
	}
	if _, err := s.Verify(Verification{ProducerID: 9, Epoch: 0}, 0); !isA[*EpochError](err) {
		t.Errorf("verifying an old epoch: %v", err)
	}
}

// TestGuardKeepsOrder: a batch whose verification failed must not be overtaken by
// the one after it.
func TestGuardKeepsOrder(t *testing.T) {
	s := New(expiry)
	begin(t, s, 0, 3)
	g := begin(t, s, 0, 5)
	if err := try(s, head{seq: 5}, Client, g); !isA[*SequenceError](err) {
		t.Errorf("sequence 5 before 3: %v", err)
	}
	if err := try(s, head{seq: 3}, Client, g); err != nil {
		t.Errorf("sequence 3: %v", err)
	}
	// A new epoch counts anew.
	s = New(expiry)
	begin(t, s, 0, 0)
	g = begin(t, s, 1, 7)
	if err := try(s, head{epoch: 1, seq: 7}, Client, g); err != nil {
		t.Errorf("sequence 7 of the next epoch: %v", err)
	}
	// Who gets an epoch for each transaction begins at 0.
	s = New(expiry)
	g, err := s.Verify(Verification{ProducerID: 9, FirstSequence: 3, EpochBump: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := try(s, head{seq: 3}, Client, g); !isA[*SequenceError](err) {
		t.Errorf("first sequence 3: %v", err)
	}
}

// TestGuardOfTheNextTransaction: whoever gets an epoch for each transaction may ask
// for the next while the marker of the last is on its way.
func TestGuardOfTheNextTransaction(t *testing.T) {
	for _, bump := range []bool{true, false} {
		s := New(expiry)
		if err := try(s, head{epoch: 0}, Client, begin(t, s, 0, 0)); err != nil {
			t.Fatal(err)
		}
		g, err := s.Verify(Verification{ProducerID: 9, Epoch: 1, EpochBump: bump}, 0)
		if err != nil {
			t.Fatal(err)
		}
		end(s, 1, 1)
		if err := try(s, head{offset: 2, epoch: 1}, Client, g); (err == nil) != bump {
			t.Errorf("bump %v: %v", bump, err)
		}
		// The marker of the transaction that was asked for does count.
		g, err = s.Verify(Verification{ProducerID: 9, Epoch: 1, EpochBump: bump}, 0)
		if err != nil {
			t.Fatal(err)
		}
		end(s, 3, 2)
		if err := try(s, head{offset: 4, epoch: 1}, Client, g); !isA[*EpochError](err) {
			t.Errorf("bump %v: after its marker: %v", bump, err)
		}
	}
}

func TestGuardExpires(t *testing.T) {
	s := New(time.Hour)
	g := begin(t, s, 0, 0)
	s.Expire(time.Hour.Milliseconds() - 1)
	if again := begin(t, s, 0, 0); again != g {
		t.Errorf("guard %d, had %d", again, g)
	}
	s.Expire(time.Hour.Milliseconds())
	if again := begin(t, s, 0, 0); again == g {
		t.Error("a guard was kept for an hour")
	}
}

// TestGuardOfReplacedState holds a state that replaces another, as after a
// truncation, to making no guard that the other has made: an answer that was asked
// for under the old one must not open a transaction under the new.
func TestGuardOfReplacedState(t *testing.T) {
	v := Verification{ProducerID: 7, FirstSequence: 0}
	old, replaced := New(time.Hour), New(time.Hour)
	before, err := old.Verify(v, 0)
	if err != nil {
		t.Fatal(err)
	}
	replaced.Replaces(old)
	after, err := replaced.Verify(v, 0)
	if err != nil {
		t.Fatal(err)
	}
	if after == before || after == NoGuard {
		t.Errorf("guard %d, and before the state was replaced %d", after, before)
	}
}

// TestGuardsGoOnAfterReset: a log that was emptied while a coordinator was being asked
// must not give the same guard again: the old answer would open a transaction.
func TestGuardsGoOnAfterReset(t *testing.T) {
	s := New(expiry)
	old := begin(t, s, 0, 0)
	s.Reset(0)
	if g := begin(t, s, 0, 0); g == old {
		t.Errorf("guard %d is given twice", g)
	}
	if err := try(s, head{}, Client, old); !isA[*UnverifiedError](err) {
		t.Errorf("with the guard from before: %v", err)
	}
}
