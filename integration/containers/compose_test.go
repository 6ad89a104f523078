package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Each compose file of folder compose comes up, serves this machine and another
// container, by Kafka's tools in it, keeps its data while it is down, and leaves
// nothing behind.
func TestCompose(t *testing.T) {
	for name, tc := range map[string]struct {
		broker string   // The service.
		topics []string // That are there from the start, as kafka-topics describes them.
		parts  int      // Of a topic that is made by whoever writes to it first.
	}{
		"docker-compose.yml": {broker: "kafka", topics: []string{"numbers 1", "latest 3"}, parts: 1},
		"apache.yml":         {broker: "broker", parts: 1},
		"file-input.yml":     {broker: "kafka", parts: 3},
		"confluent.yml":      {broker: "broker", parts: 1},
		"bitnami.yml":        {broker: "kafka", parts: 2},
		"wurstmeister.yml":   {broker: "kafka", topics: []string{"UploadFile 1", "Seen 3"}, parts: 1},
		"debezium.yml": {
			broker: "kafka", topics: []string{"my_connect_configs 1", "my_connect_offsets 25", "my_connect_statuses 5"}, parts: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // Most of it is waiting for the engine.
			p := newProject(t, name)
			p.do(t, "up", "-d")
			p.healthy(t, tc.broker)
			for _, topic := range tc.topics {
				p.waitForTopic(t, topic)
			}
			p.tool(t, "kafka-topics --bootstrap-server $BOOTSTRAP --create --if-not-exists --topic numbers --partitions 1")
			produce(t, p.addr, "numbers", 0, 100)
			consume(t, p.addr, "numbers", 100)
			p.tool(t, "echo 100 | kafka-console-producer --bootstrap-server $BOOTSTRAP --topic numbers")
			read := p.tool(t, "kafka-console-consumer --bootstrap-server $BOOTSTRAP --topic numbers --from-beginning "+
				"--max-messages 101 --timeout-ms 30000")
			if lines := strings.Fields(read); len(lines) != 101 || lines[0] != "0" || lines[100] != "100" {
				t.Errorf("another container read %q, want the numbers 0 to 100", lines)
			}
			p.tool(t, "echo 1 | kafka-console-producer --bootstrap-server $BOOTSTRAP --topic made-by-its-writer")
			p.waitForTopic(t, fmt.Sprint("made-by-its-writer ", tc.parts))

			p.do(t, "down")
			p.do(t, "up", "-d")
			p.healthy(t, tc.broker)
			consumeAs(t, p.addr, "numbers", "after", 101)
			p.do(t, "down", "-v")
			if left := p.engine(t, "volume", "ls", "-q") + p.engine(t, "ps", "-aq"); left != "" {
				t.Errorf("down -v left %q", left)
			}
		})
	}
}

// project is a compose file that runs under a name of its own.
type project struct {
	name, addr string
	command    []string
	env        []string
}

// newProject makes a project, which ends with the test. The test is skipped where
// there is no compose.
func newProject(t *testing.T, file string) *project {
	t.Helper()
	compose := []string{"docker", "compose"}
	if exec.Command("docker", "compose", "version").Run() != nil {
		need(t, "docker-compose")
		compose = []string{"docker-compose"}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(free.Addr().String())
	free.Close()
	if err != nil {
		t.Fatal(err)
	}
	p := &project{
		name: "moldau" + port, addr: "localhost:" + port,
		env: []string{"PORT=" + port, "MOLDAU_IMAGE=" + imageName()},
	}
	p.command = append(compose, "-f", "../compose/"+file, "-p", p.name)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := p.run(context.Background(), "logs", "--no-color")
			t.Logf("logs of %s:\n%s", file, out)
		}
		if out, err := p.run(context.Background(), "down", "-v", "-t", "0"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return p
}

func (p *project) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programIn)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.command[0], append(p.command[1:], args...)...)
	cmd.Env = append(cmd.Environ(), p.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), nil
}

// do has compose do something, and returns what it printed.
func (p *project) do(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.run(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// engine asks the engine about what belongs to the project.
func (p *project) engine(t *testing.T, args ...string) string {
	t.Helper()
	args = append(args, "--filter", "label=com.docker.compose.project="+p.name)
	out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// tool runs a line of shell in the container of the service beside the broker.
func (p *project) tool(t *testing.T, line string) string {
	t.Helper()
	out, err := p.exec(t, line)
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

func (p *project) exec(t *testing.T, line string) (stdout string, err error) {
	t.Helper()
	id := strings.TrimSpace(p.engine(t, "ps", "-q", "--filter", "label=com.docker.compose.service=service"))
	out, err := exec.CommandContext(t.Context(), "docker", "exec", id, "sh", "-c", line).Output()
	if x, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, x.Stderr)
	}
	return string(out), err
}

// healthy waits until the engine calls a service healthy.
func (p *project) healthy(t *testing.T, service string) {
	t.Helper()
	eventually(t, service+" to be healthy", func() bool {
		return p.engine(t, "ps", "-q", "--filter", "health=healthy", "--filter", "label=com.docker.compose.service="+service) != ""
	})
}

// waitForTopic waits until a topic is there with a number of partitions: "NAME PARTITIONS".
func (p *project) waitForTopic(t *testing.T, want string) {
	t.Helper()
	name, parts, _ := strings.Cut(want, " ")
	eventually(t, "the topic "+want, func() bool {
		out, err := p.exec(t, "kafka-topics --bootstrap-server $BOOTSTRAP --describe --topic "+name)
		return err == nil && strings.Contains(out, "PartitionCount: "+parts+"\t")
	})
}

// eventually waits for something that others do.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	end := time.NewTimer(readyIn)
	defer end.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-end.C:
			t.Fatalf("waited %v for %s", readyIn, what)
		case <-again.C:
		}
	}
}
