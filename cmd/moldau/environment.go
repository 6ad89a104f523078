package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/protocol/config"
)

// environmentCommand prints what `serve --from-environment` would serve. An image's
// scripts make the server.properties of it that Kafka's tools are given.
func environmentCommand() *cobra.Command {
	f := serveFlags{fromEnvironment: true}
	cmd := &cobra.Command{
		Use:   "environment",
		Short: "Print the server.properties that a container's variables make",
		Long: "Print, as a server.properties, the settings with which\n" +
			"`moldau serve --from-environment` would serve here. Warnings go to standard error.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config()
			if err != nil {
				return err
			}
			for _, w := range f.warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "moldau:", w)
			}
			if f.writeConfig != "" {
				return writeSettings(f.writeConfig, cfg.Settings)
			}
			_, err = cmd.OutOrStdout().Write(config.FormatProperties(cfg.Settings))
			return err
		},
	}
	cmd.Flags().StringVar(&f.configFile, "config", "", "a server.properties `file` instead of a mounted one")
	cmd.Flags().StringVar(&f.writeConfig, "write-config", "", "write to this `file` instead")
	return cmd
}
