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
	"github.com/moldau-broker/moldau/logstore/vfs"
	"github.com/moldau-broker/moldau/protocol/config"
)

// serveFlags are the command line of `moldau serve`.
type serveFlags struct {
	configFile string
	dataDir    string
	listen     string
	set        []string
	portFile   string
	logLevel   string
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
			"an empty data directory becomes a cluster of one node by itself.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.configFile, "config", "", "a Kafka server.properties `file`")
	flags.StringVar(&f.dataDir, "data-dir", "", "the data `directory` (wins over log.dirs)")
	flags.StringVar(&f.listen, "listen", "", "`HOST:PORT` to serve and to tell clients; port 0 takes a free one (wins over listeners)")
	flags.StringArrayVar(&f.set, "set", nil, "a broker setting as `key=value` (wins over the file; may be repeated)")
	flags.StringVar(&f.portFile, "port-file", "", "write the bound port to this `file` when ready")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func serve(ctx context.Context, f serveFlags) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--log-level %s: use debug, info, warn or error", f.logLevel)}
	}
	cfg, err := f.config()
	if err != nil {
		return err
	}
	cfg.Logger = slog.New(newKafkaHandler(os.Stdout, level))

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

// config reads the settings file and lays the flags over it.
func (f serveFlags) config() (broker.Config, error) {
	cfg := broker.Config{Dir: f.dataDir, Listen: f.listen, Settings: map[string]string{}}
	if f.configFile != "" {
		text, err := os.ReadFile(f.configFile)
		if err != nil {
			return cfg, fmt.Errorf("the settings file cannot be read: %w", err)
		}
		if cfg.Settings, err = config.ParseProperties(f.configFile, text); err != nil {
			return cfg, err
		}
	}
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

// writePortFile writes the port of addr, a line, so that it appears at once or
// not at all.
func writePortFile(path string, addr net.Addr) error {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return err
	}
	return vfs.WriteFileAtomic(vfs.OS, path, []byte(port+"\n"))
}
