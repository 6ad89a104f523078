package kafkatools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

var serverOptions = []option{{name: "override", arity: argument, help: "property=value, wins over the file; may be repeated."}}

// serverStart is kafka-server-start: it serves on a server.properties.
func serverStart(ctx context.Context, e *Env, args []string) error {
	if len(args) == 0 {
		fmt.Fprintln(e.Out, "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*")
		return &exit{1}
	}
	if args[0] == "-daemon" {
		return startDaemon("kafka-server-start", "kafkaServer.out", args[1:])
	}
	if len(args) == 0 || slices.Contains(args, "--help") {
		return e.usage(serverOptions, "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*")
	}
	if slices.Contains(args, "--version") {
		fmt.Fprintln(e.Out, kafkaVersion)
		return nil
	}
	o, err := parseOptions(serverOptions, args[1:])
	if err != nil {
		return e.complain(err)
	}
	if words := nonOptions(args[1:]); len(words) > 0 {
		return e.usage(serverOptions, "Found non argument parameters: %s", strings.Join(words, ","))
	}
	settings, err := loadProperties(args[0])
	if err != nil {
		return e.complain(err)
	}
	overrides := properties{}.with(o.all("override"))
	merged := settings.with(o.all("override"))
	if merged["log.dirs"] == "" && merged["log.dir"] == "" {
		overrides["log.dir"] = "/tmp/kafka-logs" // Kafka's default, where moldau serve has its own.
	}
	if err := e.Serve(ctx, args[0], overrides); err != nil {
		return terse(e, "moldau: %v", err)
	}
	return nil
}

// nonOptions are the words that are neither an option of the server nor its
// argument.
func nonOptions(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		switch {
		case strings.TrimLeft(words[i], "-") == "override":
			i++
		case !strings.HasPrefix(words[i], "-"):
			out = append(out, words[i])
		}
	}
	return out
}

// startDaemon starts a tool as a process that stays, its output in that file below
// LOG_DIR, or else in the folder logs beside that of the program, as Kafka's scripts
// do.
func startDaemon(tool, output string, args []string) error {
	dir := os.Getenv("LOG_DIR")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(os.Args[0]), "..", "logs")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, output), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // The daemon writes by its own descriptor.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// A hang-up of the terminal is not for the daemon; what is ignored stays so in
	// the child.
	signal.Ignore(syscall.SIGHUP)
	cmd := exec.Command(self, append([]string{"tool", tool}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Start()
}

// serverStop is kafka-server-stop: it asks every server of this machine that it may
// signal to end, or with --node-id or --process-role those of the settings.
func serverStop(_ context.Context, e *Env, args []string) error {
	var nodeID, role string
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--node-id":
			nodeID = value
		case "--process-role":
			role = value
		default:
			return terse(e, "kafka-server-stop: %s is not known; there are --node-id=ID and --process-role=ROLE", arg)
		}
	}
	if nodeID != "" && role != "" {
		fmt.Fprintln(e.Out, "When both node-id and process-role are provided, the value for node-id will take precedence")
	}
	servers, err := runningServers("/proc")
	if err != nil {
		return terse(e, "kafka-server-stop finds servers in /proc, which this system lacks: %v; end the process by its id", err)
	}
	if len(servers) == 0 {
		fmt.Fprintln(e.Out, "No kafka server to stop")
		return &exit{1}
	}
	for _, s := range servers {
		if nodeID != "" && s.settings["node.id"] != nodeID || nodeID == "" && role != "" && s.settings["process.roles"] != role {
			continue
		}
		p, err := os.FindProcess(s.pid)
		if err == nil {
			err = p.Signal(syscall.SIGTERM)
		}
		if err != nil {
			fmt.Fprintf(e.Err, "process %d cannot be asked to end: %v\n", s.pid, err)
		}
	}
	return nil
}
