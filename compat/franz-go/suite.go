// Package suite keeps franz-go's own tests in go.mod; the script "run" runs them.
package suite

import _ "github.com/twmb/franz-go/pkg/kgo" // The suite.
