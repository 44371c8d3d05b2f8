"""What several shapes come to together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.ledger.records import Judged, Unpublished
from kernellab.search.outcome import Outcome, default_folder

FACTS: dict[str, Any] = {"task": "cube", "dims": {"N": 8}, "dtype": "float32", "threads": 1, "reason": "why"}
VERIFIED = Judged(
    **FACTS, status="verified", trial=0, cases=3, max_abs_err=0.0, max_ulp=0.5, budget_ulp=5.0, deterministic=True
)
NOTHING = Unpublished(**FACTS, status="nothing-verified", trial=None)
BUSY = Unpublished(**FACTS, status="busy", trial=None)


@pytest.mark.parametrize(
    ("results", "status", "code"),
    [((VERIFIED,), "verified", 0), ((NOTHING,), "nothing-verified", 4), ((NOTHING, VERIFIED), "verified", 0),
     ((BUSY, VERIFIED), "busy", 7)],
)  # fmt: skip
def test_the_best_of_the_shapes_speaks_for_all(results: tuple[Any, ...], status: str, code: int) -> None:
    outcome = Outcome(Path("run"), "T1", "native", "root", results)
    assert (outcome.status, outcome.exit_code, outcome.data()["status"]) == (status, code, status)


def test_a_folder_of_its_own_for_every_run(tmp_path: Path) -> None:
    first = default_folder("cube", tmp_path)
    first.mkdir()
    assert default_folder("cube", tmp_path) != first
