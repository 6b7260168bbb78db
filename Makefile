# Run `make` for a list of targets. Every target can be repeated.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS := bin/tools

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install PostgreSQL and pgvector if they are missing and DATABASE_URL is not set
	@./scripts/setup

.PHONY: build
build: ## build bin/oxbow
	go build -buildvcs=auto -ldflags="-s -w" -o bin/oxbow ./cli/oxbow

.PHONY: build-onnx
build-onnx: ## build bin/oxbow-onnx, which can run embedding models itself (docs/embedding.md); needs a C compiler
	CGO_ENABLED=1 go build -tags onnx -buildvcs=auto -ldflags="-s -w" -o bin/oxbow-onnx ./cli/oxbow

.PHONY: demo
demo: setup build ## set up, build, and show the main features on sample data
	@./scripts/demo

# Packages run one after another: several at once, each with workers and a dozen connections, take many times as long on
# a small machine. Within a package eight tests run at once, because most wait for the database. Linking without
# debugging information (-w) takes half as long and does not change the output of a panic.
TESTFLAGS := -vet=off -ldflags=-w -timeout=60m -p 1 -parallel 8

.PHONY: test
test: ## set up, and run all tests, including lab/, the golden suite and the SDKs (make lint runs go vet)
	@./scripts/setup --for-tests
	@TESTFLAGS='$(TESTFLAGS)' ./scripts/test

# The query modes of pgx, for test-modes.
MODES ?= cache_statement cache_describe describe_exec exec simple_protocol

.PHONY: test-modes
test-modes: ## run the tests of the client, the store, jobs, workers and the server in every query mode (MODES=exec)
	@./scripts/setup --for-tests
	@failed=; for mode in $(MODES); do \
		echo "=== $$mode"; \
		OXBOW_TEST_QUERY_MODE=$$mode go test $(TESTFLAGS) . ./store ./jobs ./worker ./server || failed="$$failed $$mode"; \
	done; echo "failed modes:$${failed:- none}"; [ -z "$$failed" ]

.PHONY: test-sdk
test-sdk: ## test the Python and TypeScript SDKs against "oxbow dev" (SDK="python -k recall" selects)
	@./scripts/setup --for-tests
	@./scripts/test-sdk $(SDK)

# The packages to test with the race detector.
RACE ?= ./...

.PHONY: calls
calls: ## check that tests call every function that only workers may call, with the login of a worker
	@./scripts/setup --for-tests
	calls=$$(mktemp -d) && OXBOW_TEST_CALLS=$$calls go test -count=1 $(TESTFLAGS) . ./documents ./jobs ./server ./worker && \
		go run ./internal/pgtest/pgtestctl calls $$calls

.PHONY: race
race: ## run the tests with the race detector (RACE=./worker selects packages)
	@./scripts/setup --for-tests
	go test -race $(TESTFLAGS) $(RACE)

# The time for each target, and a pattern that selects targets.
FUZZTIME ?= 10m
FUZZ ?= .

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME, one after another (FUZZ=Terms selects targets)
	@./scripts/setup --for-tests
	@./scripts/fuzz $(FUZZTIME) '$(FUZZ)'

.PHONY: fuzz-smoke
fuzz-smoke: ## fuzz every target for 2 seconds, without coverage
	@./scripts/setup --for-tests
	@./scripts/fuzz --blind 2s

# The number of requests that api-fuzz makes for each operation and phase.
EXAMPLES ?= 50

.PHONY: api-fuzz
api-fuzz: ## send requests made from server/openapi.json to "oxbow serve"; no answer may be a 5xx (EXAMPLES=50)
	@./scripts/setup --for-tests
	@./scripts/api-fuzz $(EXAMPLES)

.PHONY: mcp-conformance
mcp-conformance: ## check MCP with its conformance suite and its inspector, which npm installs
	@./scripts/setup --for-tests
	@./scripts/mcp-conformance

.PHONY: deploy-lint
deploy-lint: $(TOOLS)/helm ## check the Dockerfile, compose.yaml, the chart and the units, and run what they run
	@./scripts/setup --for-tests
	@./scripts/deploy-lint

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## check format, common mistakes, comments and imports (.golangci.yaml)
	$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	@if ls lab/*/*.go >/dev/null 2>&1; then cd lab && ../$(TOOLS)/golangci-lint run --allow-parallel-runners ./...; fi

.PHONY: picture
picture: ## generate the picture and the tables in docs/traits.md
	go -C lab run ./docpicture

.PHONY: pictures
pictures: ## write the pictures of the pages to docs/images
	@./scripts/setup --for-tests
	mkdir -p docs/images
	go -C lab test -count=1 ./browser -pictures $(abspath docs/images)

.PHONY: schema
schema: ## write the tables that the migrations create to sql/schema.sql
	@./scripts/setup --for-tests
	@./scripts/schema-dump

.PHONY: erase-rounds
erase-rounds: ## erase users against everything in flight (ROUNDS=200)
	@./scripts/setup --for-tests
	go test -run TestEraseAgainstEverythingInFlight -timeout 2h . -erase.rounds $(ROUNDS)

.PHONY: check
check: ## check that sql/schema.sql is up to date
	@./scripts/setup --for-tests
	@./scripts/schema-dump --check

ROUNDS ?= 200

# The benchmarks to run.
BENCH ?= recall filters load hnsw insert latency fair pipeline import import-v1 queue settle levels reflect extract reconcile serve mcp growth person soak

.PHONY: bench
bench: setup ## run the benchmarks, for hours, and update docs/benchmarks.md (BENCH="recall filters" selects some)
	go -C lab build -o ../bin/bench ./bench
	@for name in $(BENCH); do (cd lab && ../bin/bench -page ../docs/benchmarks.md $$name); done

# The evaluation data is not part of the project.
EVALUATIONS ?= ../shared/data/eval
RECORDS ?= ../shared/data/eval/lifebench-zh.jsonl.gz
PERSONAS ?= ../shared/data/eval/lifebench-zh.personas.json

.PHONY: eval-traits
eval-traits: ## measure which interests of known people become traits: RECORDS=… PERSONAS=…
	@./scripts/setup --for-tests
	go -C lab run ./evaltraits $(abspath $(RECORDS)) $(abspath $(PERSONAS))

.PHONY: quality
quality: ## measure recall with real embedding models, and write docs/quality.md (EVALUATIONS=directory)
	@./scripts/setup --for-tests
	go -C lab run ./quality -page ../docs/quality.md $(abspath $(wildcard $(EVALUATIONS)/*.jsonl $(EVALUATIONS)/*.jsonl.gz))

.PHONY: eval-secrets
eval-secrets: ## measure how many texts of the evaluation data look like secrets (EVALUATIONS=directory)
	go -C lab run ./evalsecrets $(abspath $(wildcard $(EVALUATIONS)/*.jsonl.gz))

.PHONY: quality-model
quality-model: ## run everything that a language model is asked with a small one on 200 messages (QUALITY_MODEL=flags)
	@./scripts/setup --for-tests
	go -C lab run ./evalmodel $(QUALITY_MODEL)

.PHONY: kill-reflect
kill-reflect: ## kill the worker 50 times while it reflects, and compare with an undisturbed run
	@./scripts/setup --for-tests
	OXBOW_KILLS=50 OXBOW_KILL_RECORDS=$(abspath $(RECORDS)) go -C lab test -count=1 -timeout=60m -run TestKilledReflection -v ./kill

.PHONY: kill-extract
kill-extract: ## kill the worker 100 times while it extracts, and compare with an undisturbed run
	@./scripts/setup --for-tests
	OXBOW_KILLS=100 OXBOW_KILL_MESSAGES=10000 go -C lab test -count=1 -timeout=60m -run TestKilledExtraction -v ./kill

.PHONY: kill-embed
kill-embed: ## kill the worker 100 times while it embeds, and compare with an undisturbed run
	@./scripts/setup --for-tests
	OXBOW_KILLS=100 go -C lab test -count=1 -timeout=60m -run TestKilledEmbedding -v ./kill

# make chaos runs SEED, or SEEDS ("1 2 3", "1-20"), or a random seed. MINUTES is the time for each, without recovery.
MINUTES ?= 1

.PHONY: chaos
chaos: ## kill processes and cut connections for MINUTES a seed, then check the database (SEED=7, SEEDS=1-20)
	@./scripts/setup --for-tests
	go build -tags failpoints -o bin/oxbow-failpoints ./cli/oxbow
	go -C lab build -o ../bin/chaosctl ./chaos/chaosctl
	@bin/chaosctl --minutes $(MINUTES) $(SEED) $(SEEDS)

.PHONY: versus
versus: ## measure Oxbow beside other memories on the data sets in EVALUATIONS (VERSUS="-users locomo=2 -rivals mem0")
	@./scripts/setup --for-tests
	go -C lab run ./versus $(VERSUS) $(abspath $(wildcard $(EVALUATIONS)/*.jsonl*))

.PHONY: golden
golden: ## compare what users see with the record (lab/golden; GOLDEN="-only recall", GOLDEN=-update)
	@./scripts/setup --for-tests
	go -C lab run ./golden $(GOLDEN)

.PHONY: golden-eval
golden-eval: ## compare the rankings of the evaluation data too (EVALUATIONS=directory)
	@./scripts/setup --for-tests
	go -C lab run ./golden -eval $(abspath $(EVALUATIONS)) -only rank- $(GOLDEN)

.PHONY: golden-faults
golden-faults: ## plant faults in the database and the program, and check that the golden suite notices each
	@./scripts/setup --for-tests
	go -C lab run ./golden -faults $(GOLDEN)

.PHONY: ci
ci: ## run the checks of continuous integration
	@CI=true ./.ci/run </dev/null

.PHONY: clean
clean: ## stop the tests' PostgreSQL, and delete its data and the built files
	@go run ./internal/pgtest/pgtestctl stop
	rm -rf bin

$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum
	CGO_ENABLED=0 go -C tools build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

# By its version alone: its module cannot share a go.mod with golangci-lint's.
HELM := v4.3.1
$(TOOLS)/helm: Makefile
	CGO_ENABLED=0 GOBIN=$(CURDIR)/$(TOOLS) go install helm.sh/helm/v4/cmd/helm@$(HELM)
	@touch $@
