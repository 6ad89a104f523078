package scenario

import (
	"io"
	"slices"
	"testing"
)

// TestAnswersAreNoted: a version is sound until an answer of it is not.
func TestAnswersAreNoted(t *testing.T) {
	var a answered
	a.note(3, 1, nil)
	a.note(3, 2, nil)
	a.note(3, 2, io.ErrUnexpectedEOF)
	a.note(3, 2, nil)
	got := a.between(3, 0, 2)
	if want := []Version{{0, false, false}, {1, true, false}, {2, true, true}}; !slices.Equal(got, want) {
		t.Errorf("noted %+v", got)
	}
	if n := len(a.between(3, -32768, 32767)); n != mostVersions {
		t.Errorf("%d versions are told", n)
	}
}
