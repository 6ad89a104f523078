package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	readyLine = "Transitioning from RECOVERY to RUNNING"
	clusterID = "4L6g3nShT-eMCtK--X86sw"
)

// TestEnvironment is what the module integration/containers does with the image, as
// far as it goes without an engine: the variables of each image's dialect, and what the
// start scripts of harnesses call, make the binary serve, print the line that is waited
// for, and keep its data across kill -9.
func TestEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		env    func(port string) []string
		file   string                       // What the harness mounts or writes, with PORT and DIR.
		before func(file string) [][]string // Commands in front of the server.
		serve  func(file string) []string
		prints string
	}{
		"apache/kafka": {
			env: func(port string) []string {
				return []string{
					"CLUSTER_ID=" + clusterID, "KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller",
					"KAFKA_LISTENERS=HOST://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:0", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER",
					"KAFKA_ADVERTISED_LISTENERS=HOST://127.0.0.1:" + port + ",",
					"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,HOST:PLAINTEXT",
					"KAFKA_INTER_BROKER_LISTENER_NAME=HOST", "KAFKA_CREATE_TOPICS=numbers:1:1",
				}
			},
			serve: func(string) []string { return []string{"serve", "--from-environment"} },
		},
		"confluentinc/cp-kafka by Testcontainers": {
			env: func(port string) []string {
				return []string{
					"CLUSTER_ID=" + clusterID, "KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller",
					"KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER",
					"KAFKA_LISTENERS=PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:0",
					"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "KAFKA_JMX_PORT=9101",
				}
			},
			before: func(file string) [][]string {
				return [][]string{
					{"environment", "--write-config", file},
					{"tool", "kafka-storage", "format", "--ignore-formatted", "-t", clusterID, "-c", file},
				}
			},
			serve:  func(file string) []string { return []string{"serve", "--from-environment", "--config", file} },
			prints: "Formatting metadata directory",
		},
		"bitnami/kafka": {
			env: func(port string) []string {
				return []string{
					"KAFKA_CFG_NODE_ID=0", "KAFKA_CFG_PROCESS_ROLES=controller,broker", "KAFKA_KRAFT_CLUSTER_ID=" + clusterID,
					"KAFKA_CFG_CONTROLLER_QUORUM_VOTERS=0@kafka:9093", "KAFKA_CFG_CONTROLLER_LISTENER_NAMES=CONTROLLER",
					"KAFKA_CFG_LISTENERS=PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:0", "ALLOW_PLAINTEXT_LISTENER=yes",
					"KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
				}
			},
			serve: func(string) []string { return []string{"serve", "--from-environment"} },
		},
		"wurstmeister/kafka": {
			env: func(port string) []string {
				return []string{
					"KAFKA_BROKER_ID=-1", "KAFKA_ADVERTISED_HOST_NAME=127.0.0.1", "KAFKA_ADVERTISED_PORT=" + port, "KAFKA_PORT=" + port,
					"KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181", "KAFKA_CREATE_TOPICS=numbers:1:1",
				}
			},
			serve:  func(string) []string { return []string{"serve", "--from-environment"} },
			prints: "[KafkaServer id=",
		},
		"Strimzi's container": {
			file: "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:PORT,CONTROLLER://127.0.0.1:0\n" +
				"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@localhost:9094\n" +
				"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs=DIR\n",
			before: func(file string) [][]string {
				return [][]string{{"tool", "kafka-storage.sh", "format", "-t=" + clusterID, "-c", file, "--ignore-formatted"}}
			},
			serve:  func(file string) []string { return []string{"tool", "kafka-server-start.sh", file} },
			prints: "Formatting metadata directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMoldau(t)
			m.addr = freeAddr(t)
			_, port, err := net.SplitHostPort(m.addr)
			if err != nil {
				t.Fatal(err)
			}
			if tc.env != nil {
				m.env = append(tc.env(port), "KAFKA_LOG_DIRS="+m.dir)
			}
			file := filepath.Join(t.TempDir(), "server.properties")
			text := strings.NewReplacer("PORT", port, "DIR", filepath.ToSlash(m.dir)).Replace(tc.file)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			start := func(times int) {
				if tc.before != nil {
					for _, args := range tc.before(file) {
						m.call(t, args)
					}
				}
				m.run(t, tc.serve(file))
				m.waitForLine(t, readyLine, times)
			}
			start(1)
			numbers(t, m.addr, 0, 100)
			m.Kill(t)
			start(2)
			numbers(t, m.addr, 100, 200)
			m.Stop(t)
			if log := m.Log(); !strings.Contains(log, tc.prints) || !strings.Contains(log, "broker stopped") {
				t.Errorf("the log lacks %q or the clean end:\n%s", tc.prints, log)
			}
		})
	}
}

// call runs the binary to its end, into the same log.
func (m *Moldau) call(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), m.bin, args...)
	cmd.Env = append(cmd.Environ(), m.env...)
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, m.log.String())
	}
}

// waitForLine waits until the log has a text that many times.
func (m *Moldau) waitForLine(t *testing.T, text string, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyIn)
	defer cancel()
	if err := until(ctx, text, func() bool {
		select {
		case err := <-m.exited:
			m.exited <- err
			t.Fatalf("the broker ended while starting: %v\n%s", err, m.log.String())
		default:
		}
		return strings.Count(m.log.String(), text) == times
	}); err != nil {
		t.Fatalf("%v\n%s", err, m.log.String())
	}
}

// numbers writes the numbers [from, to) and reads all from 0 on.
func numbers(t *testing.T, addr string, from, to int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyIn)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("numbers"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i := from; i < to; i++ {
		cl.Produce(ctx, &kgo.Record{Topic: "numbers", Value: fmt.Append(nil, i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("number %d: %v", i, err)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for next := 0; next < to; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d numbers: %v", next, to, err)
		}
		for _, r := range fetches.Records() {
			if want := fmt.Sprint(next); string(r.Value) != want {
				t.Fatalf("number %d is %q", next, r.Value)
			}
			next++
		}
	}
}
