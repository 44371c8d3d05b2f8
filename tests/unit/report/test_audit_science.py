"""What the scientist wrote into a run, held against the trials that stand there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE
from tests.support.resign import resigned

from kernellab.report.audit import audit

ONE = {"value": 1.0, "low": 1.0, "high": 1.0}
PREDICTED = {
    "hypothesis": "h", "change": "c", "gain_low": 1.1, "gain_high": 1.3, "risk": "r", "refuted_if": "f",
}  # fmt: skip
TESTED: dict[str, Any] = {
    "generation": 0, "number": 0, "purpose": "improve", "experiment": PREDICTED, "base": 0, "attempts": [], "trials": [7, 8],
    "best": 7, "effect": ONE, "verdict": "refuted", "reason": "", "device": "d", "task": "cube", "dims": {"N": 4096},
}  # fmt: skip
"""Trial 7 has the machine code of trial 0: exactly as fast, where a tenth more was predicted."""


def problems(tmp_path: Path, kind: str, body: dict[str, Any]) -> list[str]:
    return audit(resigned(CUBE, tmp_path / "run", lambda entries: entries.insert(-1, (kind, body)))).problems


@pytest.mark.parametrize("changes", [{}, {"base": None, "effect": None, "verdict": "undecided"},
                                     {"base": 2, "effect": None, "verdict": "undecided"},
                                     {"best": None, "effect": None, "verdict": "undecided", "trials": []}],
                         ids=["compared", "no base", "a rejected base", "nothing ran"])  # fmt: skip
def test_a_verdict_that_follows_from_its_trials_is_no_problem(changes: dict[str, Any], tmp_path: Path) -> None:
    assert problems(tmp_path, "experiment", {**TESTED, **changes}) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"trials": [7, 9]}, "speaks of trial 9, which was not recorded before"),
        ({"base": 9}, "speaks of trial 9, which was not recorded before"),
        ({"best": -1}, "speaks of trial -1, which was not recorded before"),
        ({"base": None}, "states an effect without two trials to compare"),
        ({"best": None}, "states an effect without two trials to compare"),
        ({"base": 2}, "states an effect that its trials do not give"),
        ({"effect": None}, "leaves out the effect of its trials"),
        ({"effect": {**ONE, "value": 1.5}}, "effect value is 1.5, its samples give 1.0"),
        ({"effect": {**ONE, "low": 1 + 1e-9}}, "effect low is 1.000000001, its samples give 1.0"),
        ({"effect": {**ONE, "high": 2.0}}, "effect high is 2.0, its samples give 1.0"),
        ({"verdict": "held"}, "says 'held', the rule says 'refuted'"),
        ({"experiment": None}, "says 'refuted', the rule says 'undecided'"),
    ],
    ids=lambda v: "" if isinstance(v, str) else "-".join(v),
)
def test_a_verdict_that_its_trials_do_not_give_is_found(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert problems(tmp_path, "experiment", {**TESTED, **changes}) == [f"entry 13 (experiment): {told}"]


@pytest.mark.parametrize(
    ("kind", "status", "told"),
    [("model-intent", "", ["question to the model"]), ("model-call", "failed", ["question to the model"]),
     ("model-call", "answered", ["question to the model", "reply of the model"])],
)  # fmt: skip
def test_what_was_asked_and_answered_is_evidence(kind: str, status: str, told: list[str], tmp_path: Path) -> None:
    fault = {"kind": "server-error", "reason": "no"}
    spent = {"calls": 1, "failed": 0, "unreported": 0}
    outcome = {"attempts": 1, "spent": spent, "status": status}
    answered = {**outcome, "reply": "cd" * 32, "usage": {}, "cost_usd": None, "seconds": 1.0}
    rest = {"": {}, "failed": {**outcome, "fault": fault}, "answered": answered}[status]
    found = problems(tmp_path, kind, {"call": 0, "request": "ab" * 32, "model": "m", **rest})
    assert [p.partition(": blob ")[0] for p in found] == [f"entry 13 ({kind}): {what}" for what in told]
