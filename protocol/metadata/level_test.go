package metadata

import "testing"

func TestLevels(t *testing.T) {
	if got := Level33IV3 + Level(len(levels)) - 1; got != NewestLevel {
		t.Errorf("the table ends at %d, NewestLevel is %d", got, NewestLevel)
	}
	for level, name := range map[Level]string{
		Level33IV3: "3.3-IV3", Level34IV0: "3.4-IV0", Level36IV0: "3.6-IV0", Level36IV1: "3.6-IV1",
		Level37IV0: "3.7-IV0", Level37IV2: "3.7-IV2", Level40IV1: "4.0-IV1", Level42IV1: "4.2-IV1",
		Level43IV0: "4.3-IV0", Level44IV2: "4.4-IV2",
	} {
		if level.String() != name {
			t.Errorf("level %d is called %s, want %s", level, level, name)
		}
		if got, ok := ParseLevel(name); !ok || got != level {
			t.Errorf("ParseLevel(%s) = %d, %v", name, got, ok)
		}
	}
	for s, want := range map[string]Level{"4.2": Level42IV1, "4.2.1": Level42IV1, "3.6": 14, "3.3": 7, "4.4": 33, "2.8": 0, "": 0} {
		if got, ok := ParseLevel(s); got != want || ok != (want != 0) {
			t.Errorf("ParseLevel(%q) = %d, %v, want %d", s, got, ok, want)
		}
	}
}

func TestChangedSince(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to Level
		want     bool
	}{
		"4.2-IV1 to 4.0-IV1 changes nothing": {Level42IV1, Level40IV1, false},
		"4.2-IV1 to 4.0-IV0 loses ELR":       {Level42IV1, Level40IV1 - 1, true},
		"to itself":                          {Level40IV1, Level40IV1, false},
		"4.3-IV0 to 4.2-IV1 loses cordons":   {Level43IV0, Level42IV1, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.from.ChangedSince(tc.to); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
