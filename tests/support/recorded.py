"""Runs that were recorded once: what reads a ledger needs no kernel to be timed for it."""

from __future__ import annotations

from pathlib import Path

_RUNS = Path(__file__).parents[1] / "data" / "runs"
CUBE = _RUNS / "cube"
"""Nine trials of the task of tests/conftest.py at N=4096: a measured one (0) with a confirmation that wins, a rejected one (2),
duplicates of both, invalid ones. Read it, or copy it; it was signed with a key that is gone."""
CUBES = _RUNS / "cubes"
"""Measured, rejected and invalid trials of that task at N=4096 and N=1000, a win and a profile from the clock alone at each."""
