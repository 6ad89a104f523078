package environment

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moldau-broker/moldau/broker"
)

func TestNames(t *testing.T) {
	for variable, want := range map[string]string{
		"KAFKA_NODE_ID": "node.id",
		// Two underscores are one, three a dash; a dash itself stays.
		"KAFKA_LISTENER_NAME_SASL__SSL_SSL_KEY":                         "listener.name.sasl_ssl.ssl.key",
		"KAFKA_LISTENER_NAME_TC___0_SSL_KEY":                            "listener.name.tc-0.ssl.key",
		"KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-256_SASL_JAAS_CONFIG":     "listener.name.secure.scram-sha-256.sasl.jaas.config",
		"KAFKA_LISTENER_NAME_SECURE_SCRAM___SHA___512_SASL_JAAS_CONFIG": "listener.name.secure.scram-sha-512.sasl.jaas.config",
		// Every KAFKA_ goes, not only the first.
		"KAFKA_MY_KAFKA_THING": "my.thing",
		"KAFKA_":               "",
	} {
		if got := settingName(variable); got != want {
			t.Errorf("%s: %q, want %q", variable, got, want)
		}
	}
	for variable, want := range map[string]string{
		"KAFKA_CFG_NUM_PARTITIONS":                                       "num.partitions",
		"KAFKA_CFG_LISTENER_NAME_SASL_SSL_SCRAM___X":                     "listener.name.sasl_ssl.scram...x",
		"KAFKA_CFG_LISTENER_NAME_SASL_PLAINTEXT_SASL_ENABLED_MECHANISMS": "listener.name.sasl_plaintext.sasl.enabled.mechanisms",
	} {
		if got := bitnamiName(variable); got != want {
			t.Errorf("%s: %q, want %q", variable, got, want)
		}
	}
}

// The variables are those of the images' own compose files and of the modules of
// Testcontainers; what must come of each is what their images make of it.
func TestRead(t *testing.T) {
	logs := map[string]string{"log.dirs": "/var/lib/kafka/data"}
	with := func(more map[string]string, base ...map[string]string) map[string]string {
		out := maps.Clone(logs)
		for _, b := range base {
			maps.Copy(out, b)
		}
		maps.Copy(out, more)
		return out
	}
	for name, tc := range map[string]struct {
		environ []string
		src     Source // Without Environ.
		want    Start
	}{
		"nothing": {want: Start{Settings: with(packaged())}},
		"no variable of Kafka's": {
			environ: []string{"PATH=/bin", "HOME=/", "broken", "MY_KAFKA_NODE_ID=3"},
			want:    Start{Settings: with(packaged())},
		},
		"one variable drops what is packed, and the listeners follow": {
			environ: []string{"KAFKA_NUM_PARTITIONS=3"},
			want:    Start{Settings: with(map[string]string{"num.partitions": "3", "listeners": "PLAINTEXT://:9092"})},
		},
		"listeners from what is advertised": {
			environ: []string{"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://broker:9092,V6://[::1]:9093,HOST://localhost:19092,"},
			want: Start{Settings: with(map[string]string{
				"advertised.listeners": "PLAINTEXT://broker:9092,V6://[::1]:9093,HOST://localhost:19092,",
				"listeners":            "PLAINTEXT://0.0.0.0:9092,V6://0.0.0.0:9093,HOST://0.0.0.0:19092,",
			})},
		},
		"apache's single node": {
			environ: []string{
				"CLUSTER_ID=4L6g3nShT-eMCtK--X86sw", "KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller",
				"KAFKA_LISTENERS=CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092", "KAFKA_LOG_DIRS=/tmp/kraft-combined-logs",
			},
			want: Start{ClusterID: "4L6g3nShT-eMCtK--X86sw", Settings: map[string]string{
				"node.id": "1", "process.roles": "broker,controller", "log.dirs": "/tmp/kraft-combined-logs",
				"listeners": "CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092",
			}},
		},
		"a mounted file, and a variable over it": {
			environ: []string{"KAFKA_NUM_PARTITIONS=3"},
			src:     Source{File: map[string]string{"num.partitions": "2", "listeners": "PLAINTEXT://:1", "log.dir": "/d"}},
			want:    Start{Settings: map[string]string{"num.partitions": "3", "listeners": "PLAINTEXT://:1", "log.dir": "/d"}},
		},
		"a mounted file alone": {
			src:  Source{File: map[string]string{"num.partitions": "2"}},
			want: Start{Settings: with(map[string]string{"num.partitions": "2", "listeners": "PLAINTEXT://:9092"})},
		},
		"bitnami's mounted file turns the variables off": {
			environ: []string{"KAFKA_CFG_NUM_PARTITIONS=3", "KAFKA_NUM_PARTITIONS=3"},
			src: Source{
				File: map[string]string{"num.partitions": "2"}, FileAlone: true,
				Mounts: []string{"/var/lib/kafka/data", "/bitnami/kafka"},
			},
			want: Start{Settings: map[string]string{"num.partitions": "2", "listeners": "PLAINTEXT://:9092", "log.dirs": "/bitnami/kafka/data"}},
		},
		"variables of the JVM and of scripts": {
			environ: []string{
				"KAFKA_HEAP_OPTS=-Xmx1g", "KAFKA_JMX_PORT=9101", "KAFKA_JMX_HOSTNAME=localhost", "KAFKA_OPTS=-Dx=y",
				"KAFKA_REST_HOST_NAME=rest", "KAFKA_VERSION=4.0", "KAFKA_LOG4J_LOGGERS=kafka=WARN", "KAFKA_GC_LOG_OPTS=", "CONFLUENT_SUPPORT_X=1",
			},
			want: Start{Settings: with(packaged())},
		},
		"a typo of an old image is a setting, if an unknown one": {
			environ: []string{"KAFKA_HEAP_OPT=-Xmx1g"},
			want:    Start{Settings: with(map[string]string{"heap.opt": "-Xmx1g", "listeners": "PLAINTEXT://:9092"})},
		},
		"bitnami, over the same by its common name": {
			environ: []string{
				"KAFKA_CFG_NODE_ID=0", "KAFKA_NODE_ID=5", "KAFKA_CFG_LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093",
				"ALLOW_PLAINTEXT_LISTENER=yes", "KAFKA_ENABLE_KRAFT=yes", "KAFKA_KRAFT_CLUSTER_ID=abc", "KAFKA_EXTRA_FLAGS=-x",
			},
			want: Start{ClusterID: "abc", Settings: with(map[string]string{
				"node.id": "0", "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
			})},
		},
		"wurstmeister": {
			environ: []string{
				"KAFKA_ADVERTISED_HOST_NAME=kafka", "KAFKA_ADVERTISED_PORT=19092", "KAFKA_BROKER_ID=-1",
				"KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181", "KAFKA_CREATE_TOPICS=Upload:1:1, Seen:3:1:compact,plain",
			},
			want: Start{
				Topics: []broker.Topic{
					{Name: "Upload", Partitions: 1, Replicas: 1},
					{Name: "Seen", Partitions: 3, Replicas: 1, Configs: map[string]string{"cleanup.policy": "compact"}},
					{Name: "plain"},
				},
				Settings: with(map[string]string{
					"advertised.listeners": "PLAINTEXT://kafka:19092", "listeners": "PLAINTEXT://:9092",
					"broker.id": "-1", "zookeeper.connect": "zookeeper:2181",
				}),
			},
		},
		"the old name gives way to advertised.listeners": {
			environ: []string{"KAFKA_ADVERTISED_HOST_NAME=old", "KAFKA_ADVERTISED_LISTENERS=IN://new:9092"},
			want: Start{Settings: with(map[string]string{
				"advertised.listeners": "IN://new:9092", "listeners": "IN://0.0.0.0:9092",
			})},
		},
		"the old name takes the listener that there is": {
			environ: []string{"KAFKA_ADVERTISED_HOST_NAME=old", "KAFKA_LISTENERS=INSIDE://:9094"},
			want: Start{Settings: with(map[string]string{
				"advertised.listeners": "INSIDE://old:9092", "listeners": "INSIDE://:9094",
			})},
		},
		"topics one a line": {
			environ: []string{"KAFKA_CREATE_TOPICS=a:2\n b::1\n", "KAFKA_CREATE_TOPICS_SEPARATOR=\n"},
			want: Start{
				Topics:   []broker.Topic{{Name: "a", Partitions: 2}, {Name: "b", Replicas: 1}},
				Settings: with(packaged()),
			},
		},
		"a level": {
			environ: []string{"KAFKA_LOG4J_ROOT_LOGLEVEL=WARN"},
			want:    Start{LogLevel: "warn", Settings: with(packaged())},
		},
		"a level that there is not": {
			environ: []string{"KAFKA_LOG4J_ROOT_LOGLEVEL=LOUD"},
			want: Start{
				Settings: with(packaged()),
				Warnings: []string{"KAFKA_LOG4J_ROOT_LOGLEVEL=LOUD is none of TRACE, DEBUG, INFO, WARN, ERROR, FATAL and OFF; the level is INFO"},
			},
		},
		"Kubernetes' service links": {
			environ: []string{
				"KAFKA_PORT=tcp://10.0.0.1:9092", "KAFKA_PORT_9092_TCP=tcp://10.0.0.1:9092", "KAFKA_PORT_9092_TCP_ADDR=10.0.0.1",
				"KAFKA_SERVICE_HOST=10.0.0.1", "KAFKA_SERVICE_PORT=9092", "KAFKA_UI_SERVICE_PORT_HTTP=80",
			},
			want: Start{
				Settings: with(packaged()),
				Warnings: []string{"Kubernetes sets KAFKA_PORT, KAFKA_PORT_9092_TCP, KAFKA_PORT_9092_TCP_ADDR, KAFKA_SERVICE_HOST, " +
					"KAFKA_SERVICE_PORT, KAFKA_UI_SERVICE_PORT_HTTP for a service called kafka; they are no settings and are passed over " +
					"(enableServiceLinks: false in the pod takes them out)"},
			},
		},
		"an old port is not one of Kubernetes": {
			environ: []string{"KAFKA_PORT=9095", "KAFKA_ADVERTISED_HOST_NAME=h"},
			want: Start{Settings: with(map[string]string{
				"port": "9095", "advertised.listeners": "PLAINTEXT://h:9095", "listeners": "PLAINTEXT://:9095",
			})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.src.Environ = tc.environ
			got, err := Read(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A listener for clients that is bound to loopback is warned about, with the line
// that mends it, under the name by which it was set.
func TestBoundToLoopback(t *testing.T) {
	const why = " is bound to loopback: no published port and no other container reaches it, " +
		"unless the container has its host's network; to be reached, set "
	for name, tc := range map[string]struct {
		src  Source
		want []string
	}{
		"the example of Docker Hub": {
			Source{Environ: []string{
				"KAFKA_LISTENERS=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
				"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER",
			}},
			[]string{"PLAINTEXT://localhost:9092" + why + "KAFKA_LISTENERS=PLAINTEXT://:9092,CONTROLLER://localhost:9093"},
		},
		"two of three, of bitnami": {
			Source{Environ: []string{"KAFKA_CFG_LISTENERS=A://127.0.0.1:1,B://:2,C://[::1]:3"}},
			[]string{"A://127.0.0.1:1,C://[::1]:3" + why + "KAFKA_CFG_LISTENERS=A://:1,B://:2,C://:3"},
		},
		"a mounted file": {
			Source{File: map[string]string{"listeners": "PLAINTEXT://localhost:9092"}},
			[]string{"PLAINTEXT://localhost:9092" + why + "listeners=PLAINTEXT://:9092"},
		},
		"the controller's alone, by another name": {
			Source{Environ: []string{"KAFKA_LISTENERS=ctl://localhost:9093,IN://kafka:9092", "KAFKA_CONTROLLER_LISTENER_NAMES=CTL"}}, nil,
		},
		"between brokers, as of confluent-local": {
			Source{Environ: []string{"KAFKA_LISTENERS=PLAINTEXT://localhost:29092,CONTROLLER://localhost:29093,PLAINTEXT_HOST://0.0.0.0:9092"}}, nil,
		},
		"between brokers is right, for clients is not": {
			Source{Environ: []string{"KAFKA_LISTENERS=IN://kafka:29092,OUT://localhost:9092", "KAFKA_INTER_BROKER_LISTENER_NAME=IN"}},
			[]string{"OUT://localhost:9092" + why + "KAFKA_LISTENERS=IN://kafka:29092,OUT://:9092"},
		},
		"told, not bound": {Source{Environ: []string{"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092"}}, nil},
		"every interface": {Source{Environ: []string{"KAFKA_LISTENERS=A://0.0.0.0:1,B://[::]:2,C://:3"}}, nil},
		"nothing":         {Source{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			start, err := Read(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, start.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDataDir(t *testing.T) {
	for name, tc := range map[string]struct{ mountinfo, want string }{
		"nothing mounted":      {"", "/var/lib/kafka/data"},
		"the image's volume":   {"36 35 0:5 / /var/lib/kafka/data rw - ext4 /dev/a rw", "/var/lib/kafka/data"},
		"a user's beside it":   {"36 35 0:5 / /var/lib/kafka/data rw - x a rw\n37 35 0:5 / /tmp/kraft-combined-logs rw - x a rw\n", "/tmp/kraft-combined-logs"},
		"bitnami's":            {"37 35 0:5 / /bitnami/kafka rw - x a rw", "/bitnami/kafka/data"},
		"a space in a name":    {`37 35 0:5 / /bitnami/kafka\040x rw - x a rw`, "/var/lib/kafka/data"},
		"a line that is short": {"37 35", "/var/lib/kafka/data"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := dataDir(mountPoints(tc.mountinfo)); got != tc.want {
				t.Errorf("data directory %s, want %s", got, tc.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		environ []string
		want    []string // Each part of the error.
	}{
		"users of bitnami":          {[]string{"KAFKA_CLIENT_USERS=u"}, []string{"KAFKA_CLIENT_USERS", "SASL", "take the variable out"}},
		"passwords from a file":     {[]string{"KAFKA_CLIENT_PASSWORDS_FILE=/run/p"}, []string{"KAFKA_CLIENT_PASSWORDS_FILE", "SASL"}},
		"encryption of bitnami":     {[]string{"KAFKA_TLS_TYPE=JKS"}, []string{"KAFKA_TLS_TYPE", "TLS"}},
		"a JAAS file":               {[]string{"KAFKA_OPTS=-Djava.security.auth.login.config=/j.conf"}, []string{"KAFKA_OPTS", "JAAS"}},
		"a topic without a name":    {[]string{"KAFKA_CREATE_TOPICS=:3"}, []string{"KAFKA_CREATE_TOPICS", "the name is empty", "orders:3:1:compact"}},
		"a topic of no partition":   {[]string{"KAFKA_CREATE_TOPICS=a:0"}, []string{"0 is not a number from 1 on"}},
		"a topic of a large number": {[]string{"KAFKA_CREATE_TOPICS=a:1:70000"}, []string{"70000 is not a number"}},
		"a topic of five parts":     {[]string{"KAFKA_CREATE_TOPICS=a:1:1:compact:x"}, []string{"more than four parts"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(Source{Environ: tc.environ})
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q, want %q in it", err, part)
				}
			}
		})
	}
	if _, err := Read(Source{Environ: []string{"KAFKA_CLIENT_USERS="}}); err != nil {
		t.Errorf("an empty variable: %v", err)
	}
	if _, err := Read(Source{Environ: []string{"KAFKA_TLS_TYPE=PEM"}}); !errors.As(err, new(*SecurityError)) {
		t.Errorf("%v is no SecurityError", err)
	}
}
