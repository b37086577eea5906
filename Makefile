# Everything builds from locked dependencies into .venv, target/ and out/; nothing outside the clone is touched, except that
# `make setup`, and with it `make test`, installs the Debian packages that the tests need, where it may, and says so before.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# maturin and cargo find each other and the interpreter by the path.
export PATH := $(CURDIR)/$(BIN):$(PATH)

RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
PACKAGES := ns2 chromium fonts-dejavu-core \
	qemu-system-x86 iproute2 bpftool clang llvm libbpf-dev libc6-dev gcc
WITH_DEBIAN := $(shell command -v apt-get)

# Installs what uv.lock has of a group into a virtual environment, by hash: $(call locked,VENV,OPTIONS OF UV EXPORT).
# pip does it, so that its index, certificates and caches are used; uv only reads the lock.
locked = $(1)/bin/pip install --quiet --require-hashes --requirement bootstrap.txt \
	&& $(1)/bin/uv export --quiet --frozen --no-emit-project --no-header $(2) --output-file $(1)/requirements.txt \
	&& $(1)/bin/pip install --quiet --require-hashes --requirement $(1)/requirements.txt

.DEFAULT_GOAL := help
.PHONY: help build demo check check-rust check-python test all-rust all-python test-rust test-python test-linux test-slow test-adapters lint lint-rust lint-python lint-adapters lock format agreement speed speed-core docs-tables prose mutants mutants-all clean
.PHONY: records records-cards records-papers records-trials records-linux records-quic records-agreement records-speed
.PHONY: prose-if-able setup docs release changelog notices web web-if-able linux-objects linux-objects-if-able

help: ## This list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## The Debian packages that tests and wheels need (ns-2, chromium, QEMU, clang), where it may.
	@if [ -n "$(WITH_DEBIAN)" ] && ! dpkg-query --show $(PACKAGES) >/dev/null 2>&1; then \
		if [ "$$(id -u)" = 0 ]; then root=; elif command -v sudo >/dev/null; then root="sudo -n"; else root=false; fi; \
		echo "installing Debian packages: $(PACKAGES)"; \
		{ $$root apt-get -qq update && $$root apt-get -qq install --yes --no-install-recommends $(PACKAGES); } >/dev/null \
			|| echo "could not install them: the tests that need them are skipped"; \
	fi

build: $(VENV)/.built web-if-able ## The program, at .venv/bin/fullpipe.

demo: build ## One table of a paper at full length, then all papers in short: out/report/index.html.
	$(BIN)/fullpipe reproduce hyun-jang/table-1 --out out/demo
	@echo "The congestion windows: out/demo/hyun-jang/table-1/table-1.png"
	$(BIN)/fullpipe reproduce --quick --out out/report
	@echo "Each table and figure, published and measured: out/report/index.html"

check: $(VENV)/.built ## Format, lint, types and unit tests: under a minute once built, and without system packages.
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-rust check-python

check-rust: $(VENV)/.dependencies
	cargo fmt --all --check
	cargo clippy --quiet --workspace --locked -- --deny warnings
	cargo test --quiet --workspace --lib --locked

check-python: $(VENV)/.built
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pytest --quiet --numprocesses=2 --dist=loadfile -m "not slow" tests/unit

test: setup ## Lint, types, and every test.
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target all-rust all-python

# Two lines of work beside each other, so that no core waits for the single-threaded steps of the other.
all-rust: $(VENV)/.dependencies
	@$(MAKE) --no-print-directory lint-rust
	@$(MAKE) --no-print-directory test-rust

all-python: build linux-objects-if-able
	@$(MAKE) --no-print-directory lint-python
	@$(MAKE) --no-print-directory test-python

test-rust: ## The crates' tests.
	cargo test --workspace --locked
	cargo check --package fullpipe-sim --no-default-features --test without_toml --locked

test-python: build linux-objects-if-able ## The package's tests, with agreement with ns-2 (fast subset) and a VM run per eBPF program.
	$(BIN)/pytest --numprocesses=logical --dist=loadfile --no-loadscope-reorder --durations=15 -m "not slow and not slow_linux"

test-linux: build setup linux-objects ## All tests of the Linux engine: measurements, failures of virtual machines.
	$(BIN)/pytest -s tests/linux
	$(BIN)/pytest -s -m slow_linux --ignore=tests/linux

test-slow: build ## The tests that take minutes; those of the adapters too, once they are built.
	$(BIN)/pytest --numprocesses=logical -m slow
	cargo test --package fullpipe-sim --no-default-features --test without_toml --locked
	FULLPIPE_SCENARIOS=2000..20000 cargo test --release --locked --package fullpipe-sim --test any_scenario any_scenario_makes_sense

# The standards are first, because the other cards need their runs.
CARDS := newreno cubic bbr bbr3 prague copa ledbat++ hyun-jang adaptive-aimd ehstcp scalable vegas hstcp \
	tahoe reno bic htcp westwood illinois veno yeah hybla dctcp ledbat compound

# Records: measurements in reports/, each with its build. No test compares the simulator with them.
records: records-cards records-papers records-trials records-quic records-linux records-agreement records-speed ## Re-measure all records in reports/ (many hours).

records-cards: build ## The report cards (some minutes).
	mkdir -p out
	for name in $(CARDS); do \
		$(BIN)/fullpipe evaluate $$name --json > out/card.json && mv out/card.json reports/cards/$$name.json \
			&& $(BIN)/python -m benchmarks.records cards $$name || exit 1; \
	done
	$(BIN)/python docs/tables.py cards.md

records-papers: build ## The papers' results at full length.
	mkdir -p out
	$(BIN)/fullpipe reproduce --json > out/reproduction.json
	$(BIN)/python docs/tables.py --take

records-trials: build ## Measurements that pages name (an hour); docs/trials.py NAME for one.
	$(BIN)/python docs/trials.py
	$(BIN)/python docs/tables.py

records-linux: build setup linux-objects ## Queues, links, and shares on Linux, compared with the simulator (over an hour).
	FULLPIPE_RECORD=1 $(BIN)/pytest -s $(foreach part,queues links bbr loss column duels frames requests,tests/linux/test_$(part).py)
	$(BIN)/python docs/tables.py linux.md evaluate.md bbr.md

records-quic: build ## Controllers of QUIC libraries (Rust 1.95).
	$(BIN)/python -m benchmarks.quic
	CARGO_TARGET_DIR=$(CURDIR)/target $(BIN)/python docs/tables.py quic.md

records-agreement: agreement ## Agreement with ns-2.
	$(BIN)/python docs/tables.py --take

records-speed: speed speed-core ## Packets per second, memory, instructions.
	$(BIN)/python docs/tables.py --take

lint: lint-rust lint-python ## Format, clippy, ruff, mypy, stubs, prose.

lint-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --package fullpipe-cc --package fullpipe-abi --package fullpipe-check --package fullpipe-net --package fullpipe-sim --package fullpipe-kernel --no-deps --locked
	$(PYTHON) docs/rust_examples.py

lint-python: build prose-if-able
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/stubtest --concise fullpipe._core

PROSE := README.md CONTRIBUTING.md SECURITY.md docs reports crates/README.md crates/abi/README.md crates/cc/README.md crates/net/README.md crates/sim/README.md \
	benchmarks/README.md .github/pull_request_template.md
TEXTLINT := prose/node_modules/.bin/textlint --config prose/textlintrc.js --format unix

prose: prose/node_modules/.installed ## Words of pages, help texts, messages, and docstrings, by prose/terms.json (npm).
	$(PYTHON) prose/extract.py
	$(TEXTLINT) $(PROSE) out/prose/strings
	PROSE=docstrings $(TEXTLINT) out/prose/docstrings

prose-if-able:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory prose; else echo "no npm: the prose is not checked"; fi

prose/node_modules/.installed: prose/package-lock.json
	cd prose && npm ci --silent --no-audit --no-fund
	@touch $@

lint-adapters: ## Format and clippy of the adapters, which need a newer Rust and build QUIC libraries, and of the benchmark.
	cd adapters && cargo fmt --all --check && cargo clippy --workspace --all-targets --locked --target-dir ../target -- --deny warnings
	cargo fmt --check --manifest-path benchmarks/engine/Cargo.toml
	cargo clippy --manifest-path benchmarks/engine/Cargo.toml --all-targets --locked --target-dir target -- --deny warnings

test-adapters: build ## The tests of the adapters to QUIC libraries.
	cd adapters && cargo test --locked --target-dir ../target
	cd adapters && cargo build --locked --package fullpipe-quic-library --target-dir ../target
	$(BIN)/pytest tests/integration/test_quic.py

lock: $(VENV)/.dependencies ## Resolve the dependencies of pyproject.toml into uv.lock; versions that are there stay.
	$(BIN)/uv lock

format: $(VENV)/.dependencies ## Format Rust and Python.
	cargo fmt --all
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

linux-objects-if-able:
	@if command -v clang llvm-strip >/dev/null; then $(MAKE) --no-print-directory linux-objects; \
		else echo "no clang: the tests of the eBPF programs are skipped"; fi

linux-objects: ## The eBPF programs and the guest's agent, into python/fullpipe/linux/objects.
	$(MAKE) --quiet --directory bpf
	$(MAKE) --quiet --directory python/fullpipe/linux/guest

web-if-able:
	@if command -v npm >/dev/null && { command -v rustup || test -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)"; } >/dev/null; \
		then $(MAKE) --no-print-directory web; \
		else echo "no npm, or no Rust for wasm32-unknown-unknown: the playground is not built, its tests are skipped"; fi

web: ## The playground, into python/fullpipe/playground/page.html.
	$(MAKE) --quiet --directory web

agreement: build setup ## The whole table of agreement with ns-2.
	$(BIN)/python -m benchmarks.agreement

speed: build setup ## Packets per second, compared with ns-2.
	$(BIN)/python -m benchmarks.speed

speed-core: ## Speed of the engine alone: criterion, instructions per packet (valgrind), large windows, modern queues, controllers.
	cargo bench --locked --manifest-path benchmarks/engine/Cargo.toml --target-dir target
	$(PYTHON) -m benchmarks.speed.instructions
	$(PYTHON) -m benchmarks.speed.windows
	$(PYTHON) -m benchmarks.speed.modern
	$(BIN)/python -m benchmarks.speed.controllers

mutants: build ## Mutation testing: 300 random edits of Python, Rust, and TypeScript (COUNT=, SEED=); fails if tests notice less than 85 %.
	mkdir -p out
	$(BIN)/python tests/mutants/sample.py --count $(or $(COUNT),300) --seed $(or $(SEED),1) --out out/mutants.jsonl --least 0.85

mutants-all: build ## All mutants of some files, by mutmut and cargo-mutants (hours).
	$(BIN)/pip install --quiet mutmut==3.8.1
	rm -rf out/mutants
	mkdir -p out/mutants
	cp -r python out/mutants/src
	cp -r tests scenarios pyproject.toml out/mutants
	cd out/mutants && ../../$(BIN)/mutmut run
	cargo install --quiet --locked --version 26.0.0 cargo-mutants
	cargo mutants --package fullpipe-cc --file 'crates/cc/src/algorithms/*.rs' --output out \
		--cargo-test-arg=--lib --cargo-test-arg=--test=properties --cargo-test-arg=--test=registry
	cargo mutants --package fullpipe-sim --file 'crates/sim/src/engine/figures.rs' --output out/figures \
		--cargo-test-arg=--lib --cargo-test-arg=--test=measuring

docs-tables: build ## Update the outputs in README.md and docs/ (some minutes).
	$(BIN)/python docs/tables.py

docs: build ## The documentation as a site, out/site/html/index.html, and the plot of README.md.
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/site.py
	$(PYTHON) -m venv out/docs-venv
	$(call locked,out/docs-venv,--only-group docs)
	cd out/site && ../docs-venv/bin/zensical build --strict

release: ## A release, from what is committed, tried on every Python here: out/release (HOME_URL=... for links).
	$(PYTHON) -m venv out/release-venv
	$(call locked,out/release-venv,--only-group release)
	out/release-venv/bin/python release/build.py $(if $(HOME_URL),--home "$(HOME_URL)")

changelog: ## Move the files of changes/ into CHANGELOG.md (VERSION=1.2.3).
	$(PYTHON) -m venv out/release-venv
	$(call locked,out/release-venv,--only-group release)
	out/release-venv/bin/towncrier build --yes --version $(VERSION)

notices: ## Update LICENSE-THIRD-PARTY after a change of Cargo.lock.
	$(PYTHON) release/notices.py

clean: ## Remove what was built.
	rm -rf $(VENV) target out web/node_modules web/dist prose/node_modules python/fullpipe/playground/page.html python/fullpipe/_core.*.so .pytest_cache .ruff_cache .mypy_cache
	find python tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.dependencies: uv.lock bootstrap.txt
	$(PYTHON) -m venv $(VENV)
	$(call locked,$(VENV),--group dev)
	@touch $@

$(VENV)/.built: $(VENV)/.dependencies $(RUST_SOURCES)
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@
