# Every target sets up what it needs; the second time that takes a second.
PYTHON ?= python3
BIN := .venv/bin
export JAVA_HOME = $(shell cat .venv/.java-home 2>/dev/null)

.PHONY: setup demo test test-long test-spark check lint golden bench lock clean

setup:
	@$(PYTHON) tools/bootstrap.py

demo: setup  ## the smart-health example: who gets what, and what is withheld
	@$(BIN)/headgate demo

test: setup  ## exactly what CI runs: style, types, tests
	$(BIN)/ruff check --no-cache .  # its cache forgets that a moved module changes how others sort their imports
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	HYPOTHESIS_PROFILE=ci $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not long"

test-long: setup  ## the tests that take minutes
	HYPOTHESIS_PROFILE=ci $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m long

SPARK ?= 4.0.0
OTHER := .venv/spark-$(SPARK)
test-spark: setup  ## the tests that need Spark, on another version of it: make test-spark SPARK=4.0.0
	@test -x $(OTHER)/bin/pytest || ($(BIN)/uv venv -q --python $(BIN)/python $(OTHER) \
		&& $(BIN)/uv pip install -q --python $(OTHER)/bin/python -r requirements.lock \
		&& $(BIN)/uv pip install -q --python $(OTHER)/bin/python pyspark==$(SPARK) \
		&& $(BIN)/uv pip install -q --python $(OTHER)/bin/python --no-deps --no-build-isolation -e .)
	# Early versions leave sockets to the collector, which warns of it.
	$(OTHER)/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not long" -W default tests/spark tests/guard tests/attacks

check: test

lint: setup  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: setup  ## write the golden files anew; review the difference
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests -k golden

bench: setup  ## every benchmark, the quick way; each takes --help
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script --quick || exit 1; done

lock: setup  ## resolve the dependencies again
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--no-emit-index-url --all-extras --group dev --group bench --group build pyproject.toml -o requirements.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
