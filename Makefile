# `make run` and `make test` set up all they need in .venv; a second call installs nothing.
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept: without it every process compiles what it imports anew, a pytest worker for 15 s.
unexport PYTHONDONTWRITEBYTECODE
# Python compiles what it imports; compiling all that is installed takes longer.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
LOCK := $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links --quiet

.PHONY: install run test pytest test-long check docs bench golden lock clean

install: .venv/ready-to-run

run: .venv/ready-to-run
	$(BIN)/cochef run --layout distant_tomato --method hsp fcp --preset quick
	@echo "Who adapts to a person who prefers tomatoes? See the row script:tomato_placement. More: $(BIN)/cochef --help"

# The checks run beside the tests, which do not keep two cores busy all the time.
test: .venv/ready-to-test .venv/browser
	$(MAKE) --no-print-directory --jobs 2 check pytest

# Compiling is most of the work in tests, so they do with programs that compile fast and run slower; long proofs do not.
# Three workers on two cores: games, servers and clusters often wait for their clocks.
# A test that hangs shows where after five minutes.
pytest:
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(BIN)/pytest -n 3 --dist loadscope --no-loadscope-reorder \
		-m "not long" -o faulthandler_timeout=300

check: .venv/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

# The tests behind a proxy need nginx. It is not installed here, as its package starts a server on port 80.
test-long: .venv/ready-to-test .venv/browser
	@PATH="$$PATH:/usr/sbin"; command -v nginx >/dev/null \
		|| echo "nginx is not installed, so the tests in tests/web/test_proxy.py will fail; run: apt-get install nginx"
	$(BIN)/pytest -n 2 -m long -s

docs: .venv/ready-to-test  ## the site, in out/docs; make test builds it, too
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open out/docs/index.html, or serve it with its search: $(BIN)/python -m http.server -d out/docs"

bench: .venv/ready-to-test .venv-peers/ready
	$(BIN)/cochef bench kitchen --peers .venv-peers --out out/bench_kitchen.json
	$(BIN)/cochef bench environments --peers .venv-peers --out out/bench_environments.json
	$(BIN)/cochef bench partners --out out/bench_partners.json
	$(BIN)/cochef bench training --peers .venv-peers --out out/bench_training.json
	$(BIN)/cochef bench kitchen --scaling out/kitchen_speed.png --out out/kitchen_speed.json

golden: .venv/ready-to-test  ## write our own playthroughs anew, checked against the reference engine
	$(BIN)/python -m tests.golden.record

lock: .venv/ready-to-test
	$(PIP) uv
	$(LOCK) --extra envs --extra postgres --extra study --extra web --group dev --output-file locks/dev.txt
	$(LOCK) --extra web --group build --constraint locks/dev.txt --output-file locks/run.txt
	$(LOCK:pyproject.toml=locks/peers.in) --no-deps --constraint locks/dev.txt --output-file locks/peers.txt

.venv/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "CoChef needs Python 3.11 or newer; point PYTHON at one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv-peers/ready: locks/peers.txt locks/reference.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r locks/peers.txt
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--require-hashes -r locks/reference.txt
	@touch $@

.venv/ready-to-run: locks/run.txt pyproject.toml | .venv/created
	$(PIP) --require-hashes -r locks/run.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/ready-to-test: locks/dev.txt locks/reference.txt .venv/ready-to-run
	$(PIP) --require-hashes -r locks/dev.txt
	$(PIP) --no-deps --no-build-isolation --require-hashes -r locks/reference.txt
	@touch $@

# Where it may not be installed, the browser tests fail and name the command.
.venv/browser: | .venv/created
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update --quiet=2 && \
		apt-get install --quiet=2 --yes chromium >/dev/null; } || true
	@if command -v chromium >/dev/null; then touch $@; fi

clean:
	rm -rf .venv .venv-peers out
