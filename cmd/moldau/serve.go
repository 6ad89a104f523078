package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moldau-broker/moldau/broker"
	"github.com/moldau-broker/moldau/cmd/moldau/internal/cli"
	"github.com/moldau-broker/moldau/cmd/moldau/internal/environment"
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/config"
)

// serveFlags are the command line of `moldau serve`.
type serveFlags struct {
	configFile      string
	fromEnvironment bool
	writeConfig     string
	dataDir         string
	listen          string
	set             []string
	portFile        string
	logLevel        string
	levelGiven      bool // And not the default.

	warnings  []string // About the environment, for the log.
	rootLevel bool     // The level is one that the environment set for the root.
}

// defaultDataDir holds the data of a broker that nobody configured.
const defaultDataDir = "moldau-data"

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker",
		Long: "Run a broker until SIGTERM or SIGINT.\n\n" +
			"Without flags it serves localhost:9092 and keeps its data in ./" + defaultDataDir + ";\n" +
			"an empty data directory becomes a cluster of one node by itself.\n\n" +
			"--from-environment is for containers: it serves what the variables of the images\n" +
			"apache/kafka, confluentinc/cp-kafka, bitnami/kafka or wurstmeister/kafka ask for, over\n" +
			"a server.properties mounted where those images look for one, or over --config.\n" +
			"`moldau environment` prints the settings that come of it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.levelGiven = cmd.Flags().Changed("log-level")
			return serve(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.configFile, "config", "", "a Kafka server.properties `file`")
	flags.BoolVar(&f.fromEnvironment, "from-environment", false,
		"take settings from KAFKA_ variables as Kafka's container images do (they win over the file)")
	flags.StringVar(&f.writeConfig, "write-config", "", "write the settings to this `file`, for people to look at")
	flags.StringVar(&f.dataDir, "data-dir", "", "the data `directory` (wins over log.dirs)")
	flags.StringVar(&f.listen, "listen", "", "`HOST:PORT` to serve and to tell clients; port 0 takes a free one (wins over listeners)")
	flags.StringArrayVar(&f.set, "set", nil, "a broker setting as `key=value` (wins over the file; may be repeated)")
	flags.StringVar(&f.portFile, "port-file", "", "write the bound port to this `file` when ready")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func serve(ctx context.Context, f serveFlags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--log-level %s: use debug, info, warn or error", f.logLevel)}
	}
	cfg.Logger = slog.New(newKafkaHandler(os.Stdout, level))
	if f.rootLevel {
		cfg.Logger = slog.New(newImageHandler(os.Stdout, level))
	}
	for _, w := range f.warnings {
		cfg.Logger.Warn(w) //nolint:sloglint // Each is a sentence of its own.
	}
	if f.writeConfig != "" {
		if err := writeSettings(f.writeConfig, cfg.Settings); err != nil {
			cfg.Logger.Warn("the settings were not written", slog.String("path", f.writeConfig), slog.Any("err", err))
		}
	}

	b, err := broker.New(cfg)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-b.Ready():
	}
	if f.portFile != "" {
		if err := writePortFile(f.portFile, b.Addr()); err != nil {
			cfg.Logger.Error("the port file was not written", slog.String("path", f.portFile), slog.Any("err", err))
		}
	}
	return <-done
}

// config reads the settings file, lays the environment over it if that is asked
// for, and the flags over both.
func (f *serveFlags) config() (broker.Config, error) {
	cfg := broker.Config{Settings: map[string]string{}}
	var err error
	switch {
	case f.fromEnvironment:
		err = f.environment(&cfg)
	case f.configFile != "":
		cfg.Settings, err = environment.ReadFile(f.configFile)
	}
	if err != nil {
		return cfg, err
	}
	cfg.Dir, cfg.Listen = f.dataDir, f.listen
	for _, pair := range f.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return cfg, &cli.UsageError{Err: fmt.Errorf("--set %s: write it as key=value", pair)}
		}
		cfg.Settings[strings.TrimSpace(key)] = value
	}
	if cfg.Dir == "" && cfg.Settings["log.dirs"] == "" && cfg.Settings["log.dir"] == "" {
		cfg.Dir = defaultDataDir
	}
	return cfg, nil
}

// environment takes what the container's environment asks for.
func (f *serveFlags) environment(cfg *broker.Config) error {
	src, err := environment.OfContainer(f.configFile)
	if err != nil {
		return err
	}
	start, err := environment.Read(src)
	if err != nil {
		return err
	}
	cfg.Settings, cfg.Topics = start.Settings, start.Topics
	// As in the images, the variable formats an empty directory and no more.
	cfg.ClusterID, cfg.KeepClusterID = start.ClusterID, true
	if start.LogLevel != "" && !f.levelGiven {
		f.logLevel, f.rootLevel = start.LogLevel, true
	}
	f.warnings = start.Warnings
	return nil
}

// writeSettings writes a server.properties. The file is kept and its text
// replaced: who runs as a stranger in a container may write to a file whose
// directory he cannot change.
func writeSettings(path string, settings map[string]string) error {
	return os.WriteFile(path, config.FormatProperties(settings), 0o664)
}

// writePortFile writes the port of addr, a line, so that it appears at once or
// not at all.
func writePortFile(path string, addr net.Addr) error {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(vfs.OS, path, []byte(port+"\n"))
}
