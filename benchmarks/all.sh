#!/bin/sh
# Every figure of docs/figures.md, one after the other, on a machine that does nothing else. About two hours.
set -eu
cd "$(dirname "$0")/.."
py=.venv/bin/python
$py benchmarks/trial_cost.py
$py benchmarks/two_percent.py
$py benchmarks/precision.py
$py benchmarks/aa_false_wins.py
$py benchmarks/best_kernels.py
$py benchmarks/ledger_throughput.py
$py benchmarks/kill_resume.py
$py benchmarks/soft/verifier.py
$py benchmarks/scientist/cuts.py
$py benchmarks/scientist/budget.py
$py benchmarks/scientist/overhead.py
$py benchmarks/memory/simulate.py
$py benchmarks/mcp_speed.py
$py benchmarks/learn/tabular.py
$py benchmarks/study/cpu.py
$py benchmarks/study/miner.py
$py benchmarks/paper/mutations.py
$py benchmarks/paper/speed.py
$py benchmarks/certify/export_speed.py
.venv/bin/klab demo --json | tail -c 300
.venv/bin/klab doctor --gauntlet --json | tail -c 100
