package scenario

import (
	"testing"
)

func TestReleases(t *testing.T) {
	for _, tc := range []struct {
		since, release string
		newer          bool
	}{{"", "2.1", false}, {"4.0", "", false}, {"4.0", "3.9", true}, {"3.10", "3.9", true}, {"4.0.1", "4.0", true}, {"4.0", "4.0.1", false}, {"4.0", "4.0", false}} {
		if got := (Scenario{Since: tc.since}).Newer(tc.release); got != tc.newer {
			t.Errorf("since %q is newer than %q: %v", tc.since, tc.release, got)
		}
	}
	for text, valid := range map[string]bool{"4.0": true, "3.10.1": true, "": false, "4": false, "v4.0": false, "4.x": false} {
		if ValidRelease(text) != valid {
			t.Errorf("%q is a release: %v", text, !valid)
		}
	}
}
