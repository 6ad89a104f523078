// Package checkpoint reads and writes the small files of a data directory: offset
// checkpoints, a partition's leader epochs, partition.metadata, meta.properties
// and the mark of a clean shutdown. All are Kafka's, byte for byte, where Kafka
// fixes the bytes.
//
// For each file there is a pure pair Encode and Decode, and a pair Read and Write
// that does the same with a file. A Write replaces the file as a whole and is
// durable when it returns. A Read that finds damage answers an *Error, and one that
// finds the file of a newer program a *VersionError; both name file and line.
// Begin with offsets.go. Epochs is also how a log keeps its epochs in memory.
//
// Not here: when the files are written and what damage leads to (logstore), and
// producer snapshots (logstore/producer).
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// Error says what is wrong with a file.
type Error struct {
	Path   string // Empty if it was not read from a file.
	Line   int    // From 1; 0 if no single line is to blame.
	Text   string // The line.
	Reason string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("damaged file")
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ", line %d %q", e.Line, shorten(e.Text))
	}
	b.WriteString(": " + e.Reason)
	return b.String()
}

// shorten keeps an error readable when a line is a megabyte of zeros.
func shorten(text string) string {
	const maxBytes = 80
	if len(text) <= maxBytes {
		return text
	}
	return text[:maxBytes] + "..."
}

// VersionError says that a file has a version this program does not know.
type VersionError struct {
	Path    string // Empty if it was not read from a file.
	Version int
	Max     int // The newest version that is known.
}

func (e *VersionError) Error() string {
	path := e.Path
	if path == "" {
		path = "file"
	}
	return fmt.Sprintf("%s has version %d, the newest known here is %d: it was written by a newer release, use that one", path, e.Version, e.Max)
}

// inFile adds the path to an error of a Decode.
func inFile(path string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Path = path
	}
	if e, ok := errors.AsType[*VersionError](err); ok {
		e.Path = path
	}
	return err
}

// read decodes a file. A missing one is fs.ErrNotExist, wrapped.
func read[T any](fsys vfs.FS, path string, decode func([]byte) (T, error)) (T, error) {
	data, err := vfs.ReadFile(fsys, path)
	if err != nil {
		var none T
		return none, err
	}
	v, err := decode(data)
	return v, inFile(path, err)
}

// readIfExists is read with the zero value for a file that is not there.
func readIfExists[T any](fsys vfs.FS, path string, decode func([]byte) (T, error)) (T, error) {
	v, err := read(fsys, path, decode)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	return v, err
}

// encodeList gives the text of a checkpoint file: version 0, how many entries, and
// one line for each.
func encodeList[T any](entries []T, line func([]byte, T) []byte) []byte {
	b := append([]byte("0\n"), strconv.Itoa(len(entries))...)
	b = append(b, '\n')
	for _, e := range entries {
		b = append(line(b, e), '\n')
	}
	return b
}

// decodeList reads what encodeList writes. As in Kafka an empty file, and one that
// ends behind the version, has no entries. The fields of each line go to parse,
// which answers the reason why they are wrong, or nothing.
func decodeList(data []byte, fields int, parse func([]string) (reason string)) error {
	const version = 0
	lines := splitLines(data)
	if len(lines) == 0 {
		return nil
	}
	v, err := strconv.ParseInt(lines[0], 10, 32)
	if err != nil || v < version {
		return &Error{Line: 1, Text: lines[0], Reason: "the version is not a number from 0 on"}
	}
	if v != version {
		return &VersionError{Version: int(v), Max: version}
	}
	if len(lines) == 1 {
		return nil
	}
	count, err := strconv.ParseInt(lines[1], 10, 32)
	if err != nil || count < 0 {
		return &Error{Line: 2, Text: lines[1], Reason: "the count of entries is not a number from 0 on"}
	}
	for i, line := range lines[2:] {
		f := strings.Fields(line)
		if len(f) != fields || strings.IndexAny(line, " \t") == 0 {
			return &Error{Line: i + 3, Text: line, Reason: fmt.Sprintf("%d fields, want %d", len(f), fields)}
		}
		if reason := parse(f); reason != "" {
			return &Error{Line: i + 3, Text: line, Reason: reason}
		}
	}
	if got := len(lines) - 2; int64(got) != count {
		return &Error{Reason: fmt.Sprintf("%d entries, the second line says %d", got, count)}
	}
	return nil
}

// splitLines splits as Java's BufferedReader does for the line ends that occur: LF, and
// CRLF from an editor on Windows. The last one may lack its end.
func splitLines(data []byte) []string {
	list := slices.Collect(strings.Lines(string(data)))
	for i, line := range list {
		list[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	}
	return list
}
