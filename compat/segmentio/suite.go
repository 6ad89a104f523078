// Package suite keeps kafka-go's own tests in go.mod; the script "run" runs them.
package suite

import _ "github.com/segmentio/kafka-go" // The suite.
