# Run `make` to see what there is. Every target can be repeated.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS := bin/tools

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install PostgreSQL and pgvector where they are missing (nothing to do with DATABASE_URL set)
	@./scripts/setup

.PHONY: build
build: ## build bin/oxbow
	go build -buildvcs=auto -ldflags="-s -w" -o bin/oxbow ./cli/oxbow

.PHONY: demo
demo: setup build ## set up, build, and run the main job on sample data
	@./scripts/demo

# One package after another: with several at once, each with workers and a dozen connections, the tests took many
# times as long on a short machine. Within a package, eight tests run at once, because most wait for the database.
# No debugging information is linked (-w): that takes half as long, and what a panic prints is the same.
TESTFLAGS := -vet=off -ldflags=-w -timeout=60m -p 1 -parallel 8

.PHONY: test
test: ## set up, and run all tests, those of lab/ and the golden suite too (make lint runs go vet)
	@./scripts/setup --for-tests
	go test $(TESTFLAGS) ./...
	go -C lab test $(TESTFLAGS) ./...
	go -C lab run ./golden

# Which packages are tested with the race detector.
RACE ?= ./...

.PHONY: race
race: ## run the tests with the race detector (RACE=./worker: only some)
	@./scripts/setup --for-tests
	go test -race $(TESTFLAGS) $(RACE)

# How long each target is fuzzed, and which (a pattern).
FUZZTIME ?= 10m
FUZZ ?= .

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME, one after another, and print what each did (FUZZ=Terms: only some)
	@./scripts/setup --for-tests
	@./scripts/fuzz $(FUZZTIME) '$(FUZZ)'

.PHONY: fuzz-smoke
fuzz-smoke: ## run every target for 2 seconds, without regard to what is reached
	@./scripts/setup --for-tests
	@./scripts/fuzz --blind 2s

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## check format, common mistakes, comments and imports (.golangci.yaml)
	$(TOOLS)/golangci-lint run ./...
	@if ls lab/*/*.go >/dev/null 2>&1; then cd lab && ../$(TOOLS)/golangci-lint run ./...; fi

.PHONY: picture
picture: ## draw the picture in docs
	go -C lab run ./docpicture

.PHONY: schema
schema: ## dump what the migrations make to sql/schema.sql
	@./scripts/setup --for-tests
	@./scripts/schema-dump

.PHONY: check
check: ## check that sql/schema.sql is up to date
	@./scripts/setup --for-tests
	@./scripts/schema-dump --check

# BENCH="recall filters": only these.
BENCH ?= recall filters load hnsw insert latency pipeline import import-v1 queue settle reflect extract growth soak

.PHONY: bench
bench: setup ## measure into docs/benchmarks.md, for hours (BENCH="recall filters": only these)
	go -C lab build -o ../bin/bench ./bench
	@for name in $(BENCH); do (cd lab && ../bin/bench -page ../docs/benchmarks.md $$name); done

# Where the evaluation data lies, which is not part of the project.
RECORDS ?= ../shared/data/eval/lifebench-zh.jsonl.gz
PERSONAS ?= ../shared/data/eval/lifebench-zh.personas.json

.PHONY: eval-traits
eval-traits: ## measure which interests of known people the traits see: RECORDS=… PERSONAS=…
	@./scripts/setup --for-tests
	go -C lab run ./evaltraits $(abspath $(RECORDS)) $(abspath $(PERSONAS))

.PHONY: kill-reflect
kill-reflect: ## kill the worker 50 times during a reflection on RECORDS, and compare with an undisturbed run
	@./scripts/setup --for-tests
	OXBOW_KILLS=50 OXBOW_KILL_RECORDS=$(abspath $(RECORDS)) go -C lab test -count=1 -timeout=60m -run TestKilledReflection -v ./kill

.PHONY: kill-extract
kill-extract: ## kill the worker 100 times during an extraction from 10,000 messages, and compare with an undisturbed run
	@./scripts/setup --for-tests
	OXBOW_KILLS=100 OXBOW_KILL_MESSAGES=10000 go -C lab test -count=1 -timeout=60m -run TestKilledExtraction -v ./kill

.PHONY: kill-embed
kill-embed: ## kill the worker 100 times while it embeds, and compare with an undisturbed run
	@./scripts/setup --for-tests
	OXBOW_KILLS=100 go -C lab test -count=1 -timeout=60m -run TestKilledEmbedding -v ./kill

# What make chaos runs: SEED (one), or SEEDS ("1 2 3", "1-20"); none: one at random. How long each, without the healing.
MINUTES ?= 1

.PHONY: chaos
chaos: ## kill, cut, delay and confuse for MINUTES a seed, and check what is left (SEED=7, SEEDS=1-20)
	@./scripts/setup --for-tests
	go build -tags failpoints -o bin/oxbow-failpoints ./cli/oxbow
	go -C lab build -o ../bin/chaosctl ./chaos/chaosctl
	@bin/chaosctl --minutes $(MINUTES) $(SEED) $(SEEDS)

.PHONY: golden
golden: ## compare what users see with what was recorded (lab/golden; GOLDEN="-only recall", GOLDEN=-update)
	@./scripts/setup --for-tests
	go -C lab run ./golden $(GOLDEN)

# Where the evaluation data lies, which is not part of the project.
EVALUATIONS ?= ../shared/data/eval

.PHONY: golden-eval
golden-eval: ## compare also what recall ranks on the evaluation data (EVALUATIONS=directory)
	@./scripts/setup --for-tests
	go -C lab run ./golden -eval $(abspath $(EVALUATIONS)) -only rank- $(GOLDEN)

.PHONY: golden-faults
golden-faults: ## plant faults in the database and the program, and check that the golden suite notices each
	@./scripts/setup --for-tests
	go -C lab run ./golden -faults $(GOLDEN)

.PHONY: ci
ci: ## what continuous integration runs
	@CI=true ./.ci/run </dev/null

.PHONY: clean
clean: ## stop the tests' PostgreSQL, delete its data and what was built
	@go run ./internal/pgtest/pgtestctl stop
	rm -rf bin

$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum
	CGO_ENABLED=0 go -C tools build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@
