package kafkatools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moldau-broker/moldau/broker"
	"github.com/moldau-broker/moldau/protocol/config"
)

// releaseVersion is the metadata.version that directories are formatted with.
const releaseVersion = "4.2-IV1"

const oneNode = "a directory becomes that of a cluster of one node, which needs no such thing"

var storageCommand = &command{prog: "kafka-storage", help: "Looks at the data directory of a broker, and prepares it.", subs: []*command{
	{
		prog: "kafka-storage info", help: "Show the data directory of this node.",
		params: []param{{long: "--config", short: "-c", required: true, help: "the server.properties"}},
	},
	{
		prog: "kafka-storage format", help: "Make the data directory that of a new cluster.", params: []param{
			{long: "--config", short: "-c", required: true, help: "the server.properties"},
			{long: "--cluster-id", short: "-t", required: true, help: "the id that the cluster shall have"},
			{long: "--add-scram", short: "-S", refused: "this release has no SASL"},
			{long: "--ignore-formatted", short: "-g", flag: true, help: "do nothing if it is formatted already"},
			{long: "--release-version", short: "-r", help: "only " + releaseVersion + ", the default"},
			{long: "--feature", short: "-f", refused: "this release formats with the features that it serves"},
			{long: "--standalone", short: "-s", flag: true, help: "taken for granted"},
			{long: "--no-initial-controllers", short: "-N", flag: true, refused: oneNode},
			{long: "--initial-controllers", short: "-I", refused: oneNode},
		},
	},
	{prog: "kafka-storage version-mapping", refused: "this release formats with " + releaseVersion + " alone"},
	{prog: "kafka-storage feature-dependencies", refused: "this release formats with the features that it serves"},
	{prog: "kafka-storage random-uuid", help: "Print a random id."},
}}

// storage is kafka-storage.
func storage(_ context.Context, e *Env, args []string) error {
	p, err := storageCommand.parse(e, args)
	if err != nil {
		return refused(e, err)
	}
	if p.command == "random-uuid" {
		fmt.Fprintln(e.Out, randomID())
		return nil
	}
	settings, err := loadProperties(p.str("--config"))
	if err != nil {
		return err
	}
	dirs, err := nodeDirectories(settings)
	if err != nil {
		return err
	}
	if p.command == "info" {
		return storageInfo(e, dirs)
	}
	return storageFormat(e, p, settings, dirs)
}

// refused prints a refusal, which says all by itself.
func refused(e *Env, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		fmt.Fprintln(e.Err, r.Error())
		return &exit{1}
	}
	return err
}

// randomID is a random id as Kafka draws them: one that does not begin with a dash,
// which command lines would take for a flag.
func randomID() string {
	for {
		var id [16]byte
		rand.Read(id[:])
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if text := base64ID(id); !strings.HasPrefix(text, "-") {
			return text
		}
	}
}

// nodeDirectories are the directories of a node's settings, sorted. The errors are
// those that Kafka has over settings without which a node is none.
func nodeDirectories(settings properties) ([]string, error) {
	invalid := func(message string) error {
		return &failure{"org.apache.kafka.common.config.ConfigException", message}
	}
	for _, name := range []string{"process.roles", "node.id"} {
		if settings[name] == "" && (name != "node.id" || settings["broker.id"] == "") {
			return nil, invalid(fmt.Sprintf("Missing required configuration %q which has no default value.", name))
		}
	}
	if settings["controller.quorum.voters"] == "" && settings["controller.quorum.bootstrap.servers"] == "" {
		return nil, invalid("If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers " +
			"or controller.quorum.voters must contain a parseable set of controllers.")
	}
	list := settings["log.dirs"]
	if list == "" {
		list = settings["log.dir"]
	}
	if d, ok := config.Broker("log.dir"); ok && list == "" {
		list = d.Default
	}
	dirs := config.SplitList(list)
	slices.Sort(dirs)
	return dirs, nil
}

// metaProperties reads the file that says whose directory it is; nil without one.
func metaProperties(dir string) (properties, error) {
	meta, err := loadProperties(filepath.Join(dir, "meta.properties"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return meta, err
}

func storageInfo(e *Env, dirs []string) error {
	var problems, found []string
	var first properties
	for _, dir := range dirs {
		st, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, dir+" does not exist")
			continue
		case err != nil:
			return err
		case !st.IsDir():
			problems = append(problems, dir+" is not a directory")
			continue
		}
		found = append(found, dir)
		meta, err := metaProperties(dir)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("Error loading %s: %v", filepath.Join(dir, "meta.properties"), err))
		case meta == nil:
			problems = append(problems, dir+" is not formatted.")
		case first == nil:
			first = meta
		case first["cluster.id"] != meta["cluster.id"]:
			problems = append(problems, "Mismatched cluster IDs between storage directories.")
		case first["node.id"] != meta["node.id"]:
			problems = append(problems, "Mismatched node IDs between storage directories.")
		}
	}
	printParagraph(e, "Found log directory:", "Found log directories:", found)
	if first != nil {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(first)) {
			pairs = append(pairs, key+"="+first[key])
		}
		fmt.Fprintf(e.Out, "Found metadata: {%s}\n\n", strings.Join(pairs, ", "))
	}
	printParagraph(e, "Found problem:", "Found problems:", problems)
	if len(problems) > 0 {
		return &exit{1}
	}
	return nil
}

// printParagraph prints lines under a head, if there are any.
func printParagraph(e *Env, one, several string, lines []string) {
	if len(lines) == 0 {
		return
	}
	head := several
	if len(lines) == 1 {
		head = one
	}
	fmt.Fprintln(e.Out, head)
	for _, line := range lines {
		fmt.Fprintln(e.Out, "  "+line)
	}
	fmt.Fprintln(e.Out)
}

// terse ends a tool with one line on standard error.
func terse(e *Env, format string, args ...any) error {
	fmt.Fprintf(e.Err, format+"\n", args...)
	return &exit{1}
}

func storageFormat(e *Env, p *parsed, settings properties, dirs []string) error {
	if v := p.str("--release-version"); v != "" && v != releaseVersion {
		return terse(e, "--release-version %s is not supported by moldau's tools: this release formats with %s", v, releaseVersion)
	}
	if p.has("--standalone") && settings["controller.quorum.voters"] != "" {
		return terse(e, "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. "+
			"If you want to use dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead.")
	}
	if !p.has("--standalone") && settings["controller.quorum.voters"] == "" {
		return terse(e, "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "+
			"--standalone, --initial-controllers, or --no-initial-controllers.")
	}
	id := p.str("--cluster-id")
	unformatted := 0
	for _, dir := range dirs {
		meta, err := metaProperties(dir)
		if err != nil {
			return err
		}
		if meta == nil {
			unformatted++
			continue
		}
		if meta["cluster.id"] != id {
			return &failure{"java.lang.RuntimeException", fmt.Sprintf("Invalid cluster.id in: %s. Expected %s, but read %s",
				filepath.Join(dir, "meta.properties"), id, meta["cluster.id"])}
		}
		if !p.has("--ignore-formatted") {
			return terse(e, "Log directory %s is already formatted. Use --ignore-formatted to ignore this directory and format the others.", dir)
		}
	}
	if unformatted == 0 {
		fmt.Fprintln(e.Out, "All of the log directories are already formatted.")
		return nil
	}
	levels, err := broker.Format(broker.Config{Settings: settings, ClusterID: id})
	if err != nil {
		return terse(e, "%v", err)
	}
	var records []string
	for _, l := range levels {
		records = append(records, fmt.Sprintf("ApiMessageAndVersion(FeatureLevelRecord(name='%s', featureLevel=%d) at version 0)", l.Name, l.Level))
	}
	fmt.Fprintf(e.Out, "Bootstrap metadata: BootstrapMetadata(records=[%s], metadataVersionLevel=%d, source=format command)\n",
		strings.Join(records, ", "), levels[0].Level)
	fmt.Fprintf(e.Out, "Formatting metadata directory %s with metadata.version %s.\n", dirs[0], releaseVersion)
	return nil
}
