// Package suite keeps confluent-kafka-go's own tests in go.mod; the script "run" runs them.
package suite

import _ "github.com/confluentinc/confluent-kafka-go/v2/kafka" // The suite.
