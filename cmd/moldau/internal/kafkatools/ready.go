package kafkatools

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moldau-broker/moldau/cmd/moldau/internal/environment"
)

// netcat is nc, of which only the question is known whether a port is open: nc -z
// host port, as health checks ask it.
func netcat(ctx context.Context, e *Env, args []string) error {
	var rest []string
	zero, verbose := false, false
	wait := time.Minute
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		for j, letter := range arg[1:] {
			switch letter {
			case 'z':
				zero = true
			case 'v':
				verbose = true
			case 'n', '4', '6', 't':
			case 'w', 'q', 'i':
				value := arg[j+2:]
				if value == "" && i+1 < len(args) {
					i++
					value = args[i]
				}
				seconds, err := strconv.Atoi(value)
				if err != nil {
					return terse(e, "nc: -%c %q is not a number of seconds", letter, value)
				}
				if letter == 'w' && seconds > 0 {
					wait = time.Duration(seconds) * time.Second
				}
			default:
				return terse(e, "nc: -%c is not supported: moldau's nc only looks whether a port is open, nc -z [-v] [-w SECONDS] HOST PORT", letter)
			}
			if strings.ContainsRune("wqi", letter) {
				break
			}
		}
	}
	if !zero || len(rest) != 2 {
		return terse(e, "nc: moldau's nc only looks whether a port is open: nc -z [-v] [-w SECONDS] HOST PORT")
	}
	conn, err := (&net.Dialer{Timeout: wait}).DialContext(ctx, "tcp", net.JoinHostPort(rest[0], rest[1]))
	if err != nil {
		if verbose {
			fmt.Fprintf(e.Err, "nc: connect to %s port %s (tcp) failed: %v\n", rest[0], rest[1], err)
		}
		return &exit{1}
	}
	defer conn.Close()
	if verbose {
		fmt.Fprintf(e.Err, "Connection to %s %s port [tcp/*] succeeded!\n", rest[0], rest[1])
	}
	return nil
}

// cub is Confluent's container utility of that name, of which kafka-ready is known:
// cub kafka-ready -b HOST:PORT BROKERS SECONDS.
func cub(ctx context.Context, e *Env, args []string) error {
	if len(args) == 0 || args[0] != "kafka-ready" {
		return terse(e, "cub: moldau knows only cub kafka-ready [-b HOST:PORT] [-c FILE] BROKERS SECONDS")
	}
	return kafkaReady(ctx, e, "cub", args[1:])
}

// kafkaReady waits until so many brokers are there, for so many seconds.
func kafkaReady(ctx context.Context, e *Env, tool string, args []string) error {
	servers, file := os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ""
	var rest []string
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		take := func() string {
			if !has && i+1 < len(args) {
				i++
				return args[i]
			}
			return value
		}
		switch name {
		case "-b", "--bootstrap_broker_list", "--bootstrap-servers":
			servers = take()
		case "-c", "--config":
			file = take()
		case "-s", "--security", "--security-protocol":
			if p := take(); p != "PLAINTEXT" {
				return terse(e, "%s: security protocol %s is not supported by moldau's tools: use PLAINTEXT", tool, p)
			}
		default:
			if strings.HasPrefix(name, "-") {
				return terse(e, "%s kafka-ready: %s is not supported by moldau's tools", tool, name)
			}
			rest = append(rest, args[i])
		}
	}
	if servers == "" || len(rest) != 2 {
		return terse(e, "%s kafka-ready needs the number of brokers, the seconds to wait, and -b HOST:PORT", tool)
	}
	brokers, err1 := strconv.Atoi(rest[0])
	seconds, err2 := strconv.Atoi(rest[1])
	if err1 != nil || err2 != nil {
		return terse(e, "%s kafka-ready: %s brokers and %s seconds must be numbers", tool, rest[0], rest[1])
	}
	settings, err := loadProperties(file)
	if err != nil {
		return e.complain(err)
	}
	return awaitBrokers(ctx, e, servers, settings, brokers, time.Duration(seconds)*time.Second)
}

func awaitBrokers(ctx context.Context, e *Env, servers string, settings properties, brokers int, wait time.Duration) error {
	settings["default.api.timeout.ms"] = strconv.FormatInt(wait.Milliseconds(), 10)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	seeds, err := e.seeds(ctx, servers)
	var cl *cluster
	if err == nil {
		cl, err = e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "adminclient-1", call: "listNodes"})
	}
	if err != nil {
		fmt.Fprintf(e.Err, "Kafka is not ready at %s: %v\n", servers, err)
		return &exit{1}
	}
	defer cl.raw.Close()
	found := 0
	for {
		if nodes, err := cl.ListBrokers(ctx); err == nil {
			if found = len(nodes); found >= brokers {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			fmt.Fprintf(e.Err, "Expected %d brokers but found only %d.\n", brokers, found)
			return &exit{1}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ub is Confluent's container utility of that name: what its start scripts ask of
// it, but for templates.
func ub(ctx context.Context, e *Env, args []string) error {
	if len(args) == 0 {
		return terse(e, "ub: name a command: kafka-ready, ensure, ensure-atleast-one, path or listeners")
	}
	rest := args[1:]
	switch args[0] {
	case "kafka-ready":
		return kafkaReady(ctx, e, "ub", rest)
	case "ensure":
		for _, name := range rest {
			if _, ok := os.LookupEnv(name); !ok {
				return terse(e, "environment variable %q is not set", name)
			}
		}
		return nil
	case "ensure-atleast-one":
		for _, name := range rest {
			if _, ok := os.LookupEnv(name); ok {
				return nil
			}
		}
		return terse(e, "none of the environment variables %s is set", strings.Join(rest, ", "))
	case "path":
		return checkPath(e, rest)
	case "listeners":
		if len(rest) != 1 || rest[0] == "" {
			return terse(e, "ub listeners needs the advertised listeners")
		}
		fmt.Fprintln(e.Out, environment.EveryInterface(rest[0]))
		return nil
	}
	return terse(e, "ub: %s is not supported by moldau's tools", args[0])
}

// checkPath looks whether a path may be used in a way.
func checkPath(e *Env, args []string) error {
	if len(args) != 2 {
		return terse(e, "ub path needs a path and one of existence, readable, writable, executable")
	}
	path, way := args[0], args[1]
	st, err := os.Stat(path)
	if err == nil {
		switch way {
		case "existence":
		case "readable":
			var f *os.File
			if f, err = os.Open(path); err == nil {
				err = f.Close()
			}
		case "writable":
			err = writable(path, st)
		case "executable":
			if st.Mode()&0o111 == 0 {
				err = os.ErrPermission
			}
		default:
			return terse(e, "ub path: %q is none of existence, readable, writable, executable", way)
		}
	}
	if err != nil {
		return terse(e, "path %s fails the check %q: %v", path, way, err)
	}
	return nil
}

func writable(path string, st os.FileInfo) error {
	if st.IsDir() {
		f, err := os.CreateTemp(path, ".writable-*")
		if err != nil {
			return err
		}
		_ = f.Close()
		return os.Remove(f.Name())
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
