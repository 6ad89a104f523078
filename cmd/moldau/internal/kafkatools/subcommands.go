package kafkatools

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// param is an argument of a tool of the newer kind.
type param struct {
	long, short string // With their dashes; short may be empty.
	flag        bool   // Takes no value.
	required    bool
	help        string
	refused     string // As in option.
}

// command is a tool of the newer kind, or a subcommand of one, as argparse4j has
// them: arguments may be shortened as long as only one fits, a value may follow
// its short name at once, and what is not known is an error.
type command struct {
	prog   string // All its names: kafka-storage format.
	help   string
	params []param
	subs   []*command
	// refused says why a subcommand of Kafka's tool is not served here.
	refused string
}

// parsed is a command line that was understood.
type parsed struct {
	command string // The subcommand; empty if there are none.
	values  map[string][]string
}

func (p *parsed) has(long string) bool { _, ok := p.values[long]; return ok }

func (p *parsed) str(long string) string {
	if v := p.values[long]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parse reads a command line. What is wrong with it is printed, as is help, which
// both end the tool.
func (c *command) parse(e *Env, words []string) (*parsed, error) {
	p := &parsed{values: map[string][]string{}}
	return p, c.parseInto(e, p, words)
}

func (c *command) parseInto(e *Env, p *parsed, words []string) error {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "-h" || word == "--help" {
			c.printHelp(e.Out)
			return &exit{0}
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			if len(c.subs) == 0 {
				return c.wrong(e, "unrecognized arguments: '%s'", word)
			}
			i := slices.IndexFunc(c.subs, func(s *command) bool { return s.name() == word })
			if i < 0 {
				return c.wrong(e, "invalid choice: '%s' (choose from %s)", word, "'"+strings.Join(c.subNames(), "', '")+"'")
			}
			if err := c.complete(e, p); err != nil {
				return err
			}
			if why := c.subs[i].refused; why != "" {
				return terse(e, "%s is not supported by moldau's tools: %s", c.subs[i].prog, why)
			}
			p.command = word
			return c.subs[i].parseInto(e, p, words)
		}
		var err error
		if words, err = c.take(e, p, word, words); err != nil {
			return err
		}
	}
	if err := c.complete(e, p); err != nil {
		return err
	}
	if len(c.subs) > 0 {
		return c.wrong(e, "too few arguments")
	}
	return nil
}

// take reads an argument and its value.
func (c *command) take(e *Env, p *parsed, word string, words []string) ([]string, error) {
	name, value, hasValue := strings.Cut(word, "=")
	fits := c.fitting(name)
	if len(fits) == 0 && !strings.HasPrefix(word, "--") && len(word) > 2 {
		if fits = c.fitting(word[:2]); len(fits) > 0 { // -tVALUE
			value, hasValue = strings.TrimPrefix(word[2:], "="), true
			if fits[0].flag { // -gs
				value, hasValue, words = "", false, append([]string{"-" + word[2:]}, words...)
			}
		}
	}
	switch {
	case len(fits) == 0:
		return nil, c.wrong(e, "unrecognized arguments: '%s'", word)
	case len(fits) > 1:
		return nil, c.wrong(e, "ambiguous option: %s could match %s, %s", name, fits[0].long, fits[1].long)
	}
	it := fits[0]
	switch {
	case it.refused != "":
		return nil, &refusal{strings.TrimPrefix(it.long, "--"), it.refused}
	case it.flag:
		p.values[it.long] = nil
		return words, nil
	case hasValue:
	case len(words) == 0 || c.known(words[0]):
		return nil, c.wrong(e, "argument %s: expected one argument", it.names())
	default:
		value, words = words[0], words[1:]
	}
	p.values[it.long] = append(p.values[it.long], value)
	return words, nil
}

// fitting are the arguments that a name may mean.
func (c *command) fitting(name string) []param {
	var fits []param
	for _, it := range c.params {
		if it.long == name || it.short == name {
			return []param{it}
		}
		if strings.HasPrefix(name, "--") && strings.HasPrefix(it.long, name) {
			fits = append(fits, it)
		}
	}
	return fits
}

// known says whether a word is an argument and not a value.
func (c *command) known(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return strings.HasPrefix(word, "-") && len(c.fitting(name)) > 0
}

// complete wants what is required.
func (c *command) complete(e *Env, p *parsed) error {
	for _, it := range c.params {
		if it.required && !p.has(it.long) {
			return c.wrong(e, "argument %s is required", it.names())
		}
	}
	return nil
}

func (c *command) name() string { return c.prog[strings.LastIndex(c.prog, " ")+1:] }

// sub is the subcommand of a name that was parsed.
func (c *command) sub(name string) *command {
	return c.subs[slices.IndexFunc(c.subs, func(s *command) bool { return s.name() == name })]
}

func (c *command) subNames() []string {
	names := make([]string, len(c.subs))
	for i, s := range c.subs {
		names[i] = s.name()
	}
	return names
}

func (it param) names() string {
	if it.short == "" {
		return it.long
	}
	return it.long + "/" + it.short
}

// wrong prints the usage and what is wrong, and ends with 1.
func (c *command) wrong(e *Env, format string, args ...any) error {
	c.printUsage(e.Err)
	tool, _, _ := strings.Cut(c.prog, " ")
	fmt.Fprintf(e.Err, tool+": error: "+format+"\n", args...)
	return &exit{1}
}

// usageWidth is where argparse4j breaks the lines of a usage.
const usageWidth = 75

func (c *command) printUsage(w io.Writer) {
	head := "usage: " + c.prog
	line := head
	for _, piece := range c.pieces() {
		if len(line)+1+len(piece) > usageWidth && line != head {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", len(head))
		}
		line += " " + piece
	}
	fmt.Fprintln(w, line)
}

// pieces are what a usage consists of.
func (c *command) pieces() []string {
	pieces := []string{"[-h]"}
	for _, it := range c.params {
		piece := it.long
		if !it.flag {
			piece += " " + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(it.long, "--"), "-", "_"))
		}
		if !it.required {
			piece = "[" + piece + "]"
		}
		pieces = append(pieces, piece)
	}
	if len(c.subs) > 0 {
		pieces = append(pieces, "{"+strings.Join(c.subNames(), ",")+"}", "...")
	}
	return pieces
}

func (c *command) printHelp(w io.Writer) {
	c.printUsage(w)
	fmt.Fprintf(w, "\n%s\n", c.help)
	for _, s := range c.subs {
		help := s.help
		if s.refused != "" {
			help = "Not supported: " + s.refused + "."
		}
		fmt.Fprintf(w, "  %-22s %s\n", s.name(), help)
	}
	for _, it := range c.params {
		help := it.help
		if it.refused != "" {
			help = "Not supported: " + it.refused + "."
		}
		fmt.Fprintf(w, "  %-28s %s\n", it.names(), help)
	}
}
