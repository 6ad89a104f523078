package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/protocol/config"
)

// Where the images look for a server.properties that the user mounts.
const (
	apacheFile  = "/mnt/shared/config/server.properties"
	bitnamiFile = "/bitnami/kafka/config/server.properties"
)

// volumes are the places where users of the images mount a volume for the data,
// and the data directory that each image then has. The last is the one of an image
// of ours, which declares it a volume.
var volumes = []struct{ mount, dir string }{
	{"/bitnami/kafka/data", "/bitnami/kafka/data"},
	{"/bitnami/kafka", "/bitnami/kafka/data"},
	{"/bitnami", "/bitnami/kafka/data"},
	{"/tmp/kraft-combined-logs", "/tmp/kraft-combined-logs"},
	{"/tmp/kafka-logs", "/tmp/kafka-logs"},
	{"/var/lib/kafka/data", "/var/lib/kafka/data"},
}

// dataDir is the data directory of a container that was told none: where the user
// mounted a volume for it.
func dataDir(mounts []string) string {
	for _, v := range volumes {
		if slices.Contains(mounts, v.mount) {
			return v.dir
		}
	}
	return volumes[len(volumes)-1].dir
}

// OfContainer gathers the Source of the container in which this process runs. If
// base is not empty, that file stands for the mounted one.
func OfContainer(base string) (Source, error) {
	src := Source{Environ: os.Environ()}
	// Without a list of mounts, as outside Linux, the image's own directory serves.
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		src.Mounts = mountPoints(string(text))
	}
	if base != "" {
		var err error
		src.File, err = ReadFile(base)
		return src, err
	}
	for _, path := range []string{bitnamiFile, apacheFile} {
		settings, err := ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		src.File, src.FileAlone = settings, path == bitnamiFile
		return src, err
	}
	return src, nil
}

// ReadFile reads the settings of a server.properties.
func ReadFile(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the settings file cannot be read: %w", err)
	}
	return config.ParseProperties(path, text)
}

// mountPoints reads the fifth field of each line of /proc/self/mountinfo, where
// white space is written in octal.
func mountPoints(text string) []string {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var out []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 4 {
			out = append(out, unescape.Replace(fields[4]))
		}
	}
	return out
}
