package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/cmd/moldau/internal/cli"
	"github.com/moldau-broker/moldau/cmd/moldau/internal/kafkatools"
)

// toolCommand is `moldau tool`, for where the binary has no links under the names
// of Kafka's tools.
func toolCommand() *cobra.Command {
	names := kafkatools.Names()
	return &cobra.Command{
		Use:   "tool NAME [FLAGS]",
		Short: "Run one of Kafka's command-line tools, e.g. kafka-topics",
		Long: "Run one of Kafka's command-line tools, with its flags, its output and its exit codes.\n" +
			"The binary does the same when it is called by the tool's name, with or without .sh,\n" +
			"as over a symbolic link.\n\nTools: " + strings.Join(names, ", ") + ".",
		DisableFlagParsing: true,
		ValidArgs:          names,
		// run sees the tools before cobra does; only help and wrong names come here.
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] != "--help" && args[0] != "-h" {
				return &cli.UsageError{Err: fmt.Errorf("moldau has no tool %q; see moldau tool --help", args[0])}
			}
			return cmd.Help()
		},
	}
}

// asTool says whether a command line is one of a Kafka tool, and which.
func asTool(argv []string) (name string, args []string, ok bool) {
	if name = kafkatools.Name(argv[0]); name != "" {
		return name, argv[1:], true
	}
	if len(argv) > 2 && argv[1] == "tool" {
		if name = kafkatools.Name(argv[2]); name != "" {
			return name, argv[3:], true
		}
	}
	return "", nil, false
}

// runTool runs one of Kafka's tools in this process and returns its exit code.
func runTool(ctx context.Context, name string, args []string) int {
	return kafkatools.Run(ctx, &kafkatools.Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Serve: func(ctx context.Context, file string, overrides map[string]string) error {
			f := serveFlags{configFile: file, logLevel: "info"}
			for key, value := range overrides {
				f.set = append(f.set, key+"="+value)
			}
			return serve(ctx, f)
		},
	}, name, args)
}
