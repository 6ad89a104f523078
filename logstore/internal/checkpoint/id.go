package checkpoint

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// FormatID writes an id as Kafka does: 22 characters of URL-safe base64.
func FormatID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseID reads an id. As in Kafka it may be padded.
func ParseID(text string) (id [16]byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(b) != len(id) || strings.ContainsAny(text, "\r\n") {
		return id, fmt.Errorf("%q is not an id: 22 characters of URL-safe base64", shorten(text))
	}
	return [16]byte(b), nil
}
