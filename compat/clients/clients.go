package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moldau-broker/moldau/compat/clients/script"
)

// The tables of the matrix: Kafka Streams and Kafka Connect have scripts of their own.
const (
	general      = "clients"
	kafkaStreams = "Kafka Streams"
	kafkaConnect = "Kafka Connect"
)

// client is a client and how to have and to run it.
type client struct {
	name, version, kind string
	needs               []step   // What must have been done before, in order.
	command             []string // Its runner.
}

// step is something that installs.
type step struct {
	name string
	run  []string
	dir  string
}

// allowance is how long a client may take for all its scripts. Each script has a limit
// of its own; this is for a runner that does not keep it.
const allowance = 6 * time.Minute

// clients are all clients, in the order of the matrix. here is the folder of this
// module. Versions are those of the lock files.
func clients(here string) []client {
	work := filepath.Join(here, ".work")
	bin := func(name string) string { return filepath.Join(work, "bin", name) }
	at := func(dir string) string { return filepath.Join(here, dir) }

	venv := step{"a Python environment", []string{"python3", "-m", "venv", filepath.Join(work, "venv")}, here}
	pip := step{"Python's clients", []string{
		filepath.Join(work, "venv", "bin", "pip"), "install", "-q", "--disable-pip-version-check", "-r", at("python/requirements.txt"),
	}, here}
	npm := step{"JavaScript's clients", []string{"npm", "ci", "--silent"}, at("node")}
	golang := step{"Go's clients", []string{"go", "build", "-o", filepath.Join(work, "bin") + "/", "./franzgo", "./sarama", "./kafkago", "./kcat"}, here}
	kcat := step{"kcat", []string{"kcat", "-V"}, here}

	python := func(name, module string) client {
		return client{name, pinned(at("python/requirements.txt"), name+"=="), general, []step{venv, pip}, []string{filepath.Join(work, "venv", "bin", "python"), at("python/run_" + module + ".py")}}
	}
	gone := func(name, module, program string, args ...string) client {
		return client{name, pinned(at("go.mod"), module+" "), general, []step{golang}, append([]string{bin(program)}, args...)}
	}
	java := func(name, folder, class, kind string) client {
		jars := filepath.Join(work, "java-"+folder)
		return client{
			name, xml(at("java/"+folder+"/pom.xml"), "kafka.version"), kind,
			[]step{{"Java's " + folder + " clients", []string{at("java/build"), folder, work}, here}},
			[]string{
				"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
				"-cp", filepath.Join(jars, "classes") + ":" + filepath.Join(jars, "libs", "*"), class,
			},
		}
	}
	list := []client{
		java("kafka-clients", "current", "Clients", general),
		java("kafka-clients-old", "old", "Clients", general),
		python("confluent-kafka", "confluent"),
		{"kcat", "from PATH", general, []step{golang, kcat}, []string{bin("kcat")}},
		python("aiokafka", "aiokafka"),
		python("kafka-python", "kafka_python"),
		{"kafkajs", pinned(at("node/package.json"), `"kafkajs": "`), general, []step{npm}, []string{"node", at("node/run.js")}},
		gone("franz-go", "github.com/twmb/franz-go", "franzgo"),
	}
	for _, release := range []string{"1.0.0", "2.8.0", "4.0.0"} {
		list = append(list, gone("sarama as "+release, "github.com/IBM/sarama", "sarama", "--release", release))
	}
	list = append(list, gone("kafka-go", "github.com/segmentio/kafka-go", "kafkago"))

	for _, part := range []struct {
		name, kind string
		options    []string
	}{{"Kafka Streams", kafkaStreams, nil}, {"Kafka Connect", kafkaConnect, []string{"-Dconnect=yes"}}} {
		c := java(part.name, "streams", "Streams", part.kind)
		options := append(part.options, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
		c.command = slices.Insert(c.command, 1, options...)
		list = append(list, c)
	}
	return list
}

// pinned finds the version that follows a prefix in a file.
func pinned(file, prefix string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "?"
	}
	for line := range strings.Lines(string(text)) {
		if after, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return strings.Trim(strings.TrimSpace(after), `",`)
		}
	}
	return "?"
}

// install has each client's steps done, and notes why a client cannot be had.
func install(ctx context.Context, here string, list []client, columns []Column, progress io.Writer) {
	done := map[string]error{}
	for i, c := range list {
		for _, s := range c.needs {
			if _, ok := done[s.name]; !ok {
				fmt.Fprintln(progress, "installing", s.name)
				done[s.name] = s.do(ctx)
			}
			if err := done[s.name]; err != nil {
				fmt.Fprintf(progress, "    %s is not had: %v\n", c.name, err)
				columns[i].NotHad = err.Error()
				break
			}
		}
	}
}

func (s step) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.run[0], s.run[1:]...)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", s.name, err, lines[len(lines)-1])
	}
	return nil
}

// run runs a client's scripts and returns their results. What a runner prints beside
// them goes into a file of work.
func (c client) run(ctx context.Context, bootstrap string, s settings, work string) []script.Result {
	ctx, cancel := context.WithTimeout(ctx, allowance)
	defer cancel()
	args := append(append([]string{"-n", "5"}, c.command...), "--bootstrap", bootstrap, "--script", s.script)
	if s.corrupt {
		args = append(args, "--corrupt")
	}
	cmd := exec.CommandContext(ctx, "nice", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	if log, err := os.Create(filepath.Join(work, strings.ReplaceAll(c.name, " ", "-")+".log")); err == nil {
		defer func() { _ = log.Close() }()
		cmd.Stderr = log
	}
	err := cmd.Run()
	results, bad := read(&out)
	if err == nil {
		err = bad
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("not done after %v", allowance)
	}
	if err != nil {
		results = append(results, script.Result{Script: "(the runner)", Error: err.Error()})
	}
	return results
}

// read reads a runner's output.
func read(out io.Reader) ([]script.Result, error) {
	var results []script.Result
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r script.Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Script == "" {
			return results, fmt.Errorf("not a result: %.200q", lines.Text())
		}
		results = append(results, r)
	}
	return results, lines.Err()
}
