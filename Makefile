# What a developer types. Every target installs what it lacks, and loses no time the second time.
#
#   make demo    a broker, a real producer and consumer, a kill -9 in the middle: nothing lost
#   make check   format, lint, types, import contracts and the quick tests, in seconds
#   make test    all of that, then every test: real clients, kill loops, simulation; under 20 minutes on 2 cores
#   make bench   every promised figure, measured beside Apache Kafka
#   make lock    requirements.lock anew, from pyproject.toml

BIN := .venv/bin
READY := .venv/.ready
CLIENTS := .cache/clients-ready

.PHONY: demo check style test bench lock

demo: $(READY)
	$(BIN)/python demo/nothing_lost.py

check: style
	$(BIN)/pytest -n 2 -m "not slow and not compat and not kafka"

style: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: style $(CLIENTS)
	$(BIN)/pytest -n 2

bench: $(READY) $(CLIENTS)
	$(BIN)/python -m bench

lock: .cache/lock/bin/uv
	.cache/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --custom-compile-command "make lock" --group dev pyproject.toml -o requirements.lock

$(READY): requirements.lock pyproject.toml scripts/setup.sh
	python=$$(scripts/setup.sh python) && "$$python" -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(CLIENTS): scripts/setup.sh
	scripts/setup.sh clients
	mkdir -p $(@D)
	touch $@

.cache/lock/bin/uv:
	python=$$(scripts/setup.sh python) && "$$python" -m venv .cache/lock
	.cache/lock/bin/pip install --quiet --disable-pip-version-check uv
