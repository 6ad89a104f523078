package config

import (
	"fmt"

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
