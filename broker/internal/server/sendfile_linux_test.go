package server

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// TestFewCallsBeforeAFile: what stands before the bytes of a file takes two system
// calls, and only the last of it says that more follows. A call that takes some of the
// bytes only is made again for the rest.
func TestFewCallsBeforeAFile(t *testing.T) {
	for name, tc := range map[string]struct {
		iov  []string
		want []string
	}{
		"nothing":          {nil, nil},
		"one buffer":       {[]string{"head"}, []string{"sendmsg head 0x8000"}},
		"many buffers":     {[]string{"a", "b", "c", "head"}, []string{"writev a b c", "sendmsg head 0x8000"}},
		"a full socket":    {[]string{"a", "header"}, []string{"writev a", "sendmsg header 0x8000", "sendmsg er 0x8000"}},
		"nothing but ends": {[]string{"a", ""}, []string{"writev a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var iov net.Buffers
			for _, s := range tc.iov {
				iov = append(iov, []byte(s))
			}
			var calls []string
			err := writeBefore(iov, func(iov net.Buffers) error {
				var all []string
				for _, b := range iov {
					all = append(all, string(b))
				}
				calls = append(calls, "writev "+strings.Join(all, " "))
				return nil
			}, func(p []byte, flags int) (int, error) {
				calls = append(calls, fmt.Sprintf("sendmsg %s %#x", p, flags))
				return min(len(p), 4), nil
			})
			if err != nil || !slices.Equal(calls, tc.want) {
				t.Errorf("%v: %q, want %q", err, calls, tc.want)
			}
		})
	}
}
