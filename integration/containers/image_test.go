package containers

import (
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
	"github.com/twmb/franz-go/pkg/kadm"
)

// counter counts what is written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// The image is under 20 MB compressed.
func TestSize(t *testing.T) {
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer docker.Close()
	tar, err := docker.ImageSave(t.Context(), []string{imageName()})
	if err != nil {
		t.Fatal(err)
	}
	defer tar.Close()
	var size counter
	packed := gzip.NewWriter(&size)
	if _, err := io.Copy(packed, tar); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes compressed", size.n)
	if size.n < 1_000_000 || size.n >= 20_000_000 {
		t.Errorf("the image has %d bytes compressed, want less than 20,000,000 and more than none", size.n)
	}
}

// Both images become healthy by themselves, with nothing configured, as their own
// user and as one that nobody knows, and have Kafka's tools.
func TestHealthy(t *testing.T) {
	for _, image := range []string{imageName(), imageName() + "-scratch"} {
		for _, user := range []string{"", "4321:4321"} {
			t.Run(image+" as "+user, func(t *testing.T) {
				c := run(t, testcontainers.WithImage(image), testcontainers.WithWaitStrategy(wait.ForHealthCheck()),
					testcontainers.WithConfigModifier(func(cfg *container.Config) {
						if user != "" {
							cfg.User = user
						}
					}))
				produce(t, inside(t, c)+":9092", "numbers", 0, 10)
				consume(t, inside(t, c)+":9092", "numbers", 10)
				out, code := in(t, c, "moldau", "tool", "kafka-topics", "--bootstrap-server", "localhost:9092", "--list")
				if code != 0 || !strings.HasSuffix(out, "numbers\n") {
					t.Errorf("kafka-topics printed %q (exit code %d), want numbers at last", out, code)
				}
			})
		}
	}
}

// What people and compose files do with a shell in the image works.
func TestShell(t *testing.T) {
	c := run(t, testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
	for command, want := range map[string]string{
		"hostname -i | cut -d. -f4 | grep -c .":                            "1\n",
		"printf 'a\\nb\\n' > /tmp/x && sed -i /a/d /tmp/x && cat /tmp/x":   "b\n",
		"/usr/bin/env bash -c 'x=(1 2 3); [[ ${#x[@]} == 3 ]] && echo ok'": "ok\n",
		"sleep 0.1 && pwd":                             "/opt/kafka\n",
		"id -u; id -g":                                 "1000\n0\n",
		"echo x >> /etc/confluent/docker/ensure":       "",
		"touch /opt/kafka/config/x /etc/kafka/x":       "",
		"grep ^listeners= /etc/kafka/kafka.properties": "listeners=PLAINTEXT://:9092\n",
		"moldau topics list -b localhost:9092 | wc -l": "1\n",
	} {
		if out, code := in(t, c, "sh", "-c", command); code != 0 || out != want {
			t.Errorf("%s: printed %q and exit code %d, want %q", command, out, code, want)
		}
	}
}

// What the variables of each dialect ask for is served.
func TestDialects(t *testing.T) {
	for name, tc := range map[string]struct {
		env   map[string]string
		files []testcontainers.ContainerFile
		nodes int32
		parts int // Of a topic made by a client.
	}{
		"bitnami": {
			env: map[string]string{
				"KAFKA_CFG_NODE_ID": "0", "KAFKA_CFG_PROCESS_ROLES": "controller,broker", "KAFKA_CFG_NUM_PARTITIONS": "4",
				"KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": "0@kafka:9093", "ALLOW_PLAINTEXT_LISTENER": "yes",
				"KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER", "KAFKA_CFG_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
				"KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
			},
			nodes: 0, parts: 4,
		},
		"a mounted file and a variable over it": {
			env: map[string]string{"KAFKA_NUM_PARTITIONS": "5"},
			files: []testcontainers.ContainerFile{{
				Reader:            strings.NewReader("node.id=7\nnum.partitions=2\nlisteners=PLAINTEXT://:9092\n"),
				ContainerFilePath: "/mnt/shared/config/server.properties", FileMode: 0o644,
			}},
			nodes: 7, parts: 5,
		},
		"what is unknown, and what is for a JVM": {
			env: map[string]string{
				"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_JMX_PORT": "9101", "KAFKA_NO_SUCH_KEY": "1", "KAFKA_HEAP_OPT": "-Xmx1g",
				"KAFKA_NUM_PARTITIONS": "3",
			},
			nodes: 1, parts: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := run(t, testcontainers.WithEnv(tc.env), testcontainers.WithFiles(tc.files...),
				testcontainers.WithWaitStrategy(wait.ForLog(ready).AsRegexp()))
			adm := kadm.NewClient(connect(t, inside(t, c)+":9092"))
			if _, err := adm.CreateTopic(t.Context(), -1, -1, nil, "t"); err != nil {
				t.Fatal(err)
			}
			topics, err := adm.ListTopics(t.Context(), "t")
			if err != nil || len(topics["t"].Partitions) != tc.parts {
				t.Errorf("%d partitions (%v), want %d", len(topics["t"].Partitions), err, tc.parts)
			}
			meta, err := adm.BrokerMetadata(t.Context())
			if err != nil || !slices.Equal(meta.Brokers.NodeIDs(), []int32{tc.nodes}) {
				t.Errorf("nodes %v (%v), want %d", meta.Brokers.NodeIDs(), err, tc.nodes)
			}
		})
	}
}

// What asks for security ends the container with a line that names the variable or
// the setting.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		says string
	}{
		"users of bitnami": {map[string]string{"KAFKA_CLIENT_USERS": "alice"}, "KAFKA_CLIENT_USERS asks for users with passwords (SASL)"},
		"a JAAS file": {
			map[string]string{"KAFKA_OPTS": "-Djava.security.auth.login.config=/etc/kafka/kafka_server_jaas.conf"},
			"KAFKA_OPTS asks for a JAAS file",
		},
		"a secured listener": {
			map[string]string{"KAFKA_LISTENERS": "SASL_SSL://:9092", "KAFKA_ADVERTISED_LISTENERS": "SASL_SSL://kafka:9092"},
			"this release serves PLAINTEXT only",
		},
		"an authorizer": {
			map[string]string{"KAFKA_AUTHORIZER_CLASS_NAME": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
			"authorizer.class.name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := run(t, testcontainers.WithEnv(tc.env), testcontainers.WithWaitStrategy(wait.ForExit()))
			state, err := c.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if log := logOf(t, c); state.ExitCode == 0 || !strings.Contains(log, tc.says) {
				t.Errorf("exit code %d, want another; the log is\n%s\nwithout %q", state.ExitCode, log, tc.says)
			}
		})
	}
}
