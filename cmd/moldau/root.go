package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/cmd/moldau/internal/bench"
	"github.com/moldau-broker/moldau/cmd/moldau/internal/cli"
)

// version is the release, set by the linker (make build).
var version = "dev"

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "moldau",
		Short:         "A Kafka broker in one binary",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &cli.UsageError{Err: fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(serveCommand(), environmentCommand(), healthCommand(), initCommand(), versionCommand(), toolCommand())
	root.AddCommand(cli.Commands()...)
	root.AddCommand(bench.Command())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "moldau", version)
			return err
		},
	}
}
