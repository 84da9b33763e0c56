# Two commands: `make parity` runs the probes on the recorded reference, `make test` runs
# everything that must be green. Both need only make and Python (or uv), and build .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The uv on the PATH; without one, a private copy from the package index.
UV := $(or $(shell command -v uv 2>/dev/null),.bootstrap/bin/uv)

.PHONY: parity test format lock reports kills clean

parity: $(VENV)/.runtime
	$(BIN)/parity run

test: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/parity report --results reports --check
	$(BIN)/python -m pytest -n 2

format: $(VENV)/.dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# Measures every claim on the recorded reference and publishes the result.
reports: $(VENV)/.dev
	$(BIN)/parity run --results reports
	$(BIN)/parity schema > reports/records.schema.json
	$(BIN)/audit schema > audits/cartpole/summary.schema.json

# Seeds the faults that the published matrix lacks, or that meet other claims by now.
kills: $(VENV)/.dev
	$(BIN)/parity sensitivity --results reports --missing

lock: $(UV)
	$(UV) pip compile -q --universal --python-version 3.11 --custom-compile-command "make lock" \
	  pyproject.toml -o requirements/runtime.txt
	$(UV) pip compile -q --universal --python-version 3.11 --custom-compile-command "make lock" \
	  --extra dev -c requirements/runtime.txt pyproject.toml -o requirements/dev.txt

clean:
	rm -rf $(VENV) .bootstrap build *.egg-info

.bootstrap/bin/uv:
	$(PYTHON) -m venv .bootstrap
	.bootstrap/bin/python -m pip install -q uv

$(VENV)/pyvenv.cfg: | $(UV)
	$(UV) venv -q --python "$(or $(UV_PYTHON),>=3.11,<3.14)" $(VENV)

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml $(VENV)/pyvenv.cfg | $(UV)
	$(UV) pip install -q --compile-bytecode --python $(BIN)/python -r requirements/runtime.txt
	$(UV) pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime | $(UV)
	$(UV) pip install -q --compile-bytecode --python $(BIN)/python -r requirements/dev.txt
	touch $@
