# Every target in one line; "make" alone prints them. The floors of tests that
# the names speak of are described in docs/CONTRIBUTING.md.

GO       ?= go
DATA     ?= data
LISTEN   ?= localhost:9092
FUZZTIME ?= 10s
LINES    ?= 1000000
BROKER   ?= moldau
SCALE    ?= 0.25
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The control has nothing that it does otherwise on purpose.
STRICT := $(if $(filter apache,$(BROKER)),--strict)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/moldau and bin/moldau-compat
	@mkdir -p bin
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: run
run: build ## build and serve on localhost:9092, data in ./data (LISTEN, DATA)
	bin/moldau serve --listen $(LISTEN) --data-dir $(DATA)

.PHONY: test
test: ## every package's tests; needs nothing but Go
	$(GO) test ./...

.PHONY: race
race: ## the same with the race detector and the costly invariants
	$(GO) test -race -tags invariants ./...

.PHONY: lint
lint: ## go vet, then golangci-lint (built from source the first time: minutes)
	$(GO) vet ./...
	$(GO) tool -modfile=.ci/tools.mod golangci-lint run -c .ci/golangci.yml ./...

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (10s) each
	FUZZTIME=$(FUZZTIME) .ci/fuzz

.PHONY: processes
processes: ## the built binary as processes: real clients, kill -9, restarts
	cd integration && $(GO) test -count=1 ./...

# image/build has the version from its environment, whoever calls it.
image integration: export VERSION := $(VERSION)

.PHONY: image
image: ## the container image, moldau:dev, and moldau:dev-scratch without a shell; needs an engine
	image/build

.PHONY: integration
integration: ## the image in containers: Testcontainers, compose, kills, restarts; starts an engine if none answers
	.ci/docker --else integration/containers/processes integration/containers/run

.PHONY: cross
cross: ## compile for linux, darwin and windows on amd64 and arm64
	.ci/cross

.PHONY: cover
cover: ## test coverage by function, bin/cover.out
	@mkdir -p bin
	$(GO) test -coverprofile=bin/cover.out ./...
	$(GO) tool cover -func=bin/cover.out | tail -1

.PHONY: bench
bench: ## this broker, the floor, kfake and Apache Kafka in turn; writes docs/benchmarks.md (SCALE=1: longer)
	.ci/bench --scale $(SCALE)

.PHONY: benchstat
benchstat: ## Go benchmarks, six runs; REF=main compares with that commit
	.ci/benchstat $(REF)

.PHONY: suite
suite: build ## every scenario of the compatibility suite; BROKER=apache: strictly; HOST:PORT: another broker
	.ci/with-broker $(BROKER) sh -c 'bin/moldau-compat --bootstrap $$BOOTSTRAP $${RESTART:+--restart "$$RESTART"} $(STRICT)'

.PHONY: suite-reports
suite-reports: ## the suite on this broker, Apache Kafka and kfake; writes docs/reports/0005-suite* and docs/compat.md
	.ci/suite-reports

.PHONY: franz-go
franz-go: build ## franz-go's own test suite (BROKER as for suite)
	compat/franz-go/run $(BROKER)

.PHONY: confluent-kafka-go
confluent-kafka-go: build ## confluent-kafka-go's own tests, both protocols of groups; needs cgo (BROKER as for suite)
	compat/confluent-kafka-go/run $(BROKER)

.PHONY: segmentio
segmentio: build ## kafka-go's own tests, on localhost:9092 (BROKER=apache: the control)
	compat/segmentio/run $(BROKER)

.PHONY: clients
clients: build ## the same scripts through many Kafka clients, and the control; writes docs/reports/0005-clients.md
	cd compat/clients && $(GO) run . --markdown ../../docs/reports/0005-clients.md --json .work/clients.json moldau apache

.PHONY: nightly
nightly: ## the long floors: lint, race, fuzz 5m each, power cuts, hostile input, LINES through every client, suites, bench
	LINES=$(LINES) .ci/nightly

.PHONY: apache-kafka
apache-kafka: ## the control: fetch Apache Kafka 4.2 and serve on 127.0.0.1:19092
	compat/apache/control start

.PHONY: apache-kafka-stop
apache-kafka-stop: ## stop the control
	compat/apache/control stop

.PHONY: apache-tools
apache-tools: ## Apache's command-line tools, into .apache/bin
	compat/apache/control tools
