package checkpoint

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"

	"github.com/moldau-broker/moldau/logstore/vfs"
)

// MetaProperties is the file that says whose data directory it is.
const MetaProperties = "meta.properties"

// metaVersion is the version of meta.properties that is written.
const metaVersion = 1

// Meta is the content of a meta.properties.
type Meta struct {
	// Version is 1, or 0 as ZooKeeper brokers wrote it. Only in version 0 may the
	// cluster and the node be missing; the node was called broker then.
	Version   int
	ClusterID string   // Empty if missing.
	NodeID    int32    // -1 if missing.
	Directory [16]byte // Zero if missing: written by Kafka before 3.7.
}

// Keys of meta.properties.
const (
	keyVersion   = "version"
	keyCluster   = "cluster.id"
	keyBroker    = "broker.id"
	keyNode      = "node.id"
	keyDirectory = "directory.id"
)

// EncodeMeta gives the content of a meta.properties of m's version, sorted by key.
func EncodeMeta(m Meta) []byte {
	if m.Version > 0 && (m.ClusterID == "" || m.NodeID < 0) {
		panic(fmt.Sprintf("BUG: meta.properties without cluster or node: %+v", m))
	}
	p := properties.NewProperties()
	p.DisableExpansion = true
	p.WriteSeparator = "="
	set := func(key, value string) {
		if _, _, err := p.Set(key, value); err != nil {
			panic(fmt.Sprintf("BUG: meta.properties, key %s: %v", key, err))
		}
	}
	node := keyNode
	if m.Version == 0 {
		node = keyBroker
	}
	if m.ClusterID != "" {
		set(keyCluster, m.ClusterID)
	}
	if m.NodeID >= 0 {
		set(node, strconv.Itoa(int(m.NodeID)))
	}
	if m.Directory != ([16]byte{}) {
		set(keyDirectory, FormatID(m.Directory))
	}
	set(keyVersion, strconv.Itoa(m.Version))
	p.Sort()
	var b bytes.Buffer
	if _, err := p.Write(&b, properties.ISO_8859_1); err != nil {
		panic(fmt.Sprintf("BUG: meta.properties: %v", err))
	}
	return escapeNonASCII(b.String())
}

// escapeNonASCII writes what is not ASCII as Java's escapes. The library leaves
// the upper half of ISO 8859-1 as UTF-8, which a reader takes for two characters.
func escapeNonASCII(text string) []byte {
	var b []byte
	for _, r := range text {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
		} else {
			b = fmt.Appendf(b, "\\u%04x", r)
		}
	}
	return b
}

// DecodeMeta reads the content of a meta.properties, version 0 or 1.
func DecodeMeta(data []byte) (Meta, error) {
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	p, err := loader.LoadBytes(data)
	if err != nil {
		return Meta{}, &Error{Reason: "not a properties file: " + err.Error()}
	}
	text, ok := p.Get(keyVersion)
	if !ok {
		text = "0"
	}
	version, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil || version < 0 {
		return Meta{}, badKey(data, keyVersion, text, "not a number from 0 on")
	}
	if version > metaVersion {
		return Meta{}, &VersionError{Version: int(version), Max: metaVersion}
	}
	m := Meta{Version: int(version), NodeID: -1}
	m.ClusterID, ok = p.Get(keyCluster)
	if (!ok || m.ClusterID == "") && version > 0 {
		return Meta{}, &Error{Reason: keyCluster + " is missing"}
	}
	node := keyNode
	if version == 0 {
		node = keyBroker
	}
	if text, ok := p.Get(node); ok {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil || id < 0 {
			return Meta{}, badKey(data, node, text, "not a number from 0 on")
		}
		m.NodeID = int32(id)
	} else if version > 0 {
		return Meta{}, &Error{Reason: node + " is missing"}
	}
	if text, ok := p.Get(keyDirectory); ok {
		if m.Directory, err = ParseID(text); err != nil {
			return Meta{}, badKey(data, keyDirectory, text, "not 22 characters of URL-safe base64")
		}
	}
	return m, nil
}

// badKey finds the line that set a key, for the error. Escapes and continued lines
// may hide it; then no line is named.
func badKey(data []byte, key, value, reason string) error {
	e := &Error{Reason: fmt.Sprintf("%s=%s is %s", key, shorten(value), reason)}
	for i, line := range splitLines(data) {
		if strings.HasPrefix(strings.TrimSpace(line), key) {
			e.Line, e.Text = i+1, line
		}
	}
	return e
}

// ReadMeta reads a meta.properties. A missing one is fs.ErrNotExist, wrapped: the
// directory is not formatted.
func ReadMeta(fsys vfs.FS, path string) (Meta, error) { return read(fsys, path, DecodeMeta) }

// WriteMeta replaces a meta.properties.
func WriteMeta(fsys vfs.FS, path string, m Meta) error {
	return vfs.WriteFileAtomic(fsys, path, EncodeMeta(m))
}
