package kafkatools

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// arity says whether an option takes an argument.
type arity int8

const (
	flagOnly arity = iota // --list
	argument              // --topic x, --topic=x
	optional              // --compression-codec, --compression-codec zstd
)

// kind is what the argument of an option must be.
type kind int8

const (
	text kind = iota
	integer
	long
)

// option is one option of a tool, written with one dash or two.
type option struct {
	name  string
	arity arity
	kind  kind
	// commas splits the argument at commas into several.
	commas bool
	help   string
	// refused says why an option of Kafka's tool cannot be served here; giving it
	// is an error that names it.
	refused string
}

// options are the options of one tool as joptsimple's OptionParser holds them:
// names are written out in full, one dash does for two, an argument is the next
// word whatever it looks like, what is no option is passed over, and an option
// may come several times.
type options struct {
	known []option
	given []string // In the order of the command line.
	args  map[string][]string
}

// defaultOptions are those of every tool of the old kind.
var defaultOptions = []option{
	{name: "help", help: "Print this."},
	{name: "version", help: "Print the version of Kafka whose tools these stand for."},
}

// The options of most tools that talk to a cluster.
var (
	bootstrapServer = option{name: "bootstrap-server", arity: argument, help: "Required: brokers to ask first, HOST:PORT[,...]."}
	adminConfig     = option{name: "command-config", arity: argument, help: "A properties file for the admin client."}
)

// optionError is a command line that joptsimple refuses. Its class is that of
// joptsimple's exception.
func optionError(class, format string, args ...any) error {
	return &failure{class: "joptsimple." + class, message: fmt.Sprintf(format, args...)}
}

// parseOptions reads a command line.
func parseOptions(known []option, words []string) (*options, error) {
	o := &options{known: slices.Concat(defaultOptions, known), args: map[string][]string{}}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		var err error
		switch {
		case word == "--":
			return o, o.refusal()
		case strings.HasPrefix(word, "--"):
			words, err = o.long(word[2:], words)
		case strings.HasPrefix(word, "-") && word != "-":
			words, err = o.short(word[1:], words)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, o.refusal()
}

func (o *options) find(name string) (option, bool) {
	i := slices.IndexFunc(o.known, func(opt option) bool { return opt.name == name })
	if i < 0 {
		return option{}, false
	}
	return o.known[i], true
}

// long takes an option of two dashes, and its argument off the words.
func (o *options) long(word string, words []string) ([]string, error) {
	name, value, hasValue := strings.Cut(word, "=")
	opt, ok := o.find(name)
	if !ok {
		return nil, optionError("UnrecognizedOptionException", "%s is not a recognized option", name)
	}
	return o.take(opt, value, hasValue, words)
}

// short takes an option of one dash. If no option has the name, its letters are
// options, of which no tool has any.
func (o *options) short(word string, words []string) ([]string, error) {
	name, value, hasValue := strings.Cut(word, "=")
	opt, ok := o.find(name)
	if !ok {
		return nil, optionError("UnrecognizedOptionException", "%c is not a recognized option", []rune(word)[0])
	}
	return o.take(opt, value, hasValue, words)
}

func (o *options) take(opt option, value string, hasValue bool, words []string) ([]string, error) {
	o.given = append(o.given, opt.name)
	switch {
	case opt.arity == flagOnly:
		return words, nil
	case hasValue:
	case opt.arity == optional && (len(words) == 0 || o.looksLikeOption(words[0])):
		return words, nil
	case len(words) == 0:
		return nil, optionError("OptionMissingRequiredArgumentException", "Option %s requires an argument", opt.name)
	default:
		value, words = words[0], words[1:]
	}
	values := []string{value}
	if opt.commas {
		values = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
	}
	o.args[opt.name] = append(o.args[opt.name], values...)
	return words, nil
}

func (o *options) looksLikeOption(word string) bool {
	return strings.HasPrefix(word, "-") && word != "-"
}

// refusal is an error if an option was given that is not served here.
func (o *options) refusal() error {
	for _, name := range o.given {
		if opt, _ := o.find(name); opt.refused != "" {
			return &refusal{name, opt.refused}
		}
	}
	return nil
}

// has says whether an option was given.
func (o *options) has(name string) bool { return slices.Contains(o.given, name) }

// all are the arguments of an option that may come several times.
func (o *options) all(name string) []string { return o.args[name] }

// str is the argument of an option, empty if there is none. check must have been
// asked whether there are several.
func (o *options) str(name string) string {
	if a := o.args[name]; len(a) > 0 {
		return a[0]
	}
	return ""
}

// num is the argument of a numeric option, or what there is without it. check
// must have been asked whether it is a number.
func (o *options) num(name string, without int64) int64 {
	n, err := strconv.ParseInt(o.str(name), 10, 64)
	if err != nil {
		return without
	}
	return n
}

// check looks at the arguments of options that may come once only, and must be
// numbers if they are so declared. Kafka's tools learn this when they use the
// option, so the order of the names is theirs.
func (o *options) check(names ...string) error {
	for _, name := range names {
		opt, _ := o.find(name)
		a := o.args[name]
		if len(a) > 1 {
			return optionError("MultipleArgumentsForOptionException",
				"Found multiple arguments for option %s, but you asked for only one", name)
		}
		if len(a) == 0 || opt.kind == text {
			continue
		}
		bits := 32
		if opt.kind == long {
			bits = 64
		}
		if _, err := strconv.ParseInt(a[0], 10, bits); err != nil {
			return optionError("OptionArgumentConversionException", "Cannot parse argument '%s' of option %s", a[0], name)
		}
	}
	return nil
}

// refusal is an option of Kafka's tool that is not served here.
type refusal struct{ name, why string }

func (r *refusal) Error() string {
	return fmt.Sprintf("--%s is not supported by moldau's tools: %s", r.name, r.why)
}

// usage prints a message and the options, and ends with 1: so do Kafka's tools
// also when asked for help.
func (e *Env) usage(known []option, format string, args ...any) error {
	fmt.Fprintf(e.Err, format+"\n", args...)
	printOptions(e.Err, slices.Concat(defaultOptions, known))
	return &exit{1}
}

// printOptions prints a line for each option, in the order of their names.
func printOptions(w io.Writer, known []option) {
	known = slices.SortedFunc(slices.Values(known), func(a, b option) int { return strings.Compare(a.name, b.name) })
	width := len("Option")
	left := make([]string, len(known))
	for i, opt := range known {
		left[i] = "--" + opt.name
		switch opt.arity {
		case argument:
			left[i] += " <" + opt.kind.String() + ">"
		case optional:
			left[i] += " [" + opt.kind.String() + "]"
		}
		width = max(width, len(left[i]))
	}
	fmt.Fprintf(w, "%-*s  %s\n", width, "Option", "Description")
	fmt.Fprintf(w, "%-*s  %s\n", width, "------", "-----------")
	for i, opt := range known {
		help := opt.help
		if opt.refused != "" {
			help = "Not supported: " + opt.refused + "."
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-*s  %s", width, left[i], help), " "))
	}
}

func (k kind) String() string { return [...]string{"String", "Integer", "Long"}[k] }

// helpOrVersion answers --help, --version and an empty command line.
func (e *Env) helpOrVersion(o *options, words []string, message string) error {
	known := o.known[len(defaultOptions):]
	if len(words) == 0 || o.has("help") {
		return e.usage(known, "%s", message)
	}
	if o.has("version") {
		fmt.Fprintln(e.Out, kafkaVersion)
		return &exit{0}
	}
	return nil
}

// kafkaVersion is the version of Kafka whose tools these stand for, and with
// which they are compared.
const kafkaVersion = "4.2.2"

// require wants options to be there.
func (e *Env) require(o *options, names ...string) error {
	for _, name := range names {
		if !o.has(name) {
			return e.usage(o.known[len(defaultOptions):], "Missing required argument \"[%s]\"", name)
		}
	}
	return nil
}

// countOf is how many of these options were given.
func (o *options) countOf(names ...string) int {
	n := 0
	for _, name := range names {
		if o.has(name) {
			n++
		}
	}
	return n
}

// exclude wants none of the others beside an option.
func (e *Env) exclude(o *options, name string, others ...string) error {
	if !o.has(name) {
		return nil
	}
	for _, other := range others {
		if o.has(other) {
			return e.usage(o.known[len(defaultOptions):], "Option \"[%s]\" can't be used with option \"[%s]\"", name, other)
		}
	}
	return nil
}
