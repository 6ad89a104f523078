package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/moldau-broker/moldau/protocol/config"
)

// healthCommand asks the broker of this container whether it serves. An engine
// runs it every few seconds.
func healthCommand() *cobra.Command {
	f := serveFlags{}
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say whether the broker of this container serves",
		Long: "Ask the broker that serves here, at the first client listener of its settings,\n" +
			"for the brokers of its cluster. The exit code is 0 if it answers. Without --config\n" +
			"the settings are those of `moldau serve --from-environment`.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.fromEnvironment = f.configFile == ""
			cfg, err := f.config()
			if err != nil {
				return err
			}
			addr, err := localAddress(cfg.Settings)
			if err != nil {
				return err
			}
			return ping(cmd.Context(), addr)
		},
	}
	cmd.Flags().StringVar(&f.configFile, "config", "", "the settings `file` that is served")
	return cmd
}

// localAddress is where a process beside the broker reaches the first client
// listener of its settings.
func localAddress(settings map[string]string) (string, error) {
	controllers := config.SplitList(settings["controller.listener.names"])
	for _, text := range config.SplitList(settings["listeners"]) {
		name, address, _ := strings.Cut(text, "://")
		if name == "" || slices.Contains(controllers, name) || name == "CONTROLLER" && len(controllers) == 0 {
			continue
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return "", fmt.Errorf("listeners: %s is not NAME://HOST:PORT: %w", text, err)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "localhost"
		}
		return net.JoinHostPort(host, port), nil
	}
	return "", fmt.Errorf("listeners: %q has no listener for clients", settings["listeners"])
}

// pingTimeout is shorter than the three seconds that the image gives the command.
const pingTimeout = 2 * time.Second

func ping(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.Ping(ctx); err != nil {
		return fmt.Errorf("%s does not answer: %w", addr, err)
	}
	return nil
}
