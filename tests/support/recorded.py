"""Runs that were recorded once, and records made up for tests: what reads a ledger needs no kernel to be timed for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernellab.ledger.records import Calibration

_RUNS = Path(__file__).parents[1] / "data" / "runs"
CUBE = _RUNS / "cube"
"""Nine trials of the task of tests/conftest.py at N=4096: a measured one (0) with a confirmation that wins, a rejected one (2),
duplicates of both, invalid ones. Read it, or copy it; it was signed with a key that is gone."""
CUBES = _RUNS / "cubes"
"""Measured, rejected and invalid trials of that task at N=4096 and N=1000, a win and a profile from the clock alone at each."""
LAB = Path(__file__).parents[2] / "runs" / "lab-cpu"
"""The suite of our own, run on a processor."""
GENESIS: dict[str, Any] = {
    "format": 2,
    "purpose": "search",
    "params": {},
    "settings": {"effort": "quick", "device": "cpu", "seed": 0, "win_floor": 1.01},
    "environment": {"device": "a processor"},
    "task": {"name": "cube", "fingerprint": "ab" * 32, "builtin": True},
    "shapes": [{"N": 8}],
    "candidates": [],
    "missing_baselines": {},
    "files": {},
}
_CALIBRATION: dict[str, Any] = {
    "task": "cube", "dims": {"N": 8}, "bytes": 64, "written": 32, "flops": 16, "threads": 1, "slots": 4,
    "ceilings": {"copy": 1e9, "read": 1e9, "flops": 1e9}, "floor_s": 6.4e-8, "memory_floor_s": 6.4e-8, "bound": "memory",
    "inputs_seed": "00", "conditions": {}, "baselines": {"baseline": [[1.0], [1.0]]}, "failed": {}, "fastest": "baseline",
    "noise_floor": 0.0, "aa": [[1.0], [1.0]], "disturbed": [],
}  # fmt: skip


def calibration(**changes: Any) -> Calibration:
    return Calibration.model_validate({**_CALIBRATION, **changes})
