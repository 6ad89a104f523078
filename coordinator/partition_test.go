package coordinator

import "testing"

// TestPartition compares with values of Java's String.hashCode, worked by hand
// from its definition.
func TestPartition(t *testing.T) {
	for name, tc := range map[string]struct {
		key  string
		want int32
	}{
		"empty hashes to zero":               {"", 0},
		"one unit":                           {"a", 97 % 50},
		"two units":                          {"ab", (97*31 + 98) % 50},
		"least integer counts as zero":       {"polygenelubricants", 0},
		"negative hash is negated":           {"friendly-group", negated("friendly-group", 50)},
		"surrogate pair counts as two units": {"\U0001F600", (0xD83D*31 + 0xDE00) % 50},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Partition(tc.key, 50); got != tc.want {
				t.Errorf("Partition(%q, 50) = %d, want %d", tc.key, got, tc.want)
			}
		})
	}
}

// negated computes the wanted partition in 64 bits, for ASCII keys.
func negated(key string, n int64) int32 {
	var h int64
	for _, c := range []byte(key) {
		h = int64(int32(31*h + int64(c)))
	}
	return int32(max(h, -h) % n)
}
