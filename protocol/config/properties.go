package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/magiconair/properties"
)

// ParseProperties reads a Java properties file as java.util.Properties does: in
// ISO 8859-1 with \uXXXX, continued lines, and the last of equal keys winning.
// `${}` is not expanded. name is for the error.
func ParseProperties(name string, text []byte) (map[string]string, error) {
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a properties file: %w", name, err)
	}
	return p.Map(), nil
}

// FormatProperties writes settings as a Java properties file, sorted by name, so
// that ParseProperties reads the same. Like Java it writes what is not ASCII as
// \uXXXX.
func FormatProperties(settings map[string]string) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		escape(&b, name, " :=#!")
		b.WriteByte('=')
		value := settings[name]
		if strings.HasPrefix(value, " ") {
			b.WriteByte('\\') // Or it would belong to the separator.
		}
		escape(&b, value, "")
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// escape writes text with a backslash before what is special.
func escape(b *bytes.Buffer, text, special string) {
	short := map[uint16]string{'\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`}
	for _, unit := range utf16.Encode([]rune(text)) {
		switch s, ok := short[unit]; {
		case ok:
			b.WriteString(s)
		case unit < ' ' || unit > '~':
			fmt.Fprintf(b, `\u%04x`, unit)
		case strings.ContainsRune(special, rune(unit)):
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteByte(byte(unit))
		}
	}
}
