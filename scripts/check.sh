#!/bin/sh
# Style, types and layering: what must hold before a test is worth running.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/ruff check src tests benchmarks
.venv/bin/ruff format --check src tests benchmarks
.venv/bin/mypy
.venv/bin/lint-imports
