# Everything here needs go and git, and no other tool.
PREFIX  ?= $(HOME)/.local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

ifneq ($(filter-out help clean uninstall,$(or $(MAKECMDGOALS),help)),)
  ifeq ($(shell command -v go 2>/dev/null),)
    $(error needs go ≥ 1.26 (https://go.dev/dl))
  endif
  ifeq ($(shell command -v git 2>/dev/null),)
    $(error needs git (https://git-scm.com/downloads))
  endif
  ifeq ($(shell go list -m 2>/dev/null),)
    $(error needs go ≥ 1.26 (https://go.dev/dl); this is $(shell GOTOOLCHAIN=local go env GOVERSION 2>/dev/null), which cannot fetch a newer one)
  endif
endif

.PHONY: help build install uninstall install-runtime install-lang test test-ansible test-crash test-kill test-ledger test-peers test-runs test-runtimes test-systemd test-tree test-scale proof proof-short night fuzz sbom try bench bench-models lint docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-15s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# Functions are compiled without inlining, which takes 1.6 MB of 30, but in the
# libraries and packages whose speed is felt. HTTP/2 is left out too (0.5 MB): a file
# comes over several connections of HTTP/1.1, which every server speaks.
COLD := net net/http/... vendor/golang.org/x/... crypto/tls crypto/x509 encoding/gob encoding/xml encoding/asn1 text/template/... html/template \
  github.com/hashicorp/... github.com/godbus/... github.com/spf13/... github.com/schollz/... oras.land/... \
  github.com/pelletier/... github.com/ulikunitz/... github.com/modelcontextprotocol/... github.com/google/jsonschema-go/... \
  github.com/segmentio/... github.com/yosida95/... golang.org/x/oauth2/... google.golang.org/protobuf/... \
  github.com/cockroachdb/apd/... mvdan.cc/sh/... golang.org/x/net/... golang.org/x/text/... encoding/base64 encoding/csv encoding/hex \
  archive/... container/... context encoding/pem expvar flag go/... html/... io/fs log/... math/big mime/... os/... path/... regexp/syntax testing/... text/... \
  github.com/Masterminds/... github.com/ebitengine/... golang.org/x/sys/... golang.org/x/term/... cuelang.org/go/mod/... cuelang.org/go/internal/mod/... \
  $(addprefix cuelang.org/go/cue/,build errors format load) $(addprefix cuelang.org/go/internal/core/,compile convert debug dep export layer runtime subsume toposort walk) \
  cuelang.org/go/pkg/... cuelang.org/go/encoding/... cuelang.org/go/internal/encoding/... aisync.dev/aisync/...
HOT := $(addprefix aisync.dev/aisync/,adapter adapter/loads adapter/render agents/hook agents/ledger/... agents/roster agents/seat \
  cmd/aisync/quick internal/bundle internal/fetch internal/frontmatter internal/gguf internal/merge/... reconcile/...)

build: ## the binary, as bin/aisync
	@mkdir -p bin && scripts/overlay >bin/overlay.json
	@CGO_ENABLED=0 go build -trimpath -tags nethttpomithttp2 -overlay bin/overlay.json $(COLD:%=-gcflags=%=-l) $(HOT:%=-gcflags=%=) -ldflags '-s -w -funcalign=8 -X aisync.dev/aisync/cmd/aisync/quick.Version=$(VERSION)' -o bin/aisync ./cmd/aisync

install: build ## the binary, its links, completions and man pages, into $(DESTDIR)$(PREFIX)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install

uninstall: ## take away what make install put there
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install --remove

# What a repository of rules offers, done by aisync: docs/bundles.md.
install-runtime: build ## RUNTIME=… [SOURCE=rules] [ARGS=--yes]: rules, skills and hooks for one runtime, in your home
	@AISYNC='$(CURDIR)/bin/aisync' ARGS='$(ARGS)' scripts/install-rules runtime '$(RUNTIME)' '$(SOURCE)'

# LANG is the locale's variable too: only the one of the command line counts.
install-lang: build ## LANG=… PROJECT=… [RUNTIME=claude] [SOURCE=rules] [ARGS=--yes]: a language's rules, in a project
	@AISYNC='$(CURDIR)/bin/aisync' ARGS='$(ARGS)' scripts/install-rules lang '$(or $(RUNTIME),claude)' '$(SOURCE)' \
	  '$(if $(filter command line,$(origin LANG)),$(LANG))' '$(PROJECT)'

test: ## every test (RACE=1: with the race detector; ARGS: more flags for go test; PACKAGES: those alone)
	@$(if $(RACE),GORACE=atexit_sleep_ms=10) go test $(if $(RACE),-race) $(ARGS) $(or $(PACKAGES),./...)

test-kill: ## downloads killed with SIGKILL, KILLS=200 times, and the resume of one of 48 GB
	@AISYNC_KILLS=$(or $(KILLS),200) go test ./internal/fetch -run 'Killed|FortyEight' -count=1 -v -timeout 30m

test-crash: build ## the contract broken at each operation of an apply, in every way, and killed KILLS=300 times; random specs, ROUNDS=400 (FAULTS=PATTERN: only operations that match)
	@AISYNC_TEST_CRASH='$(or $(FAULTS),full)' AISYNC_TEST_KILLS=$(or $(KILLS),300) AISYNC_TEST_BINARY='$(CURDIR)/bin/aisync' \
	  go test -count=1 -v -timeout 60m ./cmd/aisync -run 'FaultAtAnyOperation|SIGKILLIsHarmless|ConcurrentApplies|ConcurrentEdits'
	@AISYNC_TEST_ROUNDS=$(or $(ROUNDS),400) go test -count=1 -v -timeout 30m ./internal/crash
	@AISYNC_TEST_ROUNDS=$(or $(HISTORIES),40) go test -count=1 -v -timeout 30m ./providers/... -run 'PassesProviderSuite|PassProviderSuite'

test-ledger: ## the ledger with 64 processes of 200 operations each, HISTORIES=10000 of claims under kills, and its parsers fuzzed (FUZZ=30s each)
	LEDGER_LONG=1 go test -count=1 -timeout 30m ./agents/ledger
	LEASE_HISTORIES=$(or $(HISTORIES),10000) go test -count=1 -timeout 60m ./agents/lease -run Histories
	for p in $$(go list ./agents/ledger/...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	  go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZ),30s) $$p || exit 1; done; done

test-runs: ## a run of fifty tasks on five workers, whose supervisors are killed at random, KILLS=100 times
	@AISYNC_RUN_KILLS=$(or $(KILLS),100) go test ./agents/supervise -run KilledSupervisors -count=1 -v -timeout 30m

# ARGS=-short is what CI runs: of each program, each part of catalog/proved.json in
# both scopes, beside all other programs, and the tests that take seconds. It leaves
# out: sets of one or two programs, and one scope alone; the person's own files and
# layer; imports, published sources, snapshots and plugins; the agreement with
# "aisync context"; tasks, runs, their questions and sandboxes; how agents take part
# in a project, and two of them in one; roles, keys and headers; folders below the
# root; effects that others committed; the questions of codex about hooks; denied
# reads. What is left out is printed, and is proved by the whole form alone, which
# make night runs.
# LATEST=1 runs the tests with the newest versions in npm, and prints what changed
# against the evidence (bin/newest.md; ARGS=-write: docs/newest.md too).
test-runtimes: build ## real agent programs out of npm (3 GB, once) load what aisync wrote for them (LATEST=1: their newest versions)
	@export AISYNC_TEST_RUNTIMES='$(CURDIR)/bin/aisync'; \
	  $(if $(LATEST),go run ./scripts/newest $(ARGS),go test -json -count=1 -timeout 120m ./internal/realcli $(ARGS) | go run ./scripts/testsum -skips .ci/skips -alone 'go test -count=2 -timeout 20m')

test-peers: build ## rulesync and ruler out of npm, and aisync: what seven agent programs load of the files that each generates (docs/peers.md; ARGS=-update writes it)
	@AISYNC_TEST_RUNTIMES='$(CURDIR)/bin/aisync' AISYNC_TEST_PEERS=1 \
	  go test -count=1 -v -timeout 40m ./internal/realcli -run Peers $(ARGS)

test-tree: build ## TREE=DIR: what agent programs load of a project whose files any tool wrote (docs/peers.md says with which marks)
	@test -n '$(TREE)' || { echo 'which? make test-tree TREE=DIR' >&2; exit 2; }
	@AISYNC_TEST_RUNTIMES='$(CURDIR)/bin/aisync' AISYNC_TEST_TREE='$(abspath $(TREE))' go test -count=1 -timeout 20m ./internal/realcli -run 'TestTree$$'

test-systemd: ## services under the real user manager of systemd, in a control group of its own (root; skipped where that cannot be)
	@AISYNC_TEST_SYSTEMD=1 scripts/test-systemd env GOCACHE="$$(go env GOCACHE)" GOMODCACHE="$$(go env GOMODCACHE)" \
	  go test -count=1 -parallel 1 -run 'Systemd|Systemctl' $(ARGS) ./cmd/aisync ./providers/service/control

test-offline: build ## a laptop on a plane: real ollama and agents (built and fetched once) without a network, and doctor on all that can go wrong
	@export AISYNC_TEST_OFFLINE='$(CURDIR)/bin/aisync'; \
	  go test -json -count=1 -timeout 30m ./internal/offline $(ARGS) | go run ./scripts/testsum -skips .ci/skips -alone 'go test -count=2 -timeout 20m'

test-ansible: build ## ansible-core plays packaging/ansible over sshd, on five machines that are namespaces (root; ARGS=-short: one machine)
	@export AISYNC_TEST_ANSIBLE='$(CURDIR)/bin/aisync'; \
	  go test -json -count=1 -timeout 20m ./internal/ansible $(ARGS) | go run ./scripts/testsum -skips .ci/skips -alone 'go test -count=2 -timeout 20m'

# As root, with Debian's docker-registry, iproute2 and curl; skipped where they lack.
test-scale: build ## 50 machines as network namespaces fetch models: bytes over the uplink and time, with a registry and without (docs/scale.md)
	@AISYNC_TEST_SCALE='$(CURDIR)/bin/aisync' go test -count=1 -v -timeout 20m ./internal/scale $(ARGS)

proof: build ## every guarantee of docs/guarantees.md, proved at length (about half an hour on two cores), and the table there made anew
	@AISYNC_TEST_BINARY='$(CURDIR)/bin/aisync' go run ./scripts/proof -full -fuzz $(or $(FUZZ),5s)

# What CI tries in its short form, in its long one.
night: test-kill test-crash test-ledger test-runs proof ## all that takes hours: kills, faults, the ledger, runs, printed commands, plays of Ansible, every guarantee
	@AISYNC_TEST_PRINTED=full go test -count=1 -timeout 30m ./cmd/aisync -run TestPrintedCommandsWork
	@AISYNC_TEST_PODMAN=1 go test -count=1 -timeout 30m ./cmd/aisync -run 'TestSandbox(NeverSaysAlone|SeesAgentsByTheirKeepers)/podman'
	@AISYNC_TEST_WAYS=full $(MAKE) test-runtimes
	@$(MAKE) test-peers
	@$(MAKE) test-ansible
	@$(MAKE) test-scale
	@$(MAKE) test RACE=1 PACKAGES=./cmd/aisync ARGS='-count=1 -timeout 60m'

proof-short: ## the same in the short form of each test; the table is checked, not written
	@go run ./scripts/proof

fuzz: ## each reader of foreign bytes fuzzed, FUZZ=10m each
	@go run ./scripts/proof -fuzz-only -fuzz $(or $(FUZZ),10m)

sbom: build ## the bill of materials of the binary, CycloneDX, as bin/aisync.cdx.json
	@go run ./scripts/sbom bin/aisync >bin/aisync.cdx.json

try: build ## a real session in a scratch folder, checked step by step (KEEP=1 keeps the folder)
	@scripts/try

bench: build ## time, memory and fsyncs against bare loops on this machine
	@go run ./scripts/bench $(ARGS)

bench-models: ## fetching 2 GiB over loopback, against curl, aria2 and openssl where they are installed
	@go run ./scripts/benchmodels $(ARGS)

lint: ## gofmt, vet, and vet for macOS
	@test -z "$$(gofmt -l .)" || { gofmt -l . | sed 's/^/not formatted: /'; exit 1; }
	@go vet ./...
	@GOOS=darwin go vet ./...

docs: build ## docs/commands.md, docs/adapters.md and the man pages (bin/docs/man1)
	@mkdir -p bin/docs && env -u AISYNC_OFFLINE -u AISYNC_LOCKED bin/aisync gen-docs bin/docs && cp bin/docs/*.md docs/

clean: ## remove what make built
	@rm -rf bin dist
