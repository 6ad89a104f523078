package kafkatools

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The parser behaves as joptsimple, which scripts for Kafka were written against.
func TestParseOptions(t *testing.T) {
	known := []option{
		{name: "list"},
		{name: "topic", arity: argument},
		{name: "count", arity: argument, kind: integer},
		{name: "codec", arity: optional},
		{name: "keys", arity: argument, commas: true},
		{name: "zookeeper", arity: argument, refused: "there is none"},
	}
	for name, tc := range map[string]struct {
		words []string
		check []string
		given []string
		args  map[string][]string
		err   string
	}{
		"two dashes":                         {words: []string{"--topic", "x", "--list"}, given: []string{"topic", "list"}, args: map[string][]string{"topic": {"x"}}},
		"one dash":                           {words: []string{"-topic", "x"}, given: []string{"topic"}, args: map[string][]string{"topic": {"x"}}},
		"equals":                             {words: []string{"--topic=a=b"}, given: []string{"topic"}, args: map[string][]string{"topic": {"a=b"}}},
		"an empty argument":                  {words: []string{"--topic="}, given: []string{"topic"}, args: map[string][]string{"topic": {""}}},
		"an argument that looks like one":    {words: []string{"--topic", "--list"}, given: []string{"topic"}, args: map[string][]string{"topic": {"--list"}}},
		"a flag's argument is dropped":       {words: []string{"--list=yes"}, given: []string{"list"}},
		"no abbreviations":                   {words: []string{"--topi", "x"}, err: "topi is not a recognized option"},
		"one dash is one letter if unknown":  {words: []string{"-xyz"}, err: "x is not a recognized option"},
		"nothing follows":                    {words: []string{"--topic"}, err: "Option topic requires an argument"},
		"words between are passed over":      {words: []string{"a", "--list", "-", "b"}, given: []string{"list"}},
		"two dashes alone end it":            {words: []string{"--list", "--", "--topic"}, given: []string{"list"}},
		"an optional argument is there":      {words: []string{"--codec", "zstd"}, given: []string{"codec"}, args: map[string][]string{"codec": {"zstd"}}},
		"an optional argument is not":        {words: []string{"--codec", "--list"}, given: []string{"codec", "list"}},
		"an optional argument at the end":    {words: []string{"--codec"}, given: []string{"codec"}},
		"split at commas":                    {words: []string{"--keys", "a,b,", "--keys=c"}, given: []string{"keys", "keys"}, args: map[string][]string{"keys": {"a", "b", "c"}}},
		"repeated where one was asked for":   {words: []string{"--topic", "a", "--topic", "b"}, check: []string{"topic"}, err: "Found multiple arguments for option topic, but you asked for only one"},
		"no number":                          {words: []string{"--count", "many"}, check: []string{"count"}, err: "Cannot parse argument 'many' of option count"},
		"too large a number":                 {words: []string{"--count", "2147483648"}, check: []string{"count"}, err: "Cannot parse argument '2147483648' of option count"},
		"what is not served is named":        {words: []string{"--zookeeper", "x"}, err: "--zookeeper is not supported by moldau's tools: there is none"},
		"numbers are looked at only in time": {words: []string{"--count", "many"}, given: []string{"count"}, args: map[string][]string{"count": {"many"}}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parseOptions(known, tc.words)
			if err == nil {
				err = o.check(tc.check...)
			}
			if err != nil || tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			if tc.args == nil {
				tc.args = map[string][]string{}
			}
			if diff := cmp.Diff(tc.given, o.given); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.args, o.args); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The parser behaves as argparse4j, but for the layout of its messages.
func TestParseSubcommands(t *testing.T) {
	tool := &command{prog: "tool", params: []param{{long: "--server", required: true}}, subs: []*command{{
		prog: "tool do", params: []param{
			{long: "--name", short: "-n", required: true},
			{long: "--nothing", short: "-x", flag: true},
			{long: "--quick", short: "-q", flag: true},
		},
	}}}
	for name, tc := range map[string]struct {
		words  []string
		values map[string][]string
		err    string
	}{
		"long":              {words: []string{"--server", "s", "do", "--name", "a"}, values: map[string][]string{"--server": {"s"}, "--name": {"a"}}},
		"short at once":     {words: []string{"--server=s", "do", "-na"}, values: map[string][]string{"--server": {"s"}, "--name": {"a"}}},
		"shortened":         {words: []string{"--se", "s", "do", "--na=a", "--q"}, values: map[string][]string{"--server": {"s"}, "--name": {"a"}, "--quick": nil}},
		"flags in one word": {words: []string{"--server", "s", "do", "-xqn", "a"}, values: map[string][]string{"--server": {"s"}, "--name": {"a"}, "--quick": nil, "--nothing": nil}},
		"ambiguous":         {words: []string{"--server", "s", "do", "--n", "a"}, err: "tool: error: ambiguous option: --n could match --name, --nothing\n"},
		"no subcommand":     {words: []string{"--server", "s"}, err: "tool: error: too few arguments\n"},
		"wrong subcommand":  {words: []string{"--server", "s", "be"}, err: "tool: error: invalid choice: 'be' (choose from 'do')\n"},
		"required":          {words: []string{"--server", "s", "do"}, err: "tool: error: argument --name/-n is required\n"},
		"before the sub":    {words: []string{"do", "--name", "a"}, err: "tool: error: argument --server is required\n"},
		"no value":          {words: []string{"--server", "s", "do", "--name"}, err: "tool: error: argument --name/-n: expected one argument\n"},
		"unknown":           {words: []string{"--server", "s", "do", "-z"}, err: "tool: error: unrecognized arguments: '-z'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e, errs := testEnv("")
			p, err := tool.parse(e, tc.words)
			if (err != nil) != (tc.err != "") {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if err != nil {
				if got := errs.String(); len(got) < len(tc.err) || got[len(got)-len(tc.err):] != tc.err {
					t.Errorf("printed %q, want it to end in %q", got, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.values, p.values); diff != "" {
				t.Error(diff)
			}
		})
	}
}
