package kafkatools

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lineReader makes records of lines, as Kafka's LineMessageReader does.
type lineReader struct {
	parseKey, parseHeaders, ignoreError bool

	keySeparator, headersDelimiter, headersKeySeparator string
	headersSeparator                                    *regexp.Regexp

	nullMarker    string
	hasNullMarker bool
}

func kafkaException(format string, args ...any) error {
	return &failure{"org.apache.kafka.common.KafkaException", fmt.Sprintf(format, args...)}
}

// newLineReader reads the reader's properties.
func newLineReader(p properties) (*lineReader, error) {
	text := func(name, without string) string {
		if v, ok := p[name]; ok {
			return v
		}
		return without
	}
	yes := func(name string) bool { return strings.EqualFold(strings.TrimSpace(p[name]), "true") }
	r := &lineReader{
		parseKey: yes("parse.key"), parseHeaders: yes("parse.headers"), ignoreError: yes("ignore.error"),
		keySeparator: text("key.separator", "\t"), headersDelimiter: text("headers.delimiter", "\t"),
		headersKeySeparator: text("headers.key.separator", ":"),
	}
	separator := text("headers.separator", ",")
	r.nullMarker, r.hasNullMarker = p["null.marker"]
	pairs := [][2][2]string{
		{{"headers.delimiter", r.headersDelimiter}, {"headers.separator", separator}},
		{{"headers.delimiter", r.headersDelimiter}, {"headers.key.separator", r.headersKeySeparator}},
		{{"headers.separator", separator}, {"headers.key.separator", r.headersKeySeparator}},
	}
	if r.hasNullMarker {
		for _, other := range [][2]string{
			{"key.separator", r.keySeparator},
			{"headers.separator", separator},
			{"headers.delimiter", r.headersDelimiter},
			{"headers.key.separator", r.headersKeySeparator},
		} {
			pairs = append(pairs, [2][2]string{{"null.marker", r.nullMarker}, other})
		}
	}
	for _, pair := range pairs {
		if pair[0][1] == pair[1][1] {
			return nil, kafkaException("%s and %s may not be equal", pair[0][0], pair[1][0])
		}
	}
	var err error
	if r.headersSeparator, err = regexp.Compile(separator); err != nil {
		return nil, &failure{"java.util.regex.PatternSyntaxException", err.Error()}
	}
	return r, nil
}

// record makes a record of a line: headers, key and value, of which only the value
// must be there.
func (r *lineReader) record(line string, number int) (*kgo.Record, error) {
	rest := line
	cut := func(enabled bool, at, name string) (string, bool, error) {
		if !enabled {
			return "", false, nil
		}
		before, after, ok := strings.Cut(rest, at)
		if !ok {
			if r.ignoreError {
				return "", false, nil
			}
			return "", false, kafkaException("No %s found on line number %d: '%s'", name, number, line)
		}
		rest = after
		return before, true, nil
	}
	headers, hasHeaders, err := cut(r.parseHeaders, r.headersDelimiter, "headers delimiter")
	if err != nil {
		return nil, err
	}
	key, hasKey, err := cut(r.parseKey, r.keySeparator, "key separator")
	if err != nil {
		return nil, err
	}
	rec := &kgo.Record{Value: r.bytes(rest)}
	if hasKey {
		rec.Key = r.bytes(key)
	}
	if hasHeaders && !(r.hasNullMarker && headers == r.nullMarker) {
		rec.Headers, err = r.headers(headers, number)
	}
	return rec, err
}

// bytes is a field, or nil if it is the marker of nothing.
func (r *lineReader) bytes(field string) []byte {
	if r.hasNullMarker && field == r.nullMarker {
		return nil
	}
	return []byte(field)
}

func (r *lineReader) headers(text string, number int) ([]kgo.RecordHeader, error) {
	var out []kgo.RecordHeader
	pairs := r.headersSeparator.Split(text, -1)
	for len(pairs) > 1 && pairs[len(pairs)-1] == "" {
		pairs = pairs[:len(pairs)-1] // As Java splits.
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, r.headersKeySeparator)
		switch {
		case !ok && r.ignoreError:
			out = append(out, kgo.RecordHeader{Key: pair})
		case !ok:
			return nil, kafkaException("No header key separator found in pair '%s' on line number %d", pair, number)
		case r.hasNullMarker && key == r.nullMarker:
			return nil, kafkaException("Header keys should not be equal to the null marker '%s' as they can't be null", r.nullMarker)
		default:
			out = append(out, kgo.RecordHeader{Key: key, Value: r.bytes(value)})
		}
	}
	return out, nil
}
