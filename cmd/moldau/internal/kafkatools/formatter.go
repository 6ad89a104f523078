package kafkatools

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// formatter prints records in one of Kafka's ways.
type formatter interface {
	write(w io.Writer, r *kgo.Record) error
}

// formattersPackage holds Kafka's formatters.
const formattersPackage = "org.apache.kafka.tools.consumer."

// newFormatter reads which formatter there shall be, and its properties.
func newFormatter(e *Env, o *options) (formatter, error) {
	class := o.str("formatter")
	if class == "" {
		class = formattersPackage + "DefaultMessageFormatter"
	}
	short, ours := strings.CutPrefix(class, formattersPackage)
	switch short {
	case "DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter":
	case "OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter", "ShareGroupMessageFormatter":
		return nil, terse(e, "--formatter %s is not supported by moldau's tools; moldau dump-log reads these records on disk", class)
	default:
		ours = false
	}
	if !ours {
		return nil, e.usage(consumerOptions, "%s", class) // The text of Java's ClassNotFoundException.
	}
	if o.has("property") && o.has("formatter-property") {
		return nil, e.usage(consumerOptions, "Options --property and --formatter-property cannot be specified together.")
	}
	o.rename(e, renamed{
		"property", "formatter-property",
		"Option --property is deprecated and will be removed in a future version. Use --formatter-property instead.",
	})
	file, err := loadProperties(o.str("formatter-config"))
	if err != nil {
		return nil, e.usage(consumerOptions, "%s", thrown(err).message)
	}
	for option, name := range map[string]string{"key-deserializer": "key.deserializer", "value-deserializer": "value.deserializer"} {
		if v := o.str(option); v != "" {
			file[name] = v
		}
	}
	switch short {
	case "NoOpMessageFormatter":
		return noFormatter{}, nil
	case "LoggingMessageFormatter":
		return logFormatter{e, newDefaultFormatter(e, file.with(o.all("formatter-property")))}, nil
	}
	return newDefaultFormatter(e, file.with(o.all("formatter-property"))), nil
}

// noFormatter prints nothing.
type noFormatter struct{}

func (noFormatter) write(io.Writer, *kgo.Record) error { return nil }

// logFormatter prints the record, and logs it.
type logFormatter struct {
	e    *Env
	then formatter
}

func (f logFormatter) write(w io.Writer, r *kgo.Record) error {
	// Kafka logs it at a level that its tools do not show.
	return f.then.write(w, r)
}

// defaultFormatter prints the parts of a record that were asked for.
type defaultFormatter struct {
	shown map[string]bool // By what follows print.

	keySeparator, lineSeparator, headersSeparator, nullLiteral []byte

	key, value, header deserializer
}

// columns are the parts of a record in the order in which they are printed.
var columns = []string{"timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value"}

func newDefaultFormatter(e *Env, p properties) *defaultFormatter {
	f := &defaultFormatter{shown: map[string]bool{"value": true}}
	for _, c := range columns {
		if v, ok := p["print."+c]; ok {
			f.shown[c] = strings.EqualFold(strings.TrimSpace(v), "true")
		}
	}
	text := func(name, without string) []byte {
		if v, ok := p[name]; ok {
			return []byte(v)
		}
		return []byte(without)
	}
	f.keySeparator, f.lineSeparator = text("key.separator", "\t"), text("line.separator", "\n")
	f.headersSeparator, f.nullLiteral = text("headers.separator", ","), text("null.literal", "null")
	for name, to := range map[string]*deserializer{"key.deserializer": &f.key, "value.deserializer": &f.value, "headers.deserializer": &f.header} {
		*to = asText
		class, ok := p[name]
		if !ok {
			continue
		}
		if d, ok := deserializers[strings.TrimPrefix(class, "org.apache.kafka.common.serialization.")]; ok {
			*to = d
		} else {
			e.log("ERROR", formattersPackage+"DefaultMessageFormatter", "Unable to instantiate a deserializer from "+class)
			fmt.Fprintln(e.Err, "java.lang.ClassNotFoundException: "+class)
		}
	}
	return f
}

func (f *defaultFormatter) write(w io.Writer, r *kgo.Record) error {
	var shown []string
	for _, c := range columns {
		if f.shown[c] {
			shown = append(shown, c)
		}
	}
	var line []byte
	for i, c := range shown {
		var err error
		if line, err = f.column(line, c, r); err != nil {
			return err
		}
		if i < len(shown)-1 {
			line = append(line, f.keySeparator...)
		} else {
			line = append(line, f.lineSeparator...)
		}
	}
	// An error of the writer comes out when it is flushed.
	_, _ = w.Write(line)
	return nil
}

// column appends one part of a record.
func (f *defaultFormatter) column(line []byte, name string, r *kgo.Record) ([]byte, error) {
	switch name {
	case "timestamp":
		kind := map[int8]string{0: "CreateTime:", 1: "LogAppendTime:"}[r.Attrs.TimestampType()]
		if kind == "" {
			return append(line, "NO_TIMESTAMP"...), nil
		}
		return strconv.AppendInt(append(line, kind...), r.Timestamp.UnixMilli(), 10), nil
	case "partition":
		return fmt.Appendf(line, "Partition:%d", r.Partition), nil
	case "offset":
		return fmt.Appendf(line, "Offset:%d", r.Offset), nil
	case "delivery":
		return append(line, "Delivery:NOT_PRESENT"...), nil
	case "epoch":
		return append(line, "Epoch:NOT_PRESENT"...), nil // Kafka's tool drops it on the way.
	case "headers":
		return f.headers(line, r.Headers)
	case "key":
		return f.field(line, f.key, r.Key)
	}
	return f.field(line, f.value, r.Value)
}

func (f *defaultFormatter) headers(line []byte, headers []kgo.RecordHeader) ([]byte, error) {
	if len(headers) == 0 {
		return append(line, "NO_HEADERS"...), nil
	}
	for i, h := range headers {
		if i > 0 {
			line = append(line, f.headersSeparator...)
		}
		var err error
		if line, err = f.field(append(append(line, h.Key...), ':'), f.header, h.Value); err != nil {
			return nil, err
		}
	}
	return line, nil
}

func (f *defaultFormatter) field(line []byte, d deserializer, b []byte) ([]byte, error) {
	if b == nil {
		b = f.nullLiteral
	}
	return d(line, b)
}

// deserializer appends what bytes mean.
type deserializer func(to, b []byte) ([]byte, error)

func asText(to, b []byte) ([]byte, error) { return append(to, b...), nil }

// sized is a deserializer of values of one size.
func sized(name string, size int, text func(b []byte) string) deserializer {
	return func(to, b []byte) ([]byte, error) {
		if len(b) != size {
			return nil, &failure{errorsPackage + "SerializationException", fmt.Sprintf("Size of data received by %s is not %d", name, size)}
		}
		return append(to, text(b)...), nil
	}
}

// deserializers are those of Kafka's that have a text.
var deserializers = map[string]deserializer{
	"StringDeserializer":  asText,
	"ShortDeserializer":   sized("ShortDeserializer", 2, func(b []byte) string { return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b)))) }),
	"IntegerDeserializer": sized("IntegerDeserializer", 4, func(b []byte) string { return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b)))) }),
	"LongDeserializer":    sized("LongDeserializer", 8, func(b []byte) string { return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10) }),
	"FloatDeserializer": sized("FloatDeserializer", 4, func(b []byte) string {
		return javaFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 32)
	}),
	"DoubleDeserializer": sized("DoubleDeserializer", 8, func(b []byte) string {
		return javaFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 64)
	}),
	"BooleanDeserializer": sized("BooleanDeserializer", 1, func(b []byte) string { return strconv.FormatBool(b[0] == 1) }),
	"BytesDeserializer": func(to, b []byte) ([]byte, error) {
		for _, c := range b {
			if c >= ' ' && c <= '~' && c != '\\' {
				to = append(to, c)
			} else {
				to = append(to, `\x`+strings.ToUpper(hex.EncodeToString([]byte{c}))...)
			}
		}
		return to, nil
	},
}

// javaFloat is a number as Java prints it: with a point, and from ten million on or
// below a thousandth with an exponent.
func javaFloat(v float64, bits int) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, bits), "+") + "inity"
	case a != 0 && (a < 1e-3 || a >= 1e7):
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, bits), "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
