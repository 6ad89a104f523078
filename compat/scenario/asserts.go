package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Code fails unless an error code is the wanted one; nil wants none.
func (t *T) Code(what string, got int16, want *kerr.Error) {
	var code int16
	if want != nil {
		code = want.Code
	}
	if got != code {
		t.Fatalf("%s: got error %s, want %s", what, CodeName(got), CodeName(code))
	}
}

// OK fails unless an error code is none.
func (t *T) OK(what string, got int16) { t.Code(what, got, nil) }

// Equal fails unless a value is the wanted one.
func Equal[V comparable](t *T, what string, got, want V) {
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, Plain(got), Plain(want))
	}
}

// EqualLists fails unless two lists are the same.
func EqualLists[V comparable](t *T, what string, got, want []V) {
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %v, want %v", what, Plain(got), Plain(want))
	}
}

// Contains fails unless a message has a piece.
func (t *T) Contains(what string, got *string, want string) {
	switch {
	case got == nil:
		t.Fatalf("%s: got null, want a text with %q", what, want)
	case !strings.Contains(*got, want):
		t.Fatalf("%s: got %q, want a text with %q", what, *got, want)
	}
}

// Text fails unless a nullable string has this value.
func (t *T) Text(what string, got *string, want string) {
	switch {
	case got == nil:
		t.Fatalf("%s: got null, want %q", what, want)
	case *got != want:
		t.Fatalf("%s: got %q, want %q", what, *got, want)
	}
}

// One fails unless a list has exactly one element, which it returns.
func One[V any](t *T, what string, list []V) V {
	if len(list) != 1 {
		t.Fatalf("%s: got %d elements, want 1: %v", what, len(list), Plain(list))
	}
	return list[0]
}

// Closes fails unless the broker closes the connection.
func (t *T) Closes(c *Conn) {
	if err := c.Closed(); err != nil {
		t.Fatalf("%v", err)
	}
}

// CodeName is an error code as a person reads it: its name and the number.
func CodeName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if e := new(kerr.Error); errors.As(kerr.ErrorForCode(code), &e) {
		return fmt.Sprintf("%s (%d)", e.Message, code)
	}
	return fmt.Sprintf("(%d)", code)
}

// Recent fails unless a time, in ms, is one of this hour.
func (t *T) Recent(what string, ms int64) {
	if age := time.Since(time.UnixMilli(ms)); age.Abs() > time.Hour {
		t.Fatalf("%s: %v is %v ago", what, time.UnixMilli(ms), age)
	}
}
