# The two commands of the README, and what a contributor needs. Each does its own set-up in .venv.
.PHONY: demo test test-heavy test-all setup check format gauntlet bench mutants clean

demo: setup
	.venv/bin/klab demo

# What Python compiles is kept: each worker imports the same tests, and hundreds of processes the same package.
unexport PYTHONDONTWRITEBYTECODE

# Two tests at a time, and no worker idle at the end: kernels are timed in pairs, so a busy second core costs tests time, not their outcome.
WORKERS ?= 2

test:
	sh scripts/setup.sh dev
	sh scripts/check.sh
	.venv/bin/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST)

# With the whole gauntlet (make test draws a sample of it and says its seed) and all tests that are marked heavy or slow.
test-all:
	$(MAKE) test PYTEST="--all $(PYTEST)"

# All heavy tests and nothing else, 23 minutes on two cores: make test takes one in six, so a change may break one unseen.
test-heavy:
	$(MAKE) test PYTEST="--heavy-share 1 -m 'heavy and not slow' $(PYTEST)"

setup:
	sh scripts/setup.sh run

check:
	sh scripts/setup.sh dev
	sh scripts/check.sh

format:
	.venv/bin/ruff format src tests benchmarks
	.venv/bin/ruff check --fix src tests benchmarks

gauntlet: setup
	.venv/bin/klab doctor --gauntlet

# How many small changes to the source the tests notice; a fixed sample, an hour on two cores. MUTANTS="measurement/bench" for some.
mutants:
	sh scripts/setup.sh dev
	.venv/bin/python -m tests.mutants.run $(MUTANTS)

bench: setup
	sh benchmarks/all.sh

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache
