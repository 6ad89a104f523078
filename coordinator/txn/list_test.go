package txn

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestNewFilter(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern string
		states  []string
		unknown []string
		code    int16
	}{
		"nothing":            {},
		"states":             {states: []string{"Ongoing", "Dead", "PrepareEpochFence"}},
		"a state in capital": {states: []string{"ONGOING", "Empty", "x"}, unknown: []string{"ONGOING", "x"}},
		"a pattern":          {pattern: "a|b"},
		"no pattern":         {pattern: "[", code: kerr.InvalidRegularExpression.Code},
		"one that escapes":   {pattern: "a)(?:b", code: kerr.InvalidRegularExpression.Code},
	} {
		t.Run(name, func(t *testing.T) {
			req := kmsg.NewPtrListTransactionsRequest()
			req.Version, req.StateFilters, req.TransactionalIDPattern = 2, tc.states, &tc.pattern
			if _, unknown, code := NewFilter(req); code != tc.code || !slices.Equal(unknown, tc.unknown) {
				t.Errorf("code %d, unknown %q", code, unknown)
			}
		})
	}
}
