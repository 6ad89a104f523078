package differential

// shrink leaves out steps, many at once and then fewer, as long as what is left
// still shows the difference. Still is asked at most budget times.
func shrink[S any](steps []S, budget int, still func([]S) bool) []S {
	for size := len(steps) / 2; size >= 1 && budget > 0; {
		left := false
		for at := 0; at+size <= len(steps) && budget > 0; {
			without := append(append([]S(nil), steps[:at]...), steps[at+size:]...)
			budget--
			if still(without) {
				steps, left = without, true
				continue
			}
			at += size
		}
		if !left || size > len(steps)/2 {
			size /= 2
		}
	}
	return steps
}
