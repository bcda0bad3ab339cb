# make demo   sets everything up and anonymizes a table of synthetic hospital discharges into demo/
# make test   sets everything up and runs the test suite; make test-all also what takes minutes by itself
# make demo-spark   the same story on Spark, from a folder to a folder, in demo-spark/

PYTHON ?= python3
SHOAL_DATA ?= $(wildcard $(abspath ../shared/data))
export SHOAL_DATA
# What is imported once is kept compiled, whatever the machine says: parsing all of it takes each process two seconds.
export PYTHONDONTWRITEBYTECODE :=
QUASI := oshpd_id,age_yrs,sex,ethncty,race,patzip,patcnty,los,adm_qtr

.PHONY: setup browser java demo demo-spark test test-all lint bench torture figures docs tables lock clean
.DEFAULT_GOAL := demo

setup: .venv/ready

# What installs: by uv, or by pip where uv cannot. Each file lists all that is needed, with versions and hashes.
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile
INSTALL = .venv/bin/uv pip install --quiet --python .venv --no-deps --require-hashes -r $(1) || $(PIP) --require-hashes -r $(1)

# What a user needs. Debian's own python3 comes without venv: fetch it when it is missing and we may.
.venv/user: requirements/install.txt requirements/run.txt pyproject.toml studies/pyproject.toml
	@$(PYTHON) -m venv .venv 2>/dev/null || { rm -rf .venv; \
	  apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && $(PYTHON) -m venv .venv; } || { \
	  echo "Could not create .venv: install Python 3.11 or newer with its venv module (Debian: apt-get install python3-venv)." >&2; exit 1; }
	$(PIP) --require-hashes -r requirements/install.txt
	$(call INSTALL,requirements/run.txt)
	$(PIP) --no-build-isolation -e . -e studies
	@touch $@

# And what a developer needs besides.
.venv/ready: .venv/user requirements/dev.txt
	$(call INSTALL,requirements/dev.txt)
	@touch $@

# The pages' tests open them in a browser: fetch Debian's when there is none and we may; without it they are skipped.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; done; \
	[ "$$(id -u)" = 0 ] && apt-get update -qq >/dev/null 2>&1 && \
	  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || \
	  echo "No Chromium: the tests that open pages are skipped (Debian: apt-get install chromium)." >&2

# Spark needs Java 17 or newer, in the same way.
java:
	@command -v java >/dev/null && exit 0; \
	[ "$$(id -u)" = 0 ] && apt-get update -qq >/dev/null 2>&1 && \
	  apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null 2>&1 || \
	  echo "No Java: what runs on Spark is skipped (Debian: apt-get install openjdk-17-jre-headless)." >&2

demo: .venv/user
	.venv/bin/shoal demo -o demo

demo-spark: setup java
	rm -rf demo-spark
	.venv/bin/shoal sample discharges --rows 400000 --seed 7 -o demo-spark/discharges
	.venv/bin/shoal risk demo-spark/discharges --quasi $(QUASI) --engine 'spark:master=local[2]'
	.venv/bin/shoal anonymize demo-spark/discharges -o demo-spark/release --quasi $(QUASI) --confidential charge --k 5 \
	  --engine 'spark:master=local[2]'
	.venv/bin/shoal check demo-spark/release --certificate demo-spark/release/_certificate.json \
	  --engine 'spark:master=local[2]'

# Kernels are compiled once, before the tests' processes start; else each would compile them for itself.
.venv/warm: .venv/ready $(wildcard src/shoal/kernels/*.py)
	.venv/bin/shoal warm-up --quiet
	@touch $@

# Two processes share the cores: with threads of Polars besides, they would wait for each other.
test: .venv/warm browser java
	POLARS_MAX_THREADS=1 .venv/bin/python -m pytest

test-all: .venv/warm browser java
	.venv/bin/python -m pytest -m "" --hypothesis-profile=all --cov

lint: setup
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

torture: setup java  # MINUTES=30; goes on from where the last run stopped
	.venv/bin/python -m torture --minutes $(or $(MINUTES),30)

figures: setup  # of the torture, into the documents
	.venv/bin/python -m torture --figures docs/limits.md

bench: setup
	.venv/bin/python -m benchmarks

# The guides' tables of methods, measures, formats ... from the catalogues.
tables: setup
	.venv/bin/python -m scripts.tables

docs: setup
	.venv/bin/python -m sphinx -E -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Versions move only where a dependency asks for it (or with UPGRADE=--upgrade); those of a user are among a developer's.
COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url $(UPGRADE)
lock: setup
	$(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra plot --extra ui -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) --group install -c requirements/dev.txt -o requirements/install.txt

clean:
	rm -rf .venv demo demo-spark docs/_build dist build .pytest_cache .mypy_cache .ruff_cache
