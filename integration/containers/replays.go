package containers

import (
	"fmt"
	"maps"
	"strings"
)

// replay is how a module of Testcontainers, in a language that these tests do not
// speak, starts Kafka's image: it overrides the command with a loop that waits for
// a script, copies the script in once it knows the mapped port, and waits for a
// line of the log.
type replay struct {
	env        map[string]string
	entrypoint []string // Nil leaves the image's.
	command    []string
	port       string // The port that is mapped, for clients outside.
	script     string // Where it is copied to.
	mode       int64
	// body is the script, given the mapped HOST:PORT, the container's host name and
	// its address.
	body func(mapped, hostname, ip string) string
	// byUser says that a shell in the container writes the script, as its user.
	byUser bool
	waits  string // A regular expression.
	prints string // By the tools that the script calls; empty where it calls none.
}

// loop is the command that waits for a script and runs it.
func loop(test, script, runs string) string {
	return fmt.Sprintf("while [ ! %s %s ]; do sleep 0.1; done; %s", test, script, runs)
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

// common are the variables that nearly all of them set.
func common(more map[string]string) map[string]string {
	env := map[string]string{
		"KAFKA_BROKER_ID":                                "1",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         "1",
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":             "1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "1",
		"KAFKA_LOG_FLUSH_INTERVAL_MESSAGES":              "9223372036854775807",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":         "0",
		"KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE":         "false",
	}
	maps.Copy(env, more)
	return env
}

// kraft are the variables of a node that is its own controller. Clients come to
// the listener PLAINTEXT at port, others of its containers to BROKER.
func kraft(port, broker string) map[string]string {
	return common(map[string]string{
		"CLUSTER_ID":                           "4L6g3nShT-eMCtK--X86sw",
		"KAFKA_NODE_ID":                        "1",
		"KAFKA_PROCESS_ROLES":                  "broker,controller",
		"KAFKA_CONTROLLER_LISTENER_NAMES":      "CONTROLLER",
		"KAFKA_CONTROLLER_QUORUM_VOTERS":       "1@localhost:9094",
		"KAFKA_LISTENERS":                      "BROKER://0.0.0.0:" + broker + ",CONTROLLER://0.0.0.0:9094,PLAINTEXT://0.0.0.0:" + port,
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"KAFKA_INTER_BROKER_LISTENER_NAME":     "BROKER",
	})
}

// zookeeper are the variables of a broker of before 4.0.
func zookeeper(port, broker string) map[string]string {
	return common(map[string]string{
		"KAFKA_LISTENERS":                      "PLAINTEXT://0.0.0.0:" + port + ",BROKER://0.0.0.0:" + broker,
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
		"KAFKA_INTER_BROKER_LISTENER_NAME":     "BROKER",
	})
}

const (
	kraftReady = `Transitioning from RECOVERY to RUNNING`
	started    = `Kafka Server started`
	zkReady    = `\[KafkaServer id=\d+\] started`

	formatted   = "Formatting metadata directory"
	noZooKeeper = "no ZooKeeper was started"
)

// startZooKeeper is how scripts of before 4.0 start a ZooKeeper in the container.
var startZooKeeper = lines(
	"echo 'clientPort=2181' > zookeeper.properties",
	"echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties",
	"echo 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties",
	"zookeeper-server-start zookeeper.properties &",
	"export KAFKA_ZOOKEEPER_CONNECT='localhost:2181'",
)

// formatInConfigure is how they let configure format the data directory.
var formatInConfigure = lines(
	"sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure",
	`echo 'kafka-storage format --ignore-formatted -t "4L6g3nShT-eMCtK--X86sw" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure`,
)

func advertise(mapped, broker string) string {
	return "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://" + mapped + ",BROKER://" + broker + "\n"
}

// java are the three modules of testcontainers-java: for Apache's image, for
// Confluent's, and the older one for Confluent's.
func java() map[string]replay {
	const script = "/tmp/testcontainers_start.sh"
	wait := []string{"sh", "-c", loop("-f", script, script)}
	modern := func(run string) replay {
		return replay{
			env: kraft("9092", "9093"), command: wait, port: "9092/tcp", script: script, mode: 0o777, waits: kraftReady,
			body: func(mapped, hostname, _ string) string {
				return "#!/bin/bash\n" + advertise(mapped, hostname+":9093") + run + "\n"
			},
		}
	}
	older := func(env map[string]string, waits, first, prints string) replay {
		return replay{
			env: env, entrypoint: wait[:1], command: wait[1:], port: "9093/tcp", script: script, mode: 0o777, waits: waits,
			prints: prints,
			body: func(mapped, hostname, _ string) string {
				return "#!/bin/bash\n" + advertise(mapped, hostname+":9092") + first +
					"echo '' > /etc/confluent/docker/ensure\n/etc/confluent/docker/run\n"
			},
		}
	}
	return map[string]replay{
		"java apache/kafka":                     modern("/etc/kafka/docker/run"),
		"java confluentinc/cp-kafka":            modern("/etc/confluent/docker/run"),
		"java before 1.20, KRaft":               older(kraft("9093", "9092"), kraftReady, formatInConfigure, formatted),
		"java before 1.20, ZooKeeper":           older(zookeeper("9093", "9092"), zkReady, startZooKeeper, noZooKeeper),
		"node confluentinc/cp-kafka, plaintext": older(kraft("9093", "9092"), kraftReady, "", ""),
	}
}

// python is testcontainers-python's module, of which the script says where the
// broker is by hostname -i.
func python() map[string]replay {
	const script = "/tc-start.sh"
	of := func(env map[string]string, waits, first, prints string) replay {
		return replay{
			env: env, command: []string{"sh", "-c", loop("-f", script, "sh "+script)}, port: "9093/tcp",
			script: script, mode: 0o644, waits: waits, prints: prints,
			body: func(mapped, _, _ string) string {
				return "#!/bin/bash\n" + first + advertise(mapped, "$(hostname -i):9092") +
					". /etc/confluent/docker/bash-config\n/etc/confluent/docker/configure\n/etc/confluent/docker/launch\n"
			},
		}
	}
	env := kraft("9093", "9092")
	env["CLUSTER_ID"] = "MkU3OEVBNTcwNTJENDM2Qk"
	return map[string]replay{
		"python KRaft":     of(env, started, formatInConfigure, formatted),
		"python ZooKeeper": of(zookeeper("9093", "9092"), zkReady, startZooKeeper, noZooKeeper),
	}
}

// dotnet is testcontainers-dotnet's module. What it advertises ends with a comma.
func dotnet() map[string]replay {
	const script = "/testcontainers.sh"
	of := func(run string) replay {
		return replay{
			env: kraft("9092", "9093"), entrypoint: []string{"/bin/sh", "-c"}, command: []string{loop("-f", script, script)},
			port: "9092/tcp", script: script, mode: 0o755, waits: kraftReady,
			body: func(mapped, _, ip string) string {
				return "#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://" + mapped + ",BROKER://" + ip + ":9093,\nexec " + run + "\n"
			},
		}
	}
	return map[string]replay{
		".NET apache/kafka":          of("/etc/kafka/docker/run"),
		".NET confluentinc/cp-kafka": of("/etc/confluent/docker/run"),
	}
}

// rust is testcontainers-rs's module for Apache's image: the image's own user
// writes the script, beside Kafka.
func rust() map[string]replay {
	const script = "/opt/kafka/testcontainers_start.sh"
	return map[string]replay{"rust apache/kafka": {
		env: kraft("9092", "9093"), entrypoint: []string{"bash"},
		command: []string{"-c", loop("-f", script, "chmod 755 "+script+" && "+script)},
		port:    "9092/tcp", script: script, byUser: true, waits: started,
		body: func(mapped, _, _ string) string {
			return "#!/usr/bin/env bash\n" + advertise(mapped, "localhost:9093") + "/etc/kafka/docker/run \n"
		},
	}}
}

// strimzi is Strimzi's test container: it brings a server.properties and calls
// Kafka's scripts from the working directory. The mode of its script is decimal 700,
// which lets the group run it and not the owner.
func strimzi() map[string]replay {
	const script = "/testcontainers_start.sh"
	return map[string]replay{"strimzi": {
		command: []string{"sh", "-c", loop("-x", script, script)},
		port:    "9092/tcp", script: script, mode: 700, waits: kraftReady, prints: formatted,
		body: func(mapped, hostname, _ string) string {
			const file = "/opt/kafka/config/kraft/server.properties"
			return "#!/bin/bash\ncat > " + file + " <<EOF\n" + lines(
				"process.roles=broker,controller", "node.id=1", "broker.id=1",
				"listeners=PLAINTEXT://0.0.0.0:9092,BROKER1://0.0.0.0:9091,CONTROLLER://0.0.0.0:9094",
				"advertised.listeners=PLAINTEXT://"+mapped+",BROKER1://"+hostname+":9091",
				"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BROKER1:PLAINTEXT,CONTROLLER:PLAINTEXT",
				"inter.broker.listener.name=BROKER1", "controller.listener.names=CONTROLLER",
				"controller.quorum.voters=1@localhost:9094", "log.dirs=/tmp/default-log-dir",
				"offsets.topic.replication.factor=1", "group.initial.rebalance.delay.ms=0",
			) + "EOF\n" +
				"bin/kafka-storage.sh format -t=\"4L6g3nShT-eMCtK--X86sw\" -c " + file + "\n" +
				"bin/kafka-server-start.sh " + file + "\n"
		},
	}}
}

// replays are all of them, by name.
func replays() map[string]replay {
	out := map[string]replay{}
	for _, some := range []map[string]replay{java(), python(), dotnet(), rust(), strimzi()} {
		maps.Copy(out, some)
	}
	return out
}
